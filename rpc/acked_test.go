package rpc_test

import (
	"encoding/json"
	"testing"
)

// acked holds what a client is sent against what it has acknowledged.
type acked struct {
	window int64                           // 0: it acknowledges nothing
	acks   map[int64]map[string]int64      // by job and stream: the offset that was acknowledged last
	pieces map[int64]map[string][][2]int64 // what was sent of it, as ranges without gaps
}

// sent takes a request or notification of the client's.
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
		a.window = p.Options.Limits.WindowBytes
		a.acks, a.pieces = map[int64]map[string]int64{}, map[int64]map[string][][2]int64{}
	case method == "job/ack" && a.window > 0:
		if a.acks[p.Handle] == nil {
			a.acks[p.Handle] = map[string]int64{}
		}
		a.acks[p.Handle][p.Stream] = max(a.acks[p.Handle][p.Stream], p.Offset)
	}
}

// output takes a job/output, and says whether it keeps to the window.
func (a *acked) output(e *event) bool {
	if a.window == 0 {
		return true
	}
	of := a.pieces[e.Handle]
	if of == nil {
		of = map[string][][2]int64{}
		a.pieces[e.Handle] = of
	}
	if e.Restart {
		of[e.Stream] = nil
	}
	of[e.Stream] = append(of[e.Stream], [2]int64{e.Offset, e.Offset + e.Bytes})
	open := int64(0)
	for _, r := range of[e.Stream] {
		open += max(r[1]-max(r[0], a.acks[e.Handle][e.Stream]), 0)
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
}
