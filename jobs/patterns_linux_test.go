package jobs

import (
	"strings"
	"testing"
	"time"
)

// Compiled patterns are kept in memory, so there is a limit for all of them together.
func TestPatternsAreBoundedTogether(t *testing.T) {
	m := startReal(t, Options{})
	j := mustStart(t, m, sh("exec sleep 600"))
	w := pattern(strings.Repeat("x", 1000))
	need := w.Watch.cost()
	m.patternBytes.Store(maxPatternBytes - need) // patterns of other jobs

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

// When a job is removed, its patterns no longer count.
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

// Patterns count from their compilation on, whatever their request waits for.
func TestPatternsCountFromWhenTheyAreCompiled(t *testing.T) {
	count := func(t *testing.T, m *Manager, want int64) {
		t.Helper()
		if got := m.patternBytes.Load(); got != want {
			t.Errorf("counted %d, want %d", got, want)
		}
	}
	w := pattern("x")
	cost := w.Watch.cost()

	t.Run("a write behind others", func(t *testing.T) {
		m := startReal(t, Options{})
		j := mustStart(t, m, Spec{Argv: []string{"sleep", "600"}, Mode: ModePipe, OpenStdin: true})
		full, err := j.Write(Input{Text: strings.Repeat("x", 300_000)})
		if err != nil {
			t.Fatal(err)
		}
		behind, err := j.Write(Input{Text: "y", Wait: until(w)})
		if err != nil {
			t.Fatal(err)
		}
		count(t, m, cost)
		behind.Cancel()
		<-behind.C
		count(t, m, 0)
		full.Cancel()
		<-full.C
	})
	t.Run("a start that a person is asked about", func(t *testing.T) {
		asked := make(chan struct{})
		m := startReal(t, Options{Confirm: ConfirmPolicy{Start: VerdictAsk, Ask: func(*Question) func() {
			close(asked)
			return func() {}
		}}})
		s := sh("true")
		s.Wait, s.Watches = until(w), []WatchSpec{w.Watch}
		_, p, err := m.Start(s)
		if err != nil {
			t.Fatal(err)
		}
		<-asked
		count(t, m, 2*cost)
		p.Cancel()
		<-p.C
		count(t, m, 0)
	})
	t.Run("what is refused", func(t *testing.T) {
		m := startReal(t, Options{})
		s := sh("true")
		s.Watches = []WatchSpec{w.Watch, {Pattern: "("}}
		if _, _, err := m.Start(s); err == nil {
			t.Error("a start with a bad pattern")
		}
		s.Watches, s.Wait, s.Cwd = []WatchSpec{w.Watch}, until(w), "/nowhere at all"
		_, p, err := m.Start(s)
		if err != nil {
			t.Fatal(err)
		}
		<-p.C
		j := mustStart(t, m, sh("exec sleep 600"))
		no := w.Watch
		no.Stream = "stderr"
		if p, err := j.Watch(no, false); err != nil {
			t.Error(err)
		} else {
			<-p.C
		}
		if p, err := j.Wait(until(Condition{Kind: UntilPattern, Watch: no})); err != nil {
			t.Error(err)
		} else {
			<-p.C
		}
		count(t, m, 0)
	})
}

// Compiled patterns are released when the search for them ends.
func TestPatternsAreNotKeptInSpecs(t *testing.T) {
	m := startReal(t, Options{})
	s := sh("exec sleep 600")
	s.Wait, s.Watches = until(pattern("x")), []WatchSpec{{Pattern: "y"}}
	s.Wait.Timeout = time.Millisecond
	j := mustStart(t, m, s)
	must(t, j.Unwatch(1))
	j.lock.Lock()
	defer j.lock.Unlock()
	if j.spec.Wait != nil || j.spec.Watches != nil {
		t.Error("the job keeps what it was asked to look for when it started")
	}
}
