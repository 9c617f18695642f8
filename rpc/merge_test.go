package rpc

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

func titled(title string) jobs.Event {
	return jobs.Event{Changed: &jobs.Changed{What: jobs.ChangeTitle, Title: title}}
}

// TestChangesThatWaitAreJoined: unread changes are merged, between other events, but not into one whose turn has come.
func TestChangesThatWaitAreJoined(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	o := newOutbox(g, lineFraming)
	l := newLane(o, nil, []schema.EventName{schema.EventNameStateChanged, schema.EventNamePatternMatched, schema.EventNameClosed}, schema.EncodingText)
	o.mu.Lock()
	l.openAlone()
	o.mu.Unlock()
	flood := func(last string) {
		for i := range 1_000_000 {
			l.Event(titled(strconv.Itoa(i)))
		}
		l.Event(jobs.Event{Changed: &jobs.Changed{What: jobs.ChangeBell, Bells: 7}})
		l.Event(titled(last))
	}
	flood("before")
	l.Event(match(1, "x"))
	flood("after")
	o.mu.Lock()
	if len(l.queue) > 5 {
		t.Errorf("%d events wait", len(l.queue))
	}
	o.mu.Unlock()
	l.Event(jobs.Event{Closed: &jobs.Closed{}})
	close(g.open)
	if err := o.flush(); err != nil {
		t.Fatal(err)
	}
	var titles []string
	var bells int64
	for i, line := range bytes.Split(bytes.TrimSpace(g.got.Bytes()), []byte("\n")) {
		var m struct {
			Method string
			Params schema.JobStateChangedParams
		}
		if err := json.Unmarshal(line, &m); err != nil || m.Params.Seq != int64(i+1) {
			t.Errorf("message %d: %s, %v", i+1, line, err)
		}
		switch {
		case m.Method == "job/patternMatched":
			if n := len(titles); n == 0 || titles[n-1] != "before" {
				t.Errorf("before the match came the titles %v", titles)
			}
		case m.Params.Title != nil:
			titles = append(titles, *m.Params.Title)
		}
		bells += or(m.Params.Bell, 0)
	}
	// Until the writer is stuck, it takes as many as a batch can hold.
	if n := len(titles); n < 2 || n > 10_000 || titles[n-1] != "after" || bells < 14 || bells > 28 {
		t.Errorf("%d titles, bells %d", n, bells)
	}
}

// TestAChangeWhoseTurnHasComeIsLeftAlone: a change whose turn has come waits for the output before it, but not for
// later output: behind a title that goes on changing it would wait for ever.
func TestAChangeWhoseTurnHasComeIsLeftAlone(t *testing.T) {
	l := &lane{queue: []laneEvent{{Event: titled("first")}}, turn: true}
	if l.merged(laneEvent{Event: titled("second")}) {
		t.Error("joined into the one whose turn it is")
	}
	l.queue = append(l.queue, laneEvent{Event: titled("second")})
	if !l.merged(laneEvent{Event: titled("third")}) || len(l.queue) != 2 || l.queue[1].Changed.Title != "third" || l.queue[0].Changed.Title != "first" {
		t.Errorf("not joined into the last: %+v", l.queue)
	}
	if l.merged(laneEvent{Event: match(1, "x")}) {
		t.Error("a match was joined")
	}
	l.queue = append(l.queue, laneEvent{Event: match(1, "x")})
	if l.merged(laneEvent{Event: titled("fourth")}) {
		t.Error("joined into a match")
	}
}
