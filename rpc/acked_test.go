package rpc_test

import (
	"encoding/json"
	"testing"
)

// acked checks the output for a client against its acknowledgements.
type acked struct {
	window int64 // 0: the client does not acknowledge
	of     map[int64]map[string]*ackedStream
}

type ackedStream struct {
	acked  int64      // the last acknowledged offset
	since  int64      // the same, since the last job/subscribe, which may restart the output
	pieces [][2]int64 // the sent output, as ranges without gaps
}

func (a *acked) stream(handle int64, name string) *ackedStream {
	if a.of[handle] == nil {
		a.of[handle] = map[string]*ackedStream{}
	}
	if a.of[handle][name] == nil {
		a.of[handle][name] = &ackedStream{}
	}
	return a.of[handle][name]
}

// sent records a request or notification of the client.
func (a *acked) sent(method string, params json.RawMessage) {
	var p struct {
		Capabilities struct{ Ack bool }
		Options      struct{ Limits struct{ WindowBytes int64 } }
		Handle       int64
		Stream       string
		Offset       int64
	}
	if json.Unmarshal(params, &p) != nil {
		return // a job's name, perhaps
	}
	switch {
	case method == "initialize" && p.Capabilities.Ack:
		a.window, a.of = p.Options.Limits.WindowBytes, map[int64]map[string]*ackedStream{}
	case method == "job/ack" && a.window > 0:
		s := a.stream(p.Handle, p.Stream)
		s.acked, s.since = max(s.acked, p.Offset), max(s.since, p.Offset)
	case method == "job/subscribe":
		for _, s := range a.of[p.Handle] {
			s.since = 0
		}
	}
}

// output records a job/output, and reports whether it respects the window.
func (a *acked) output(e *event) bool {
	if a.window == 0 {
		return true
	}
	s := a.stream(e.Handle, e.Stream)
	if e.Restart {
		s.pieces, s.acked = nil, s.since
	}
	s.pieces = append(s.pieces, [2]int64{e.Offset, e.Offset + e.Bytes})
	open := int64(0)
	for _, r := range s.pieces {
		open += max(r[1]-max(r[0], s.acked), 0)
	}
	return open <= a.window
}

func TestCheckerNoticesTheWindow(t *testing.T) {
	var a acked
	a.sent("initialize", json.RawMessage(`{"capabilities":{"ack":true},"options":{"limits":{"windowBytes":100}}}`))
	out := func(offset, bytes int64) bool {
		return a.output(&event{Handle: 1, Stream: "stdout", Offset: offset, Bytes: bytes})
	}
	if !out(0, 60) || !out(60, 40) {
		t.Error("a window that is full is no fault")
	}
	a.sent("job/ack", json.RawMessage(`{"handle":1,"stream":"stdout","offset":10}`))
	if !out(1000, 10) {
		t.Error("a gap counts")
	}
	if out(1010, 1) {
		t.Error("a byte too many is not noticed")
	}
	a.sent("job/subscribe", json.RawMessage(`{"handle":1,"from":"start"}`))
	again := func(offset, bytes int64, restart bool) bool {
		return a.output(&event{Handle: 1, Stream: "stdout", Offset: offset, Bytes: bytes, Restart: restart})
	}
	if !again(0, 100, true) {
		t.Error("what was sent before counts for the new beginning")
	}
	if again(100, 1, false) {
		t.Error("what was acknowledged before counts for the new beginning")
	}
}
