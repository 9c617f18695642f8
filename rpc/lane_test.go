package rpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// A gate is a stdout that accepts nothing until it is opened.
type gate struct {
	open chan struct{}
	met  chan struct{} // closed when a writer waits, if it is not nil
	got  bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	if g.met != nil {
		close(g.met)
		g.met = nil
	}
	<-g.open
	return g.got.Write(p)
}

// stuckOutbox returns an outbox whose writer waits at a gate before any job has begun, and a manager for jobs whose
// output it is to send.
func stuckOutbox(t *testing.T, limits jobs.Limits) (*jobs.Manager, *outbox, *gate) {
	t.Helper()
	if len(jobs.Platform().Modes) == 0 {
		t.Skip("there are no jobs on this system")
	}
	m, err := jobs.NewManager(jobs.Options{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Shutdown()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	met := make(chan struct{})
	g := &gate{open: make(chan struct{}), met: met}
	o := newOutbox(g, lineFraming)
	o.send([]byte(`{"method":"first"}`))
	<-met
	return m, o, g
}

// pass opens the gate and returns the messages that pass through.
func (g *gate) pass(t *testing.T, o *outbox) (all []passed) {
	t.Helper()
	close(g.open)
	if err := o.flush(); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(g.got.Bytes()) {
		var p passed
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// A passed is a sent message; its params are those of job/output, if it is one.
type passed struct {
	Method string
	Params schema.JobOutputParams
}

func lineFraming() Framing { return FramingLine }

func match(watch int, text string) jobs.Event {
	return jobs.Event{Matched: &jobs.Matched{WatchID: watch, Stream: jobs.PTY, Match: jobs.Match{Text: text}}}
}

// TestMatchesThatWaitAreBounded: the number of unread matches is limited. Omitted ones are counted, and the last one of
// each watch is sent, regardless of the others.
func TestMatchesThatWaitAreBounded(t *testing.T) {
	for name, text := range map[string]string{"many": "x", "large": strings.Repeat("x", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			g := &gate{open: make(chan struct{})}
			o := newOutbox(g, lineFraming)
			l := newLane(o, nil, []schema.EventName{schema.EventNamePatternMatched, schema.EventNameExited}, schema.EncodingText)
			o.mu.Lock()
			l.openAlone()
			o.mu.Unlock()
			const all = 500
			for range all {
				l.Event(match(1, text))
			}
			l.Event(match(2, "once"))
			o.mu.Lock()
			if l.bytes > thinnedBytes+2*len(text) || len(l.queue) > 2*watchMatches {
				t.Errorf("%d events of %d bytes wait", len(l.queue), l.bytes)
			}
			o.mu.Unlock()
			l.Event(jobs.Event{Exited: &jobs.Exited{Exit: jobs.Exit{Reason: jobs.ReasonExited}}})
			close(g.open)
			if err := o.flush(); err != nil {
				t.Fatal(err)
			}
			told, last := map[int64]int64{}, ""
			for i, line := range bytes.Split(bytes.TrimSpace(g.got.Bytes()), []byte("\n")) {
				var m struct {
					Method string
					Params schema.JobPatternMatchedParams
				}
				if err := json.Unmarshal(line, &m); err != nil {
					t.Fatal(err)
				}
				if m.Params.Seq != int64(i+1) {
					t.Errorf("message %d has seq %d", i+1, m.Params.Seq)
				}
				last = m.Method
				if m.Method == "job/patternMatched" {
					told[m.Params.WatchID] += 1 + or(m.Params.Suppressed, 0)
				}
			}
			if told[1] != all || told[2] != 1 || last != "job/exited" {
				t.Errorf("told of %v matches, and %s last", told, last)
			}
		})
	}
}

// TestSuppressedByTheJobAndTheLane: matches that the job has suppressed are counted with those that were not sent.
func TestSuppressedByTheJobAndTheLane(t *testing.T) {
	o := &outbox{wake: make(chan struct{}, 1)}
	o.limit.Store(defaultMaxMessage)
	l := newLane(o, nil, []schema.EventName{schema.EventNamePatternMatched}, schema.EncodingText)
	o.mu.Lock()
	l.openAlone()
	o.mu.Unlock()
	thinned := match(1, "x")
	thinned.Matched.Suppressed = 5
	for range watchMatches {
		l.Event(match(1, "x"))
	}
	l.Event(thinned) // not queued, like the next one
	l.Event(thinned)
	var last []byte
	for sent := l.step(nil, FramingLine); len(sent) > 0; sent = l.step(nil, FramingLine) {
		last = sent
	}
	if !bytes.Contains(last, []byte(`"suppressed":11`)) {
		t.Errorf("the last match is %s", last)
	}
}

// TestFlushWaitsForASlowReader: a client that reads slowly does not count as stuck.
func TestFlushWaitsForASlowReader(t *testing.T) {
	w := &counter{}
	o := newOutbox(w, lineFraming)
	o.send(bytes.Repeat([]byte("x"), 4*pieceBytes))
	if err := o.flush(); err != nil {
		t.Fatal(err)
	}
	if w.writes < 4 || o.progress.Load() != int64(w.writes) {
		t.Errorf("%d writes, progress %d: a large message must be seen to go", w.writes, o.progress.Load())
	}
}

type counter struct{ writes int }

func (c *counter) Write(p []byte) (int, error) {
	c.writes++
	return len(p), nil
}

// TestChangeInTheMiddleOfAStep: if the subscription changes while the lane is about to send an event, the event is
// still there: it may be wanted now.
func TestChangeInTheMiddleOfAStep(t *testing.T) {
	o := &outbox{wake: make(chan struct{}, 1)}
	o.limit.Store(defaultMaxMessage)
	l := newLane(o, nil, []schema.EventName{schema.EventNamePatternMatched}, schema.EncodingText)
	o.mu.Lock()
	l.openAlone()
	o.mu.Unlock()
	l.Event(jobs.Event{Exited: &jobs.Exited{Exit: jobs.Exit{Reason: jobs.ReasonExited}}})
	o.mu.Lock()
	l.takeLocked()
	event := l.queue[0]
	o.mu.Unlock()
	c := &change{events: []schema.EventName{schema.EventNameExited}}
	if _, err := l.change(c, jobs.Info{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	o.queueThen(message{}, c.answer)
	if sent := l.stepEvent(nil, FramingLine, &event); len(sent) > 0 {
		t.Errorf("sent as it was: %s", sent)
	}
	if sent := l.step(nil, FramingLine); !bytes.Contains(sent, []byte(`"job/exited"`)) {
		t.Errorf("sent as it was asked for: %q, want job/exited", sent)
	}
}
