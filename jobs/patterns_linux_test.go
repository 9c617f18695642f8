package jobs

import (
	"strings"
	"testing"
	"time"
)

// Compiled patterns are held in memory, and so are bounded together.
func TestPatternsAreBoundedTogether(t *testing.T) {
	m := startReal(t, Options{})
	j := mustStart(t, m, sh("exec sleep 600"))
	w := pattern(strings.Repeat("x", 1000))
	need := w.Watch.cost()
	m.patternBytes.Store(maxPatternBytes - need) // other jobs'

	refused := func(what string, err *Error) {
		t.Helper()
		if err == nil || err.Code != CodeLimitExceeded || err.Limit != "patternBytes" || err.Max != maxPatternBytes {
			t.Errorf("%s: %v", what, err)
		}
	}
	watched, err := j.Watch(w.Watch, false)
	if err != nil {
		t.Fatalf("the last one that fits: %v", err)
	}
	id := must(t, watched)
	_, err = j.Watch(w.Watch, false)
	refused("a watch", err)
	_, err = j.Wait(until(w))
	refused("a wait", err)
	_, err = j.Write(Input{Wait: until(Condition{Kind: UntilExit}, w)})
	refused("the wait of a write", err)
	s := sh("true")
	s.Watches = []WatchSpec{w.Watch}
	_, _, err = m.Start(s)
	refused("a watch of a start", err)
	s.Watches, s.Wait = nil, until(w)
	_, _, err = m.Start(s)
	refused("a wait of a start", err)

	must(t, j.Unwatch(id))
	spec := until(w)
	spec.Timeout = time.Millisecond
	for range 3 {
		waited, err := j.Wait(spec)
		if err != nil {
			t.Fatalf("after an unwatch, or a wait that is over: %v", err)
		}
		if o := must(t, waited); o.Reason != "timeout" {
			t.Errorf("the wait ended with %s", o.Reason)
		}
	}
}

// What a job's patterns have counted is given back with the job.
func TestPatternsOfAJobThatIsLetGo(t *testing.T) {
	m := startReal(t, Options{})
	s := sh("exit 0")
	s.Watches = []WatchSpec{{Pattern: "a"}, {Pattern: "b"}}
	s.Wait = until(Condition{Kind: UntilClosed}, pattern("c"))
	j := mustStart(t, m, s)
	awaitClosed(t, j)
	if got, want := m.patternBytes.Load(), 2*s.Watches[0].cost(); got != want {
		t.Errorf("counted %d, want %d", got, want)
	}
	must(t, j.Remove(false))
	<-j.done
	if got := m.patternBytes.Load(); got != 0 {
		t.Errorf("counted %d when the job is gone", got)
	}
}
