package rpc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"shelld.dev/shelld/schema"
)

// A checker checks every message of a session for properties that always hold: its schema, in both directions; each
// request is answered once; and for each job: seq without gaps from 1, started first and before the answer, offsets
// that add up, no event after closed, exited and matches after the output to which they refer.
//
// It has no goroutine and no lock.
type checker struct {
	open   map[string][]*request // by id, as spelled; not yet answered
	made   map[string]*request   // by id: the one sent last
	asked  map[string][]string   // by id: the methods of all requests that were sent
	jobs   map[int64]*track
	ending map[int64]map[string]int64 // nextOffset per stream of closed jobs, as listed
	heard  map[int64]*heard           // of jobs that were subscribed to
	shared bool                       // the session has several clients
	chosen bool                       // the client chose its events: less can be checked
	base64 bool                       // the client asked for base64
	strips bool                       // the client asked for output without queries: bytes may be more than arrive
	acked  acked
	asks   map[string]*asking // by id, as spelled: the server's requests
}

// An asking is a request of the server.
type asking struct {
	method string
	over   bool // answered or withdrawn
}

// A request is a request of the client.
type request struct {
	method string
	params struct {
		Events  *[]string
		Options struct {
			Events   *[]string
			Encoding string
		}
		Handle   json.RawMessage
		Format   string
		Encoding string
		Queries  string
		After    *int64
		Session  struct {
			Resume []struct {
				Handle   int64
				Encoding string
			}
		}
	}
	heard    *heard // not nil: the request changes the subscription
	answered bool
	failed   bool
	ranTo    map[string]schema.StreamPosition // job/run: the end of the output in its answer
}

// A track is the state of a job as known from its events.
type track struct {
	handle int64
	seq    int64
	n      int64    // the last one
	made   *request // nil: started was not sent
	// surfaced is a job/run that asked for no events, until its output begins.
	surfaced *request
	anywhere bool // it is unknown where its output begins
	next     map[string]int64
	data     map[string][]byte
	gaps     []schema.Gap
	exited   *event
	closed   bool

	// If there was a subscription to the job:
	heard    *heard
	from     map[string]int64 // the start of a stream's output after a restart
	lateFrom map[string]int64
	earlyTo  map[string]int64
}

// An event is a notification of the server, with the members of all kinds.
type event struct {
	Method     string
	Handle     int64
	Seq        int64
	N          int64
	params     json.RawMessage
	RequestID  json.RawMessage
	Job        *schema.JobInfo
	Stream     string
	Offset     int64
	Bytes      int64
	Text       *string
	Base64     *[]byte
	Gap        *schema.Gap
	Late       bool
	Restart    bool
	Truncated  bool
	CommandID  int64
	Origin     schema.CommandOrigin
	WatchID    int64
	Reason     string
	Match      string
	Groups     []*string
	Named      map[string]*string
	Line       string
	EndOffset  int64
	Row, Col   *int64
	Revision   int64
	Exit       *schema.Exit
	Background []schema.Process
	Hint       *schema.Hint
	short      bool // it may have fewer bytes than Bytes
	stateChange
}

func newChecker() *checker {
	return &checker{
		open: map[string][]*request{}, made: map[string]*request{}, asked: map[string][]string{}, jobs: map[int64]*track{},
		heard: map[int64]*heard{}, ending: map[int64]map[string]int64{},
	}
}

func parseEvent(method string, params json.RawMessage) *event {
	e := &event{}
	_ = json.Unmarshal(params, e) // The schema check reports errors.
	e.Method, e.params = method, params
	return e
}

// data returns the raw output in an output event.
func (e *event) data() []byte {
	switch {
	case e.Text != nil:
		return []byte(*e.Text)
	case e.Base64 != nil:
		return *e.Base64
	}
	return nil
}

