package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A checker checks the invariants of every session (protocol sections 1, 2 and 5). It receives the messages of
// both sides in order. It has no lock: only the player uses it.
type checker struct {
	jobs      map[string]*jobView
	open      map[string][]*request // by id: unanswered, oldest first
	all       []*request
	nulls     []*wire.Message     // answers with id null
	events    any                 // options.events of initialize: []any, or nil
	base64    bool                // options.encoding
	shutdown  bool                // shutdown was answered
	starts    int64               // number of starts sent
	readings  []reading           // results of job/read
	secrets   []string            // secrets that the client has sent
	questions map[string]askState // the server's requests, by id
	window    window
	facts     *facts // of all connections of the session; nil if there is one alone
	replaced  bool   // session/replaced has come
	over      bool   // session/end was answered
	greeted   bool   // initialize was answered with a result
}

// A request is a request of the client.
type request struct {
	of               *line
	name, id, method string
	params           map[string]any
	lost             bool          // the server cannot read its id
	answer           *wire.Message // nil: none yet
	at               int           // the log index of its answer
	// For a start whose job is not known yet: the subscription made by the job's name.
	sub   *subscription
	renew bool
}

// An askState is the state of a server's request.
type askState int

const (
	askOpen askState = iota + 1
	askAnswered
	askTakenBack
)

func newChecker(f *facts) *checker {
	return &checker{facts: f, jobs: map[string]*jobView{}, open: map[string][]*request{}}
}

// sent registers a request of the client.
func (c *checker) sent(r *request) {
	c.all = append(c.all, r)
	if r.lost {
		return
	}
	c.open[r.id] = append(c.open[r.id], r)
	switch r.method {
	case "initialize":
		options, _ := r.params["options"].(map[string]any)
		c.events, c.base64 = options["events"], options["encoding"] == "base64"
		client, _ := r.params["capabilities"].(map[string]any)
		c.window.asked, _ = client["ack"].(bool)
	case "job/subscribe":
		c.subscribing(r.params)
	case "job/start", "job/run", "": // a message that the session spells out may have no readable method
		if c.starts++; c.facts != nil {
			c.facts.starts++
		}
	case "job/write", "env/set":
		c.secrets = append(c.secrets, secretsOf(r.params)...)
	}
}

// notified registers a notification of the client.
func (c *checker) notified(method string, params any) {
	if o, ok := params.(map[string]any); ok && method == "job/ack" {
		c.acknowledged(o)
	}
}

// method returns the method of the request that a response answers, or "".
func (c *checker) method(m *wire.Message) string {
	if open := c.open[m.ID]; m.Kind == wire.KindResponse && len(open) > 0 {
		return open[0].method
	}
	return ""
}

// received returns which invariant a message violates, or "".
func (c *checker) received(m *wire.Message, at int) string {
	if c.replaced {
		return "session/replaced is the last message of a connection"
	}
	c.replaced = m.Method == "session/replaced"
	if m.Kind != wire.KindResponse && c.facts != nil && !c.greeted {
		return "before the answer to initialize nothing else comes"
	}
	switch m.Kind {
	case wire.KindResponse:
		return c.response(m, at)
	case wire.KindRequest:
		return c.asking(m)
	case wire.KindNotification:
		if m.Method == "$/cancelRequest" {
			return c.takenBack(m)
		}
		if o, ok := m.Params.(map[string]any); ok && o["handle"] != nil && o["seq"] != nil {
			return c.event(m, o)
		}
		if m.Method == "log/message" {
			return c.secretIn("the log", string(m.Raw))
		}
	}
	return ""
}

// asking checks that no open request of the server has the same id.
func (c *checker) asking(m *wire.Message) string {
	if c.questions[m.ID] == askOpen {
		return "a request of the server with the id " + m.ID + " is not answered yet"
	}
	if c.questions == nil {
		c.questions = map[string]askState{}
	}
	c.questions[m.ID] = askOpen
	return ""
}

