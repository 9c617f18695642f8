package jobs

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shelld/jobs/internal/match"
)

// A stuckSink takes no match until it is let go on.
type stuckSink struct {
	*recorder
	on chan struct{}
}

func (s *stuckSink) Event(e Event) {
	if e.Matched != nil {
		<-s.on
	}
	s.recorder.Event(e)
}

func (r *recorder) matches() (told, suppressed int64, last Match) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if m := e.Matched; m != nil {
			told, suppressed, last = told+1, suppressed+m.Suppressed, m.Match
		}
	}
	return told, suppressed, last
}

func (r *recorder) removed() (reasons []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Removed != nil {
			reasons = append(reasons, e.Removed.Reason)
		}
	}
	return reasons
}

// Of matches without end some are told, and the others are counted; the last one is
// told.
func TestManyMatchesAreThinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFake(t, sink)
		p, err := f.Watch(WatchSpec{Pattern: "y"}, true)
		if err != nil {
			t.Fatal(err)
		}
		must(t, p)
		const size = 256 << 10
		for range size >> 10 {
			f.out.data <- bytes.Repeat([]byte("y"), 1<<10)
		}
		f.proc.exit(0)
		f.proc.gone()
		<-f.ended
		told, suppressed, last := sink.matches()
		if told+suppressed != size || told > size>>10*batchMatches || last.End != size {
			t.Errorf("%d told, %d suppressed of %d, the last to %d", told, suppressed, size, last.End)
		}
		f.finish()
	})
}

// A batch waits until the loop has taken the one before.
func TestFollowerWaitsForTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := make(chan struct{})
		f := startFake(t, &recorder{})
		synctest.Wait() // it has had its first turn
		f.Job.sink = &stuckSink{f.sink, on}
		p, err := f.Watch(WatchSpec{Pattern: "y"}, true)
		if err != nil {
			t.Fatal(err)
		}
		must(t, p)
		for range 100 {
			f.out.data <- bytes.Repeat([]byte("y"), 4<<10)
		}
		synctest.Wait()
		waiting := 0
		f.actor.mail.Edit(func(queue []message) []message {
			waiting = len(queue)
			return queue
		})
		if waiting > 1 {
			t.Errorf("%d batches wait for the loop", waiting)
		}
		close(on)
		f.end()
	})
}

// floodMatched has a job write what takes its patterns for ever.
func floodMatched(t *testing.T, f *fakeJob) {
	t.Helper()
	for range 40 {
		p, err := f.Watch(WatchSpec{Pattern: "y"}, true)
		if err != nil {
			t.Fatal(err)
		}
		must(t, p)
	}
	b := bytes.Repeat([]byte("y"), smallRead)
	for range 4 << 20 / len(b) {
		f.out.data <- b
	}
}

// The end of a job waits for its matches, and not for ever: what was not looked at is
// told, and a wait ends as without a match. These take real time: it is that which the
// patterns take too much of.
func TestEndDoesNotWaitForEver(t *testing.T) {
	for name, end := range map[string]func(*fakeJob){
		"exit": func(f *fakeJob) { f.proc.exit(0); f.proc.gone() },
		"kill": func(f *fakeJob) {
			p := f.Kill(KillOptions{})
			<-f.proc.kills
			f.proc.exit(0)
			f.proc.gone()
			if r := must(f.t, p); r.State.Status == StatusRunning {
				f.t.Errorf("killed, the job is %s", r.State.Status)
			}
		},
		"shutdown": func(f *fakeJob) {
			go f.m.Shutdown()
			<-f.proc.kills
			f.proc.exit(0)
			f.proc.gone()
		},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &recorder{}
			f := startFake(t, sink)
			floodMatched(t, f)
			spec := &WaitSpec{Until: []Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: "never there"}}}, Timeout: -1, From: Origin{Kind: FromStart}}
			w, err := f.Wait(spec)
			if err != nil {
				t.Fatal(err)
			}
			end(f)
			select {
			case <-f.ended:
			case <-time.After(watchdog):
				t.Fatal("the job does not end")
			}
			if r := <-w.C; r.Err == nil && r.Value.Reason != "exit" {
				t.Errorf("the wait ends with %q", r.Value.Reason)
			}
			names := slices.DeleteFunc(sink.names(), func(n string) bool { return n == "matched" })
			reasons := sink.removed()
			if !slices.Equal(names, []string{"exited", "closed"}) || len(reasons) != 40 {
				t.Errorf("events %v, %d watches removed", names, len(reasons))
			}
			for _, r := range reasons {
				if !strings.Contains(r, "faster than it could be matched") || !strings.Contains(r, "pty from offset ") {
					t.Fatalf("reason %q", r)
				}
			}
			if info := must(t, f.Info()); len(info.Watches) != 0 {
				t.Errorf("%d watches are left", len(info.Watches))
			}
			f.finish()
		})
	}
}

// A job that is let go of does not wait for its patterns.
func TestCloseDoesNotWaitForPatterns(t *testing.T) {
	f := startFake(t, &recorder{})
	floodMatched(t, f)
	f.finish() // the job lives, and its patterns are far from the end
}

// While the end of a job is waited for no longer, a pattern that explodes takes its own time, not
// that of those behind it. Who kills the job is not made to wait for that, nor is anybody without end.
func TestExplodingPatternsHarmNoOther(t *testing.T) {
	defer match.StopClock()
	const bomb = "^(([a-z])+.)+[A-Z]([a-z])+$"
	for _, c := range []struct {
		name     string
		patterns []string
		pressed  bool
		seen     bool
	}{
		{"two of them", []string{bomb, bomb, "end"}, false, true},
		{"as many as have time", []string{bomb, bomb, bomb, bomb, "end"}, false, true},
		{"too many", []string{bomb, bomb, bomb, bomb, bomb, bomb, "end"}, false, false},
		{"where somebody kills the job", []string{bomb, bomb, "end"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &follower{quit: make(chan struct{})}
			set := f.setFor(followAdd{st: &stream{}})
			for i, src := range c.patterns {
				p, err := match.Compile(src, "")
				if err != nil {
					t.Fatal(err)
				}
				set.Add(i+1, p, match.Options{})
			}
			f.hurry.Store(&token{})
			f.pressed.Store(c.pressed)
			if f.hurried() {
				t.Fatal("hurried at once")
			}
			took := false // each search of these takes as long as is waited for at the end
			struck := set.Struck
			set.Struck = func() { f.haste.from = f.haste.from.Add(-lastLook); took = true; struck() }
			_, hits := set.Step([]byte(strings.Repeat("a", 92) + " end\n"))
			if seen := len(hits) == 1 && hits[0].ID == len(c.patterns); seen != c.seen || !took {
				t.Errorf("the pattern behind them was asked: %v, want %v; one of them exploded: %v", seen, c.seen, took)
			}
		})
	}
}