// sent records a message of the client. A valid one must fit its schema.
func (c *checker) sent(raw []byte, valid bool) error {
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if err := json.Unmarshal(raw, &m); err == nil && m.ID != nil && string(m.ID) != "null" && m.Method != "" {
		r := &request{method: m.Method}
		_ = json.Unmarshal(m.Params, &r.params) // Invalid members stay empty.
		c.subscribes(r)
		c.chosen = c.chosen || r.params.Events != nil && r.heard == nil || r.params.Options.Events != nil
		c.base64 = c.base64 || r.params.Options.Encoding == "base64"
		c.strips = c.strips || r.params.Queries == "strip" || r.params.Queries == "client"
		c.open[string(m.ID)] = append(c.open[string(m.ID)], r)
		c.made[string(m.ID)] = r
		c.asked[string(m.ID)] = append(c.asked[string(m.ID)], m.Method)
	}
	c.acked.sent(m.Method, m.Params)
	if a := c.asks[string(m.ID)]; a != nil && m.Method == "" {
		was := a.method
		a.over = true
		if valid {
			return schema.ValidateMessage("client", raw, func(string) string { return was })
		}
	}
	if !valid {
		return nil
	}
	return schema.ValidateMessage("client", raw, c.methodOf)
}

func (c *checker) methodOf(id string) string {
	if open := c.open[id]; len(open) > 0 {
		return open[0].method
	}
	return ""
}

// A received is a message of the server.
type received struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *failure
	event  *event // params, of a notification
}

// received records a message of the server and returns its errors.
func (c *checker) received(raw []byte) (m received, bad []string) {
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, []string{err.Error()}
	}
	if m.Method != "" && m.ID != nil || m.Method == "$/cancelRequest" {
		if err := schema.ValidateMessage("server", raw, c.methodOf); err != nil {
			bad = append(bad, "against the schema: "+err.Error())
		}
		return m, append(bad, c.asking(m)...)
	}
	if m.Method != "" {
		m.event = parseEvent(m.Method, m.Params)
		raw = shortened(raw, m.event)
	}
	if err := schema.ValidateMessage("server", raw, c.methodOf); err != nil {
		bad = append(bad, "against the schema: "+err.Error())
	}
	if m.Method != "" {
		return m, append(bad, c.event(m.event)...)
	}
	if m.Error != nil {
		bad = append(bad, unlisted(c.asked[string(m.ID)], m.Error)...)
	}
	return m, append(bad, c.answer(string(m.ID), m.Result, m.Error != nil)...)
}

// asking checks a request of the server, or its withdrawal, against the earlier ones.
func (c *checker) asking(m received) []string {
	if m.Method == "$/cancelRequest" {
		var p schema.CancelRequestParams
		_ = json.Unmarshal(m.Params, &p) // The schema was checked.
		a := c.asks[string(p.ID)]
		if a == nil {
			return []string{"it takes back " + string(p.ID) + ", which it has not asked"}
		}
		a.over = true
		return nil
	}
	if c.asks[string(m.ID)] != nil {
		return []string{"it has asked under the id " + string(m.ID) + " before"}
	}
	if c.asks == nil {
		c.asks = map[string]*asking{}
	}
	c.asks[string(m.ID)] = &asking{method: m.Method}
	return nil
}

// shortened returns a message with long output cut: the schema checks no more of it, and takes its time.
func shortened(raw []byte, e *event) []byte {
	if e.Text == nil || len(*e.Text) < 4096 {
		return raw
	}
	i := bytes.LastIndex(raw, []byte(`"text":"`))
	if i < 0 {
		return raw
	}
	return append(slices.Clone(raw[:i]), `"text":"..."}}`...)
}

// answer closes the first open request with an id.
func (c *checker) answer(id string, result json.RawMessage, failed bool) []string {
	if id == "null" {
		return nil
	}
	open := c.open[id]
	if len(open) == 0 {
		return []string{"an answer to " + id + ", which was answered, or never asked"}
	}
	r := open[0]
	c.open[id] = open[1:]
	r.answered, r.failed = true, failed
	if r.heard != nil {
		r.heard.apply()
		c.again(r)
	}
	if failed {
		return nil
	}
	switch r.method {
	case "job/start", "job/run":
		return c.startAnswer(r, result)
	case "job/list":
		c.listAnswer(result)
	case "job/read":
		return readAnswer(r, result)
	}
	return nil
}

