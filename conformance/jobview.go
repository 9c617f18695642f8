package conformance

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A jobView is the state of one job, as the connection has received it.
type jobView struct {
	handle string
	pid    int64
	asked  *request      // the start request; nil: not known yet
	goesOn bool          // from a job/run that was answered before its job was closed
	sub    *subscription // set if its subscription was changed since the start
	renew  bool          // streams that are not known yet begin anew
	early  []string      // events from before the subscription was known

	unplaced bool // the start of its output is unknown

	seq     int64
	n       int64  // of the last event that has one
	floor   int64  // no event up to this number has to come any more
	first   string // the name of the first event
	last    string // the name of the last event
	exited  bool
	closed  bool
	streams map[string]*streamView
	told    map[string]int64 // the highest nextOffset of each stream in any answer

	exitTold any              // the exit as first reported
	matches  map[string]int64 // by watch and stream: the end of the last match
	revision int64            // of the screen, as last reported
	input    inputView
	finished map[string]bool   // the commands whose end job/commandFinished has reported
	ends     map[string]string // the reported results of finished commands
}

// A streamView is one stream's output so far.
type streamView struct {
	next     int64
	renew    bool // the next chunk has restart set, and begins at any offset
	anywhere bool // the next chunk begins at any offset
	half     []byte
	runs     []run
	renewed  int   // the index in runs at which the output last began anew
	acked    int64 // the highest offset that the client has acknowledged
	since    int64 // the same since the last job/subscribe, which may begin output anew
}

// A run holds contiguous bytes.
type run struct {
	offset int64
	data   []byte
	cut    int64 // the number of further bytes: the omitted terminal queries
}

// end returns the offset after a run.
func (r run) end() int64 { return r.offset + int64(len(r.data)) + r.cut }

func (c *checker) job(handle string) *jobView {
	j := c.jobs[handle]
	if j == nil {
		j = &jobView{handle: handle, streams: map[string]*streamView{}, told: map[string]int64{}, matches: map[string]int64{}}
		c.jobs[handle] = j
	}
	return j
}

// stream returns a job's stream, and creates it if needed; the schema allows only the protocol's names.
func (j *jobView) stream(name string) *streamView {
	s := j.streams[name]
	if s == nil {
		s = &streamView{renew: j.renew, anywhere: j.unplaced}
		j.streams[name] = s
	}
	return s
}

// fromAnswer records that the output of a job/run that continues is sent from the end of the output in its
// answer.
func (j *jobView) fromAnswer(job map[string]any) {
	streams, _ := job["streams"].(map[string]any)
	for name, v := range streams {
		o, _ := v.(map[string]any)
		j.stream(name).next, _ = wire.Int(o["nextOffset"])
	}
}

// event returns which invariant an event violates, or "".
func (c *checker) event(m *wire.Message, o map[string]any) string {
	if why := c.counted(o["handle"]); why != "" {
		return why
	}
	j := c.job(wire.Show(o["handle"]))
	name := strings.TrimPrefix(m.Method, "job/")
	seq, _ := wire.Int(o["seq"])
	switch {
	case j.closed:
		return fmt.Sprintf("nothing of job %s comes after its job/closed", j.handle)
	case seq != j.seq+1:
		return fmt.Sprintf("seq of job %s is %d after %d", j.handle, seq, j.seq)
	case name == "started" && seq != 1:
		return fmt.Sprintf("job/started is the first event of job %s", j.handle)
	case name != "started" && seq == 1 && c.wants(j, "started") && (c.facts == nil || j.asked != nil): // others are not sent it
		return fmt.Sprintf("the first event of job %s is %s, not job/started", j.handle, m.Method)
	}
	j.seq, j.last = seq, name
	if seq == 1 {
		j.first = name
	}
	if name == "started" {
		if why := c.started(j, o); why != "" {
			return why
		}
	}
	if why := c.unwanted(j, name); why != "" {
		return why
	}
	if why := c.numbered(j, name, o); why != "" {
		return why
	}
	return c.eventOf(j, name, o)
}

func (c *checker) eventOf(j *jobView, name string, o map[string]any) string {
	switch name {
	case "output":
		return c.output(j, o)
	case "patternMatched":
		stream, _ := o["stream"].(string)
		end, _ := wire.Int(o["endOffset"])
		if j.sub == nil && c.wants(j, "output") && end > j.stream(stream).next {
			return fmt.Sprintf("job/patternMatched of job %s speaks of bytes up to %d, and its output (%s) was sent up to %d", j.handle, end, stream, j.stream(stream).next)
		}
		if why := j.matched(o); why != "" {
			return why
		}
	case "stateChanged":
		if why := change(o); why != "" {
			return why
		}
	case "screenChanged":
		if why := c.screenChanged(j, o); why != "" {
			return why
		}
	case "commandFinished":
		if why := c.commandFinished(j, o); why != "" {
			return why
		}
	case "waitingForInput":
		if why := j.edge(o); why != "" {
			return why
		}
	case "exited":
		if j.exited {
			return fmt.Sprintf("job/exited of job %s comes once", j.handle)
		}
		if why := j.waitsOver(); why != "" {
			return why
		}
		j.exited = true
		if why := j.exit(o["exit"]); why != "" {
			return why
		}
	case "closed":
		j.closed = true
		if j.sub == nil && c.wants(j, "exited") && !j.exited {
			return fmt.Sprintf("job/closed of job %s comes before its job/exited", j.handle)
		}
		if why := j.waitsOver(); why != "" {
			return why
		}
		return c.complete(j)
	}
	if name != "output" { // an output event may end with half a character, and the other half comes next
		for _, s := range j.streams {
			s.half = nil
		}
	}
	return ""
}

