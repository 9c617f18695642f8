package conformance

import (
	"fmt"
	"maps"
	"slices"
)

// A checker watches what holds in every session, whatever it shows (protocol sections 1,
// 2 and 5). It sees the messages of both sides in their order, and has no lock: it is the
// player's.
type checker struct {
	jobs     map[string]*jobView
	open     map[string][]*request // by id: not answered yet, oldest first
	all      []*request
	nulls    []*message // answers with id null
	events   any        // options.events of initialize: []any, or nil
	base64   bool       // options.encoding
	shutdown bool       // was answered
	chosen   []any      // the handles and names of jobs whose events were chosen again
}

// A request is one of ours.
type request struct {
	name, id, method string
	params           map[string]any
	lost             bool     // the server cannot read its id
	answer           *message // nil: none yet
	at               int      // where in the log its answer is
}

func newChecker() *checker {
	return &checker{jobs: map[string]*jobView{}, open: map[string][]*request{}}
}

// sent notes a request of ours.
func (c *checker) sent(r *request) {
	c.all = append(c.all, r)
	if r.lost {
		return
	}
	c.open[r.id] = append(c.open[r.id], r)
	switch handle := r.params["handle"]; r.method {
	case "initialize":
		options, _ := r.params["options"].(map[string]any)
		c.events, c.base64 = options["events"], options["encoding"] == "base64"
	case "job/subscribe", "job/unsubscribe":
		c.chosen = append(c.chosen, handle)
		for _, j := range c.jobs {
			c.choose(j)
		}
	}
}

// choose notes that the events of a job were chosen again: maybe before anything was
// told of it, by its name.
func (c *checker) choose(j *jobView) {
	j.free = j.free || slices.ContainsFunc(c.chosen, func(handle any) bool {
		return show(handle) == j.handle || j.name != nil && handle == j.name
	})
}

// method is that of the request that an answer answers, or "".
func (c *checker) method(m *message) string {
	if open := c.open[m.id]; m.kind == kindResponse && len(open) > 0 {
		return open[0].method
	}
	return ""
}

// received says which invariant a message breaks, or "".
func (c *checker) received(m *message, at int) string {
	switch m.kind {
	case kindResponse:
		return c.response(m, at)
	case kindNotification:
		if o, ok := m.params.(map[string]any); ok && o["handle"] != nil && o["seq"] != nil {
			return c.event(m, o)
		}
	}
	return ""
}

// response closes the request that it answers. Where two of one id are open, which only
// a client that is at fault does, an invalidRequest is about the later one.
func (c *checker) response(m *message, at int) string {
	if m.id == "null" {
		if m.err == nil {
			return "only an error can be answered with id null"
		}
		c.nulls = append(c.nulls, m)
		return ""
	}
	open := c.open[m.id]
	if len(open) == 0 {
		if slices.ContainsFunc(c.all, func(r *request) bool { return r.id == m.id }) {
			return "the request " + m.id + " was answered before"
		}
		return "no request has the id " + m.id + " (ids are echoed as they were spelled)"
	}
	i := 0
	if kind, _ := flatten(m.err).(map[string]any); kind["kind"] == "invalidRequest" {
		i = len(open) - 1
	}
	r := open[i]
	c.open[m.id] = slices.Delete(slices.Clone(open), i, i+1)
	r.answer, r.at = m, at
	if m.err != nil {
		data, _ := m.err.(map[string]any)["data"].(map[string]any)
		return c.told(data)
	}
	c.shutdown = c.shutdown || r.method == "shutdown"
	return c.result(r, m)
}

// result looks at what an answer says of jobs.
func (c *checker) result(r *request, m *message) string {
	o, _ := m.result.(map[string]any)
	if r.method == "job/start" || r.method == "job/run" {
		if why := c.startAnswered(r, o); why != "" {
			return why
		}
	}
	return c.told(o)
}