// again prepares for the events that the client has asked for again.
func (c *checker) again(r *request) {
	handle, _ := strconv.ParseInt(string(r.params.Handle), 10, 64)
	if t := c.jobs[handle]; t != nil && r.params.After != nil && !r.failed {
		t.n, t.exited, t.closed = *r.params.After, nil, false
	}
}

// startAnswer checks that started came before, if it was wanted.
func (c *checker) startAnswer(r *request, result json.RawMessage) (bad []string) {
	var a struct{ Job schema.JobState }
	if err := json.Unmarshal(result, &a); err != nil {
		return []string{err.Error()}
	}
	r.ranTo = a.Job.Streams
	if t := c.jobs[a.Job.Handle]; r.method == "job/start" && !c.chosen && (t == nil || t.made != r) {
		bad = append(bad, fmt.Sprintf("job %d is answered before its job/started", a.Job.Handle))
	}
	return bad
}

func (c *checker) listAnswer(result json.RawMessage) {
	var a schema.JobListResult
	_ = json.Unmarshal(result, &a) // The schema was checked.
	for _, j := range a.Jobs {
		if j.Status == schema.StatusClosed {
			c.ending[j.Handle] = map[string]int64{}
			for name, st := range j.Streams {
				c.ending[j.Handle][name] = st.NextOffset
			}
		}
	}
}

// readAnswer checks that there are as many bytes as the offsets say.
func readAnswer(r *request, result json.RawMessage) []string {
	var a struct {
		Text               *string
		Base64             []byte
		Offset, NextOffset int64
	}
	if err := json.Unmarshal(result, &a); err != nil || r.params.Format == "plain" {
		return nil
	}
	n := int64(len(a.Base64))
	if a.Text != nil {
		n = int64(len(*a.Text))
	}
	if a.Offset+n != a.NextOffset {
		return []string{fmt.Sprintf("job/read brought %d bytes for [%d, %d)", n, a.Offset, a.NextOffset)}
	}
	return nil
}

// event checks one notification.
func (c *checker) event(e *event) (bad []string) {
	if e.Handle == 0 {
		return nil // not about a job
	}
	wrong := func(format string, args ...any) {
		bad = append(bad, fmt.Sprintf("job %d: %s: ", e.Handle, e.Method)+fmt.Sprintf(format, args...))
	}
	t := c.jobs[e.Handle]
	if t == nil {
		t = &track{handle: e.Handle, next: map[string]int64{}, data: map[string][]byte{},
			from: map[string]int64{}, lateFrom: map[string]int64{}, earlyTo: map[string]int64{}}
		c.jobs[e.Handle] = t
		if e.Method != "job/started" && !c.chosen && c.heard[e.Handle] == nil {
			wrong("comes before started")
		}
	} else if e.Method == "job/started" {
		wrong("comes twice, or late")
	}
	if t.closed {
		wrong("comes after closed")
	}
	base64 := c.base64
	if t.heard = c.heard[e.Handle]; t.heard != nil {
		t.heard.check(e, wrong)
		if t.heard.encoding != "" {
			base64 = t.heard.encoding == "base64"
		}
	}
	if t.seq++; e.Seq != t.seq {
		wrong("seq %d, want %d", e.Seq, t.seq)
		t.seq = e.Seq
	}
	t.number(c, e, wrong)
	switch e.Method {
	case "job/started":
		t.onStarted(c, e, wrong)
	case "job/output":
		e.short = c.strips && e.Stream == "pty"
		t.onOutput(e, base64, wrong)
		if !c.acked.output(e) {
			wrong("more than the window is not acknowledged")
		}
	case "job/patternMatched":
		if t.heard != nil {
			t.speaks(e, wrong)
		} else if end := t.next[e.Stream]; e.EndOffset > end && !c.chosen {
			wrong("speaks of bytes up to %d; output came up to %d", e.EndOffset, end)
		}
	case "job/stateChanged":
		e.check(wrong)
	case "job/exited":
		if t.exited != nil {
			wrong("comes twice")
		}
		t.exited = e
	case "job/closed":
		if t.exited == nil && !c.chosen && t.heard == nil {
			wrong("comes before exited")
		}
		t.closed = true
	}
	return bad
}

