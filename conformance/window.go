package conformance

import (
	"fmt"
	"strings"
)

// A window watches that no more output is sent than a client that acknowledges has room for
// (protocol section 5).
type window struct {
	asked bool             // the client has said that it acknowledges
	size  int64            // of each stream; 0: nothing is known, or the server takes no acknowledgements
	acked map[string]int64 // by job and stream
	since map[string]int64 // the same, since the job's last job/subscribe, whose output may begin anew
	named bool             // something was acknowledged of a job by its name: less can be said
}

// begin takes the result of initialize.
func (w *window) begin(result map[string]any) {
	capabilities, _ := result["capabilities"].(map[string]any)
	limits, _ := result["limits"].(map[string]any)
	if takes, _ := capabilities["ack"].(bool); w.asked && takes {
		w.size, _ = asInt(limits["windowBytes"])
		w.acked, w.since = map[string]int64{}, map[string]int64{}
	}
}

// acknowledged takes the params of a job/ack of ours.
func (w *window) acknowledged(params map[string]any) {
	if _, ok := params["handle"].(string); ok || w.size == 0 {
		w.named = w.named || ok
		return
	}
	key := streamKey(show(params["handle"]), params["stream"])
	offset, _ := asInt(params["offset"])
	w.acked[key], w.since[key] = max(w.acked[key], offset), max(w.since[key], offset)
}

// subscribing takes the params of a job/subscribe of ours.
func (w *window) subscribing(params map[string]any) {
	if _, ok := params["handle"].(string); ok {
		w.named = true
	}
	for key := range w.since {
		if strings.HasPrefix(key, streamKey(show(params["handle"]), "")) {
			w.since[key] = 0
		}
	}
}

// renew begins anew with a stream, as its output does.
func (w *window) renew(j *jobView, name string) {
	if key := streamKey(j.handle, name); w.size > 0 {
		w.acked[key] = w.since[key]
	}
}

func streamKey(handle string, stream any) string {
	name, _ := stream.(string)
	return handle + " " + name
}

// open is how much of a stream was sent and not acknowledged.
func (w *window) open(j *jobView, name string) (n int64) {
	acked := w.acked[streamKey(j.handle, name)]
	for _, r := range j.stream(name).current() {
		n += max(r.offset+int64(len(r.data))-max(r.offset, acked), 0)
	}
	return n
}

// full says whether a stream may have no more sent of it: the window may end in the middle
// of a character.
func (w *window) full(j *jobView) bool {
	for name := range j.streams {
		if w.size > 0 && w.open(j, name) > w.size-4 {
			return true
		}
	}
	return false
}

// output says whether what a stream was sent keeps to the window, or "".
func (w *window) output(j *jobView, name string) string {
	if w.size == 0 || w.named {
		return ""
	}
	if n := w.open(j, name); n > w.size {
		return fmt.Sprintf("%d bytes of the output of job %s (%s) are not acknowledged, and limits.windowBytes is %d", n, j.handle, name, w.size)
	}
	return ""
}
