package conformance

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"
)

// A checker watches what holds in every session, whatever it shows: protocol section
// 5, "Guarantees". It sees the server's messages in their order.
type checker struct {
	jobs     map[string]*jobView
	answered map[string]int // by id: how often
	asked    map[string]string
}

// A jobView is what the connection was told of one job.
type jobView struct {
	seq     int64
	first   string // the first event's method
	exited  bool
	closed  bool
	streams map[string]*streamView
}

// A streamView is one stream's output so far.
type streamView struct {
	next   int64
	seen   bool
	pieces []piece
}

// A piece is the bytes of one job/output.
type piece struct {
	offset int64
	data   []byte
	entry  int // in the log
}

func newChecker() *checker {
	return &checker{jobs: map[string]*jobView{}, answered: map[string]int{}, asked: map[string]string{}}
}

// sent notes a request of ours.
func (c *checker) sent(m *message) {
	if m.kind == kindRequest {
		c.asked[m.id] = m.method
	}
}

// received says which invariant a message breaks, or "".
func (c *checker) received(m *message, entry int) string {
	switch m.kind {
	case kindResponse:
		return c.response(m)
	case kindNotification:
		if o, ok := m.params.(map[string]any); ok && o["handle"] != nil && o["seq"] != nil {
			return c.event(m, o, entry)
		}
	}
	return ""
}

func (c *checker) response(m *message) string {
	if m.id == "null" {
		if m.err == nil {
			return "only an error can be answered with id null"
		}
		return ""
	}
	if _, ok := c.asked[m.id]; !ok {
		return "no request has the id " + m.id + " (ids are echoed as they were spelled)"
	}
	if c.answered[m.id]++; c.answered[m.id] > 1 {
		return "the request " + m.id + " was answered before"
	}
	return ""
}

func (c *checker) event(m *message, o map[string]any, entry int) string {
	handle := show(o["handle"])
	j := c.jobs[handle]
	if j == nil {
		j = &jobView{first: m.method, streams: map[string]*streamView{}}
		c.jobs[handle] = j
	}
	seq, _ := asInt(o["seq"])
	switch {
	case j.closed:
		return fmt.Sprintf("nothing of job %s comes after its job/closed", handle)
	case seq != j.seq+1:
		return fmt.Sprintf("seq of job %s is %d after %d", handle, seq, j.seq)
	case m.method == "job/started" && seq != 1:
		return fmt.Sprintf("job/started is the first event of job %s", handle)
	}
	j.seq = seq
	switch m.method {
	case "job/output":
		return j.output(handle, o, entry)
	case "job/exited":
		if j.exited {
			return fmt.Sprintf("job/exited of job %s comes once", handle)
		}
		j.exited = true
	case "job/closed":
		j.closed = true
	}
	return ""
}

func (j *jobView) output(handle string, o map[string]any, entry int) string {
	name, _ := o["stream"].(string)
	s := j.streams[name]
	if s == nil {
		s = &streamView{}
		j.streams[name] = s
	}
	data, wrong := outputBytes(o)
	offset, _ := asInt(o["offset"])
	n, _ := asInt(o["bytes"])
	late, _ := o["late"].(bool)
	restart, _ := o["restart"].(bool)
	if restart {
		s.seen, s.pieces = false, nil
	}
	expected := s.next
	if gap, ok := o["gap"].(map[string]any); ok {
		from, _ := asInt(gap["from"])
		to, _ := asInt(gap["to"])
		if s.seen && from != expected || to != offset || from >= to {
			return fmt.Sprintf("the gap from %d to %d lies between the offset %d, which was next, and the offset %d", from, to, expected, offset)
		}
		expected = offset
	}
	switch {
	case wrong != "":
		return wrong
	case n != int64(len(data)):
		return fmt.Sprintf("bytes is %d, and the chunk has %d", n, len(data))
	case len(data) > 64<<10:
		return fmt.Sprintf("a chunk has at most 65536 bytes, and this one %d", len(data))
	case s.seen && offset != expected:
		return fmt.Sprintf("the output of job %s (%s) goes on at %d, and this chunk begins at %d", handle, name, expected, offset)
	case j.exited && !late && !restart && len(data) > 0 && (s.next <= offset):
		return fmt.Sprintf("output of job %s after its job/exited is late", handle)
	}
	s.seen, s.next = true, offset+int64(len(data))
	s.pieces = append(s.pieces, piece{offset, data, entry})
	return ""
}

// outputBytes are the bytes of a job/output, or what is wrong with it.
func outputBytes(o map[string]any) ([]byte, string) {
	if text, ok := o["text"].(string); ok {
		if !utf8.ValidString(text) {
			return nil, "text is no UTF-8"
		}
		return []byte(text), ""
	}
	encoded, _ := o["base64"].(string)
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, "base64 cannot be decoded: " + err.Error()
	}
	return data, ""
}

// ended says what is missing when the server is gone.
func (c *checker) ended() string {
	for id, method := range c.asked {
		if c.answered[id] == 0 {
			return fmt.Sprintf("the request %s (%s) was never answered", id, method)
		}
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