// number checks the number of an event in a session of several clients: it grows. Elsewhere there is none.
func (t *track) number(c *checker, e *event, wrong func(string, ...any)) {
	numbered := c.shared && e.Method != "job/output" && e.Method != "job/screenChanged"
	switch {
	case numbered != (e.N > 0):
		wrong("n %d", e.N)
	case numbered && e.N <= t.n:
		wrong("n %d after %d", e.N, t.n)
	case numbered:
		t.n = e.N
	}
}

func (t *track) onStarted(c *checker, e *event, wrong func(string, ...any)) {
	r := c.made[string(e.RequestID)]
	if r == nil || r.method != "job/start" && r.method != "job/run" {
		wrong("requestId %s is none of a start", e.RequestID)
		return
	}
	t.made = r
	if t.heard != nil {
		return
	}
	if r.method == "job/start" || r.params.Events != nil {
		if r.answered {
			wrong("comes after the answer")
		}
		return
	}
	t.surfaced = r
}

// surface starts the output of a job that ran without a subscription: not before its answer, and at the answer's end.
// If the answer is an error, the start is unknown.
func (t *track) surface(wrong func(string, ...any)) {
	if !t.surfaced.answered {
		wrong("comes before the answer, though no events were asked for")
	}
	for name, p := range t.surfaced.ranTo {
		t.next[name] = p.NextOffset
	}
	t.anywhere = t.surfaced.ranTo == nil
	t.surfaced = nil
}

func (t *track) onOutput(e *event, base64 bool, wrong func(string, ...any)) {
	if t.surfaced != nil {
		t.surface(wrong)
	}
	data := e.data()
	if int64(len(data)) != e.Bytes && (!e.short || int64(len(data)) > e.Bytes) || e.Bytes == 0 && e.Gap == nil || e.Bytes > 65536 {
		wrong("%d bytes, said to be %d", len(data), e.Bytes)
	}
	if e.Restart {
		t.restart(e, wrong)
	}
	want, known := t.next[e.Stream]
	if !known && t.anywhere {
		want = e.Offset
	}
	if e.Gap != nil {
		t.gaps = append(t.gaps, *e.Gap)
		if e.Gap.To != e.Offset || e.Gap.From >= e.Gap.To || e.Gap.From != want {
			wrong("gap %+v before offset %d, after %d", *e.Gap, e.Offset, want)
		}
	} else if e.Offset != want {
		wrong("%s: offset %d, want %d", e.Stream, e.Offset, want)
	}
	if e.Base64 != nil && utf8.Valid(data) && !base64 {
		wrong("base64 for %q", data)
	}
	if e.Base64 == nil && base64 {
		wrong("text, where base64 was asked for")
	}
	if t.heard != nil {
		t.lateness(e, wrong)
	} else if e.Late != (t.exited != nil) {
		wrong("late is %v; exited before it: %v", e.Late, t.exited != nil)
	}
	if t.exited != nil && t.heard == nil && len(t.exited.Background) == 0 {
		wrong("output after exited, when nobody was left to write it")
	}
	t.next[e.Stream] = e.Offset + e.Bytes
	t.data[e.Stream] = append(t.data[e.Stream], data...)
}

// ended returns the errors of the session as a whole, once it is over.
func (c *checker) ended() (bad []string) {
	for id, open := range c.open {
		for _, r := range open {
			bad = append(bad, fmt.Sprintf("%s %s was never answered", r.method, id))
		}
	}
	for _, t := range c.jobs {
		if t.heard != nil || c.acked.window > 0 {
			continue // its tests know which output must arrive
		}
		if !c.chosen && (t.exited == nil || !t.closed) {
			bad = append(bad, fmt.Sprintf("job %d: exited %v, closed %v at the end", t.handle, t.exited != nil, t.closed))
		}
		if t.surfaced != nil {
			t.surface(func(string, ...any) {}) // there was nothing more to send
		}
		for name, end := range c.ending[t.handle] {
			if t.next[name] != end && !c.chosen {
				bad = append(bad, fmt.Sprintf("job %d: %s was sent up to %d of %d", t.handle, name, t.next[name], end))
			}
		}
	}
	slices.Sort(bad)
	return bad
}