// startAnswered: job/started comes before the answer to its job/start, if it was asked
// for. A job/run without events of its own sends them from the answer on, if it goes on.
func (c *checker) startAnswered(r *request, result map[string]any) string {
	job, _ := result["job"].(map[string]any)
	j := c.job(show(job["handle"]))
	j.asked, j.name = r, job["name"]
	if c.choose(j); j.free {
		return ""
	}
	if r.method == "job/run" {
		j.goesOn = result["exit"] == nil
		if r.params["events"] == nil && j.seq == 0 && j.goesOn {
			j.fromAnswer(job)
		}
		if j.seq > 0 && !c.wants(j, j.first) {
			return fmt.Sprintf("%s of job %s was not asked for", j.first, j.handle)
		}
		return ""
	}
	switch wanted := c.wants(j, "started"); {
	case wanted && j.first == "":
		return "job " + j.handle + " is answered before its job/started"
	case wanted && j.first != "started":
		return fmt.Sprintf("the first event of job %s is job/%s, not job/started", j.handle, j.first)
	case j.first != "" && !c.wants(j, j.first):
		return fmt.Sprintf("job/%s of job %s was not asked for", j.first, j.handle)
	}
	return ""
}

// told holds the positions that an answer tells against the output that was sent.
func (c *checker) told(o map[string]any) string {
	outcome, _ := o["outcome"].(map[string]any)
	jobs, _ := o["jobs"].([]any)
	for _, v := range append(slices.Clone(jobs), o["job"], outcome["job"]) {
		job, _ := v.(map[string]any)
		if inner, ok := job["job"].(map[string]any); ok { // the reports of a kill by group
			job = inner
		}
		j := c.jobs[show(job["handle"])]
		if job["handle"] == nil || job["streams"] == nil {
			continue
		}
		if j == nil {
			j = c.job(show(job["handle"]))
		}
		if pid, ok := asInt(job["pid"]); ok {
			j.pid = pid
		}
		if why := c.position(j, job); why != "" {
			return why
		}
	}
	return ""
}

// position notes how long a job's streams are. Once it is closed, all of it was sent.
func (c *checker) position(j *jobView, job map[string]any) string {
	streams, _ := job["streams"].(map[string]any)
	for name, v := range streams {
		o, _ := v.(map[string]any)
		n, _ := asInt(o["nextOffset"])
		j.told[name] = max(j.told[name], n)
	}
	if !j.closed {
		return ""
	}
	return c.complete(j)
}

// complete: what closed has promised.
func (c *checker) complete(j *jobView) string {
	if !c.wants(j, "output") {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(j.told)) {
		if got, told := j.stream(name).next, j.told[name]; got < told {
			return fmt.Sprintf("job %s is closed and its output (%s) was sent up to %d; there are %d bytes", j.handle, name, got, told)
		}
	}
	return ""
}

// unasked are the events that come only where they are asked for.
var unasked = []string{"waitingForInput", "screenChanged", "inputSent"}

// wants says whether an event of a job was asked for; what is not known counts as no.
func (c *checker) wants(j *jobView, event string) bool {
	if j.asked == nil || j.free {
		return false
	}
	events := j.asked.params["events"]
	if events == nil && j.asked.method == "job/run" && !j.goesOn {
		return false
	}
	if events == nil {
		events = c.events
	}
	if events == nil {
		return !slices.Contains(unasked, event)
	}
	list, _ := events.([]any)
	return slices.Contains(list, any(event))
}

// ended says what is missing when the server is gone.
func (c *checker) ended() string {
	for _, r := range c.all {
		if r.answer == nil && !r.lost {
			return fmt.Sprintf("the request %s (%s, %s) was never answered", r.id, r.name, r.method)
		}
	}
	for _, handle := range slices.Sorted(maps.Keys(c.jobs)) {
		if j := c.jobs[handle]; c.wants(j, "closed") && !j.closed {
			return fmt.Sprintf("job/closed of job %s never came", handle)
		}
	}
	return ""
}

// unclaimed are the answers with id null that no step has asked for.
func (c *checker) unclaimed(claimed int) string {
	if claimed < len(c.nulls) {
		return "the server complains of a message, and no step expects it (error null): " + show(c.nulls[claimed].err)
	}
	return ""
}

func asInt(v any) (int64, bool) {
	r, ok := rational(v)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}
