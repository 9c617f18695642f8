package rpc

import (
	"testing"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// A heard is a lane that reports a match to the test.
type heard struct {
	*lane
	matched chan struct{}
}

func (h heard) Event(e jobs.Event) {
	h.lane.Event(e)
	if e.Matched != nil {
		close(h.matched)
	}
}

// TestGapAcrossAnEvent: bytes that are dropped before an event about them is sent are a gap. The part up to the event's
// offset is reported before the event, the rest with later output.
func TestGapAcrossAnEvent(t *testing.T) {
	m, o, g := stuckOutbox(t, jobs.Limits{SpoolMemory: 128 << 10})
	l := newLane(o, nil, defaultEvents, schema.EncodingText)
	sink := heard{l, make(chan struct{})}
	// The match lies after the first bytes that are kept, and before the last.
	command := "head -c 600000 /dev/zero | tr '\\0' x; echo HERE; read l; head -c 1000000 /dev/zero | tr '\\0' y"
	j, started, refused := m.Start(jobs.Spec{Command: &command, Shell: "sh", Mode: jobs.ModePipe, OpenStdin: true, Sink: sink,
		Stderr: jobs.StderrDiscard, Watches: []jobs.WatchSpec{{Pattern: "HERE\n"}}})
	if refused != nil {
		t.Fatal(refused)
	}
	<-started.C
	select {
	case <-sink.matched:
	case <-time.After(40 * time.Second):
		t.Fatal("there is no match")
	}
	closed, _ := j.Wait(&jobs.WaitSpec{Until: []jobs.Condition{{Kind: jobs.UntilClosed}}, Timeout: time.Minute})
	if _, refused := j.Write(jobs.Input{Text: "\n"}); refused != nil {
		t.Fatal(refused)
	}
	if r := <-closed.C; r.Err != nil {
		t.Fatal(r.Err)
	}
	const match = 600_005
	var next, matchedAt int64
	var gapBefore, gapAfter bool
	for _, e := range g.pass(t, o) {
		p := e.Params
		if e.Method == "job/patternMatched" {
			matchedAt = next
		}
		if e.Method != "job/output" {
			continue
		}
		if p.Gap != nil {
			if p.Gap.From != next || p.Gap.To != p.Offset {
				t.Errorf("gap %+v before %d, after %d", *p.Gap, p.Offset, next)
			}
			gapBefore = gapBefore || p.Gap.From < match && p.Gap.To == match
			gapAfter = gapAfter || p.Gap.From == match
		} else if p.Offset != next {
			t.Errorf("output at %d, after %d", p.Offset, next)
		}
		if p.Bytes == 0 && p.Gap == nil {
			t.Errorf("a message without anything: %+v", e)
		}
		next = p.Offset + p.Bytes
	}
	// The gap up to the match is reported before it, and the rest after it.
	if matchedAt != match || !gapBefore || !gapAfter {
		t.Errorf("the match is told at %d; a gap ends there: %v, one begins there: %v", matchedAt, gapBefore, gapAfter)
	}
	if next != 1_600_005 {
		t.Errorf("sent up to %d", next)
	}
}
