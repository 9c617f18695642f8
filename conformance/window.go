package conformance

import (
	"fmt"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A window checks that the server sends no more output than the window of a client that acknowledges (protocol
// section 5).
type window struct {
	asked bool  // the client has asked for acknowledgements
	size  int64 // of each stream; 0: unknown, or the server has no acknowledgements
	named bool  // a job was acknowledged by its name: nothing can be checked any more
}

// begin reads the window size from the result of initialize.
func (w *window) begin(result map[string]any) {
	capabilities, _ := result["capabilities"].(map[string]any)
	limits, _ := result["limits"].(map[string]any)
	if takes, _ := capabilities["ack"].(bool); w.asked && takes {
		w.size, _ = wire.Int(limits["windowBytes"])
	}
}

// acknowledged handles the params of a job/ack of the client.
func (c *checker) acknowledged(params map[string]any) {
	if _, ok := params["handle"].(string); ok {
		c.window.named = true
		return
	}
	name, _ := params["stream"].(string)
	if j := c.jobs[wire.Show(params["handle"])]; j != nil && j.streams[name] != nil {
		s := j.streams[name]
		offset, _ := wire.Int(params["offset"])
		s.acked, s.since = max(s.acked, offset), max(s.since, offset)
	}
}

// subscribing handles the params of a job/subscribe of the client.
func (c *checker) subscribing(params map[string]any) {
	if _, ok := params["handle"].(string); ok {
		c.window.named = true
	}
	if j := c.jobs[wire.Show(params["handle"])]; j != nil {
		for _, s := range j.streams {
			s.since = 0
		}
	}
}

// unacked returns how many bytes of a stream were sent and not acknowledged.
func (s *streamView) unacked() (n int64) {
	for _, r := range s.runs[s.renewed:] {
		n += max(r.end()-max(r.offset, s.acked), 0)
	}
	return n
}

// full reports whether the window of some stream of the job may be full: the window may end in the middle of a
// character.
func (w *window) full(j *jobView) bool {
	for _, s := range j.streams {
		if w.size > 0 && s.unacked() > w.size-4 {
			return true
		}
	}
	return false
}

// output returns an error text if more of a stream was sent than fits the window, or "".
func (w *window) output(j *jobView, name string) string {
	if w.size == 0 || w.named {
		return ""
	}
	if n := j.stream(name).unacked(); n > w.size {
		return fmt.Sprintf("%d bytes of the output of job %s (%s) are not acknowledged, and limits.windowBytes is %d", n, j.handle, name, w.size)
	}
	return ""
}