// takenBack checks that the server cancels only a request that it has sent, and only once.
func (c *checker) takenBack(m *wire.Message) string {
	o, _ := m.Params.(map[string]any)
	id := string(wire.Encode(o["id"]))
	switch c.questions[id] {
	case 0:
		return "the server takes the request " + id + " back, which it has not sent"
	case askTakenBack:
		return "the server takes the request " + id + " back twice"
	}
	c.questions[id] = askTakenBack // it may cross the client's answer
	return ""
}

// replied registers the client's answer to a request of the server; result is nil for an error.
func (c *checker) replied(m *wire.Message, result any) {
	c.questions[m.ID] = askAnswered
	o, _ := result.(map[string]any)
	if s, ok := o["value"].(string); ok && m.Method == "client/secret" && len(s) >= leastKnown {
		c.secrets = append(c.secrets, s)
	}
}

// response closes the request that it answers. If two requests with one id are open, which only a faulty client
// causes, an invalidRequest belongs to the later one.
func (c *checker) response(m *wire.Message, at int) string {
	if m.ID == "null" {
		if m.Err == nil {
			return "only an error can be answered with id null"
		}
		c.nulls = append(c.nulls, m)
		return ""
	}
	open := c.open[m.ID]
	if len(open) == 0 {
		if slices.ContainsFunc(c.all, func(r *request) bool { return r.id == m.ID }) {
			return "the request " + m.ID + " was answered before"
		}
		return "no request has the id " + m.ID + " (ids are echoed as they were spelled)"
	}
	i := 0
	if kind, _ := wire.Flatten(m.Err).(map[string]any); kind["kind"] == "invalidRequest" {
		i = len(open) - 1
	}
	r := open[i]
	c.open[m.ID] = slices.Delete(slices.Clone(open), i, i+1)
	r.answer, r.at = m, at
	if m.Err != nil {
		data, _ := m.Err.(map[string]any)["data"].(map[string]any)
		if why := c.canceled(r, data); why != "" {
			return why
		}
		if why := c.secretIn("an error", string(wire.Encode(m.Err))); why != "" {
			return why
		}
		return c.told(data)
	}
	if strings.HasPrefix(r.method, "env/") {
		if why := c.secretIn("an answer", string(m.Raw)); why != "" {
			return why
		}
	}
	c.shutdown = c.shutdown || r.method == "shutdown"
	return c.result(r, m)
}

// canceled handles a canceled job/run: if it was to continue in the background at its timeout, it does so too if
// it is canceled. Its events come from that answer on; the start offset of its output is not reported.
func (c *checker) canceled(r *request, data map[string]any) string {
	if r.method != "job/run" || data["kind"] != "canceled" || data["handle"] == nil || r.params["onTimeout"] != "background" {
		return ""
	}
	j := c.job(wire.Show(data["handle"]))
	j.asked, j.goesOn, j.unplaced = r, true, true
	return c.known(j)
}

// result checks the jobs in an answer.
func (c *checker) result(r *request, m *wire.Message) string {
	o, _ := m.Result.(map[string]any)
	why := ""
	switch r.method {
	case "initialize":
		c.window.begin(o)
		if c.greeted = true; c.facts != nil {
			why = c.resumed(r, o)
		}
	case "job/start", "job/run":
		if o["replayed"] != true { // else another request has started it
			why = c.startAnswered(r, o)
		}
	case "session/end":
		c.over = true
	case "job/subscribe", "job/unsubscribe":
		if c.facts != nil && r.method == "job/subscribe" {
			why = c.attached(r, o)
		} else {
			c.subscribed(r)
		}
	case "job/read":
		why = c.read(r, o)
	case "job/exec", "job/history":
		why = c.commands(r, o)
	}
	ended, _ := o["outcome"].(map[string]any)
	if why == "" {
		why = outcome(r, ended)
	}
	if jobs, _ := o["jobs"].([]any); why == "" {
		why = unlooked(r.method, append(slices.Clone(jobs), o["job"], ended["job"]))
	}
	if why != "" {
		return why
	}
	return c.told(o)
}

// counted checks a handle: each start takes one, counting from 1.
func (c *checker) counted(handle any) string {
	n, _ := wire.Int(handle)
	starts := c.starts
	if c.facts != nil {
		starts = c.facts.starts
	}
	if n > starts {
		return fmt.Sprintf("there is no job %d yet: handles count up from 1, and %d starts were sent", n, starts)
	}
	return ""
}

