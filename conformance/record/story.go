package record

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A story is the parsed tape: the answer of each request, and the jobs. Nothing is generalised yet.
type story struct {
	framing string
	beats   []*beat
	asked   []*asked
	jobs    map[string]*cast // by handle
	named   map[string]*cast // by name
	warm    bool             // it begins in the recommended way: initialize, its result, initialized
	root    string           // rootDirectory
}

// A beat is one entry of a tape.
type beat struct {
	taped
	index int
	to    int64 // of a job/output: the offset after its last byte
	msg   wire.Message
	bad   bool   // a frame that is no message
	ask   *asked // the request itself, or the request that it answers
	job   *cast  // for an event of the server, or a request
}

// An asked is one request of the client.
type asked struct {
	name   string // of the step
	id     string // in its original spelling
	method string
	params map[string]any
	sent   *beat
	answer *beat // nil: none came
	spell  bool  // its id must be the same in a replay

	ahead bool             // it was typed before any output of the previous write was received
	known map[*track]int64 // end of the output that every replay has received when it is sent
}

// A cast is one job.
type cast struct {
	handle   string
	variable string
	name     string
	mode     string
	pids     []int64
	start    *asked // the start request; nil: unknown
	exited   *beat
	closed   *beat
	events   bool // job/output has come

	streams map[string]*track
}

// understand parses a tape.
func understand(entries []taped, framing string) *story {
	s := &story{framing: framing, jobs: map[string]*cast{}, named: map[string]*cast{}}
	open := map[string][]*asked{}
	for i, e := range entries {
		b := &beat{taped: e, index: i}
		s.beats = append(s.beats, b)
		if e.kind != tapeFrame {
			continue
		}
		m, err := wire.Classify(e.raw)
		b.msg = m
		if b.bad = err != nil || !faithful(e.raw, m); b.bad && m.ID == "" {
			continue
		}
		if e.dir == wire.ToServer {
			s.fromClient(b, open)
		} else {
			s.fromServer(b, open)
		}
	}
	s.warm = s.warmStart()
	s.spellStarts()
	s.typedAhead()
	return s
}

// faithful reports whether a message of a client can be written as a step, and then sent unchanged: a message
// with half a surrogate pair, for example, loses that when it is decoded.
func faithful(raw []byte, m wire.Message) bool {
	if m.Kind == wire.KindRequest && (m.ID == "null" || m.ID == "" || strings.IndexByte("tf[{", m.ID[0]) >= 0) {
		return false
	}
	for _, c := range m.Method {
		if c > 127 || !wire.IsWord(byte(c)) && !strings.ContainsRune("/$.-", c) {
			return false
		}
	}
	switch m.Params.(type) {
	case wire.Number, bool:
		return false
	}
	half := bytes.Contains(wire.Encode(m.V), []byte("\ufffd")) && bytes.Contains(bytes.ToLower(raw), []byte(`\ud`))
	return m.Kind == wire.KindResponse || m.Method != "" && !half
}

func (s *story) fromClient(b *beat, open map[string][]*asked) {
	m := b.msg
	params, _ := m.Params.(map[string]any)
	switch {
	case b.bad:
		if m.ID == "" || m.ID == "null" || strings.IndexByte("tf[{", m.ID[0]) >= 0 {
			return
		}
	case m.Kind == wire.KindNotification && m.Method == "$/cancelRequest":
		for _, a := range open[string(wire.Encode(params["id"]))] {
			a.spell, b.ask = true, a
		}
		return
	case m.Kind != wire.KindRequest:
		b.job = s.jobOf(params)
		return
	}
	a := &asked{name: s.nameFor(m.Method), id: m.ID, method: m.Method, params: params, sent: b}
	n, err := strconv.ParseUint(m.ID, 10, 53)
	a.spell = err != nil || strconv.FormatUint(n, 10) != m.ID
	for _, o := range open[m.ID] { // Two requests have the same id: both are spelled.
		o.spell, a.spell = true, true
	}
	b.ask, b.job = a, s.jobOf(params)
	s.asked = append(s.asked, a)
	open[m.ID] = append(open[m.ID], a)
	if m.Method == "initialize" && s.root == "" {
		s.root, _ = params["rootDirectory"].(string)
	}
}

// nameFor returns a request's name: the last word of its method, and a number from 2 on.
func (s *story) nameFor(method string) string {
	word := strings.Map(func(r rune) rune {
		if r < 128 && wire.IsWord(byte(r)) {
			return r
		}
		return -1
	}, method[strings.LastIndexByte(method, '/')+1:])
	if word == "" || word == "null" {
		word = "request"
	}
	n := 1
	for _, a := range s.asked {
		if base, _, _ := strings.Cut(a.name, "-"); base == word {
			n++
		}
	}
	if n > 1 {
		word += "-" + strconv.Itoa(n)
	}
	return word
}