// started checks a job/started, and links the job to the request that started it.
func (c *checker) started(j *jobView, o map[string]any) string {
	job, _ := o["job"].(map[string]any)
	id := string(wire.Encode(o["requestId"]))
	i := slices.IndexFunc(c.all, func(r *request) bool {
		return r.id == id && (r.method == "job/start" || r.method == "job/run") && (r.answer == nil || r == j.asked)
	})
	switch {
	case wire.Show(job["handle"]) != j.handle:
		return "job/started of job " + j.handle + " tells of job " + wire.Show(job["handle"])
	case i < 0:
		return "no start that is in flight has the id " + id + ", which job/started names as its request"
	}
	j.asked = c.all[i]
	if why := j.state(job); why != "" {
		return why
	}
	return c.known(j)
}

// output returns which invariant a job/output violates, or "".
func (c *checker) output(j *jobView, o map[string]any) string {
	name, _ := o["stream"].(string)
	s := j.stream(name)
	data, wrong := wire.OutputBytes(o)
	offset, _ := wire.Int(o["offset"])
	n, _ := wire.Int(o["bytes"])
	late, _ := o["late"].(bool)
	restart, _ := o["restart"].(bool)
	sub := c.now(j)
	unknown := sub.unknown
	if restart != s.renew && !unknown {
		return fmt.Sprintf("restart is %v in the output of job %s (%s): it is true where output begins anew, after a job/subscribe", restart, j.handle, name)
	}
	anywhere, expected := restart || unknown && j.sub != nil || s.anywhere, s.next
	if gap, ok := o["gap"].(map[string]any); ok {
		from, _ := wire.Int(gap["from"])
		to, _ := wire.Int(gap["to"])
		if !anywhere && from != expected || to != offset || from >= to {
			return fmt.Sprintf("the gap from %d to %d does not lie between the offset %d, which was next, and the offset %d", from, to, expected, offset)
		}
		expected, s.half = offset, nil
	}
	switch {
	case wrong != "":
		return wrong
	case n != int64(len(data)) && !((sub.strip || unknown) && name == "pty" && n > int64(len(data))):
		return fmt.Sprintf("bytes is %d, and the chunk has %d", n, len(data))
	case n > 64<<10:
		return fmt.Sprintf("a chunk has at most 65536 bytes, and this one %d", n)
	case !anywhere && offset != expected:
		return fmt.Sprintf("the output of job %s (%s) goes on at %d, and this chunk begins at %d", j.handle, name, expected, offset)
	case j.exited && !late && j.sub == nil: // output that is sent again may be older than the exit
		return fmt.Sprintf("output of job %s after its job/exited is late", j.handle)
	case !j.exited && late && j.sub == nil && c.wants(j, "exited"):
		return fmt.Sprintf("output of job %s before its job/exited is not late", j.handle)
	}
	if restart {
		s.acked = s.since
	}
	s.add(offset, data, n-int64(len(data)))
	if why := c.window.output(j, name); why != "" {
		return why
	}
	switch {
	case sub.unknown:
		return ""
	case sub.base64 && o["base64"] == nil:
		return "output comes as text, where base64 was asked for"
	case sub.base64:
		return ""
	}
	return s.text(o["base64"] != nil, data)
}

// add appends bytes to the last run, or begins a new one. A chunk with omitted queries is a run of its own, since
// their position in it is unknown.
func (s *streamView) add(offset int64, data []byte, cut int64) {
	if s.renew {
		s.renewed = len(s.runs)
	}
	if n := len(s.runs); n == 0 || s.renew || s.anywhere || s.runs[n-1].end() != offset || s.runs[n-1].cut+cut > 0 {
		s.runs = append(s.runs, run{offset: offset, cut: cut})
	}
	last := &s.runs[len(s.runs)-1]
	last.data = append(last.data, data...)
	s.next, s.renew, s.anywhere = last.end(), false, false
}

// text checks that in the encoding text, base64 is used only for bytes that are not UTF-8, and that no character
// is split between chunks.
func (s *streamView) text(encoded bool, data []byte) string {
	half := s.half
	s.half = nil
	if encoded && len(data) > 0 && utf8.Valid(data) {
		return "bytes that are UTF-8 come as text, where base64 was not asked for"
	}
	for k := 1; k < utf8.UTFMax && len(half) > 0 && k <= len(data); k++ {
		if r := append(slices.Clone(half), data[:k]...); utf8.FullRune(r) {
			if c, n := utf8.DecodeRune(r); c != utf8.RuneError && n == len(r) {
				return fmt.Sprintf("a chunk ends with half of the character %q, and the next begins with its other half", c)
			}
			break
		}
	}
	s.half = wire.HalfRune(data)
	return ""
}

// from returns the bytes from an offset up to the next gap. ok is false if the offset lies in a gap, or was not
// reached yet.
func (s *streamView) from(offset int64) (data []byte, ok bool) {
	for _, r := range slices.Backward(s.runs) {
		if end := r.offset + int64(len(r.data)); offset >= r.offset {
			return r.data[min(offset, end)-r.offset:], offset <= end
		}
	}
	return nil, offset == s.next
}