// startAnswered checks that job/started comes before the answer to its job/start, if it was requested. A job/run
// without its own events sends them from the answer on, unless the job is closed in it.
func (c *checker) startAnswered(r *request, result map[string]any) string {
	job, _ := result["job"].(map[string]any)
	if why := c.counted(job["handle"]); why != "" {
		return why
	}
	j := c.job(wire.Show(job["handle"]))
	if j.asked != nil && j.asked != r {
		return fmt.Sprintf("the handle %s is that of two jobs", j.handle)
	}
	j.asked = r
	if r.method == "job/run" {
		j.goesOn = job["status"] != "closed"
		if r.params["events"] == nil && j.seq == 0 && j.goesOn && j.sub == nil && r.sub == nil {
			j.fromAnswer(job)
		}
		return c.known(j)
	}
	if why := c.known(j); why != "" || j.sub != nil {
		return why
	}
	switch wanted := c.wants(j, "started"); {
	case wanted && j.first == "":
		return "job " + j.handle + " is answered before its job/started"
	case wanted && j.first != "started":
		return fmt.Sprintf("the first event of job %s is job/%s, not job/started", j.handle, j.first)
	}
	return ""
}

// told compares the stream positions in an answer with the output that was sent.
func (c *checker) told(o map[string]any) string {
	outcome, _ := o["outcome"].(map[string]any)
	jobs, _ := o["jobs"].([]any)
	for _, v := range append(slices.Clone(jobs), o["job"], outcome["job"]) {
		job, _ := v.(map[string]any)
		if inner, ok := job["job"].(map[string]any); ok { // the reports of a kill by group
			job = inner
		}
		j := c.jobs[wire.Show(job["handle"])]
		if job["handle"] == nil || job["streams"] == nil {
			continue
		}
		if j == nil {
			j = c.job(wire.Show(job["handle"]))
		}
		if why := j.state(job); why != "" {
			return why
		}
		if why := c.position(j, job); why != "" {
			return why
		}
	}
	return ""
}

// position records the lengths of a job's streams. If the job is closed, it checks that all output was sent.
func (c *checker) position(j *jobView, job map[string]any) string {
	streams, _ := job["streams"].(map[string]any)
	for name, v := range streams {
		o, _ := v.(map[string]any)
		n, _ := wire.Int(o["nextOffset"])
		j.told[name] = max(j.told[name], n)
	}
	if !j.closed {
		return ""
	}
	return c.complete(j)
}

// complete checks that the output was sent up to every reported position, as job/closed promises.
func (c *checker) complete(j *jobView) string {
	if !c.wants(j, "output") {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(j.told)) {
		if s, told := j.stream(name), j.told[name]; s.next < told && !s.renew {
			return fmt.Sprintf("job %s is over and its output (%s) was sent up to %d; there are %d bytes", j.handle, name, s.next, told)
		}
	}
	return ""
}

// ended returns what is missing after the server has ended, or "".
func (c *checker) ended() string {
	for _, r := range c.all {
		if r.answer == nil && !r.lost && !c.replaced {
			return fmt.Sprintf("the request %s (%s, %s) was never answered", r.id, r.name, r.method)
		}
	}
	for _, handle := range slices.Sorted(maps.Keys(c.jobs)) {
		j := c.jobs[handle]
		switch {
		case c.window.full(j):
			continue // the rest waits for acknowledgements that never came
		case c.facts != nil && !c.over:
			continue // the job may live on
		case c.wants(j, "closed") && !j.closed:
			return fmt.Sprintf("job/closed of job %s never came", handle)
		case c.wants(j, "exited") && !j.exited && j.sub == nil:
			return fmt.Sprintf("job/exited of job %s never came", handle)
		}
		if why := c.complete(j); why != "" {
			return why
		}
	}
	return c.asRead()
}

// unclaimed returns an error text if no step has expected an answer with id null, or "".
func (c *checker) unclaimed(claimed int) string {
	if claimed < len(c.nulls) {
		return "the server complains of a message, and no step expects it (error null): " + wire.Show(c.nulls[claimed].Err)
	}
	return ""
}