// fromServer finds the request that a message answers, and the job that it mentions. As in checker.response, an
// invalidRequest belongs to the later of two requests.
func (s *story) fromServer(b *beat, open map[string][]*asked) {
	m := b.msg
	if m.Kind != wire.KindResponse {
		params, _ := m.Params.(map[string]any)
		s.event(b, params)
		return
	}
	waiting := open[m.ID]
	if len(waiting) == 0 {
		return
	}
	i := 0
	if kind, _ := wire.Flatten(m.Err).(map[string]any); kind["kind"] == "invalidRequest" {
		i = len(waiting) - 1
	}
	a := waiting[i]
	open[m.ID] = slices.Delete(slices.Clone(waiting), i, i+1)
	a.answer, b.ask = b, a
	result, _ := m.Result.(map[string]any)
	job, _ := result["job"].(map[string]any)
	if a.method == "job/start" || a.method == "job/run" {
		s.meet(job, a)
	}
	if b.job = s.jobOf(job); b.job == nil {
		b.job = s.jobOf(a.params)
	}
}

func (s *story) event(b *beat, params map[string]any) {
	if b.msg.Method == "job/started" {
		job, _ := params["job"].(map[string]any)
		id := string(wire.Encode(params["requestId"]))
		var by *asked
		for _, a := range s.asked {
			if a.id == id && (a.method == "job/start" || a.method == "job/run") {
				by = a
			}
		}
		s.meet(job, by)
	}
	if b.job = s.jobOf(params); b.job == nil && params["seq"] != nil { // an event before the answer to the job's start
		s.meet(params, nil)
		b.job = s.jobOf(params)
	}
	if b.job == nil {
		return
	}
	switch b.msg.Method {
	case "job/output":
		b.job.hear(b, params)
	case "job/exited":
		b.job.exited = b
	case "job/closed":
		b.job.closed = b
	}
}

// meet registers a job from a message.
func (s *story) meet(job map[string]any, by *asked) {
	if job["handle"] == nil {
		return
	}
	handle := wire.Show(job["handle"])
	c := s.jobs[handle]
	if c == nil {
		c = &cast{handle: handle, variable: "h" + handle, streams: map[string]*track{}}
		s.jobs[handle] = c
	}
	if c.start == nil {
		c.start = by
	}
	if c.mode == "" && c.start != nil {
		c.mode, _ = c.start.params["mode"].(string)
		if c.mode == "" {
			c.mode = map[string]string{"job/start": "pty", "job/run": "pipe"}[c.start.method]
		}
	}
	if mode, ok := job["mode"].(string); ok {
		c.mode = mode
	}
	if pid, ok := wire.Int(job["pid"]); ok {
		c.pids = append(c.pids, pid)
	}
	if name, ok := job["name"].(string); ok {
		c.name = name
		s.named[name] = c
	}
}

// jobOf returns the job that an object names by its handle or name; nil: unknown.
func (s *story) jobOf(o map[string]any) *cast {
	switch h := o["handle"].(type) {
	case wire.Number:
		return s.jobs[string(h)]
	case string:
		return s.named[h]
	}
	return nil
}

// warmStart reports whether the session begins in the recommended way.
func (s *story) warmStart() bool {
	var first []*beat
	for _, b := range s.beats {
		if b.dir == wire.ToServer && len(first) < 2 {
			first = append(first, b)
		}
	}
	if len(first) < 2 || first[0].ask == nil || first[0].bad || first[0].ask.method != "initialize" {
		return false
	}
	a := first[0].ask.answer
	return a != nil && a.msg.Err == nil && first[1].msg.Method == "initialized" && first[1].msg.Kind == wire.KindNotification
}

// typedAhead marks each write before which no output of the job was received since the previous write: the output
// of the first may come before the second is accepted, or after.
func (s *story) typedAhead() {
	waiting := map[*cast]bool{}
	for _, b := range s.beats {
		switch {
		case b.job == nil:
		case b.dir == wire.ToServer && b.msg.Method == "job/write" && b.ask != nil:
			b.ask.ahead = waiting[b.job]
			waiting[b.job] = true
		case b.dir == wire.FromServer && (b.msg.Method == "job/output" || b.ask != nil && b.ask.params["wait"] != nil):
			waiting[b.job] = false
		}
	}
}

// spellStarts makes the session identify a job by the id of its start request if the client sends a message
// between job/started and the answer to the start.
func (s *story) spellStarts() {
	for _, b := range s.beats {
		if b.msg.Method != "job/started" || b.job == nil || b.job.start == nil {
			continue
		}
		a, end := b.job.start, len(s.beats)
		if a.answer != nil {
			end = max(b.index, a.answer.index)
		}
		if slices.ContainsFunc(s.beats[b.index:end], func(b *beat) bool { return b.dir == wire.ToServer }) {
			a.spell = true
		}
	}
}

// addressed reports whether a client's message may have ended a job.
func (c *cast) addressed(b *beat) bool {
	if b.dir != wire.ToServer {
		return false
	}
	params, _ := b.msg.Params.(map[string]any)
	switch b.msg.Method {
	case "shutdown", "exit":
		return true
	case "$/cancelRequest":
		return b.ask != nil && (b.ask == c.start || b.ask.sent.job == c)
	case "job/write", "job/signal", "job/kill":
		return b.job == c || params["group"] != nil || c.name != "" && params["handle"] == any(c.name)
	}
	return b.kind == tapeEnd || b.kind == tapeSignal
}

// runsOn reports whether a job was certainly running at a beat: the client's message that ended it came later.
func (s *story) runsOn(c *cast, at int) bool {
	if c == nil || c.exited == nil || c.exited.index < at {
		return false
	}
	return slices.ContainsFunc(s.beats[at:c.exited.index], c.addressed)
}
