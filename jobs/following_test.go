package jobs

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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

// If there are very many matches, the client gets some of them, with the last one, and the number of the others.
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
		if told+suppressed != size || told > size/4 || last.End != size {
			t.Errorf("%d told, %d suppressed of %d, the last to %d", told, suppressed, size, last.End)
		}
		f.finish()
	})
}

// floodMatched makes a job write output that its patterns need very long for.
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

// The end of a job waits for its matches, but not for ever: a watch gets the range of the unmatched output, and a wait
// ends as without a match. The subtests take real time, since the patterns exceed a limit of real time.
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

// Close does not wait for the patterns of a job.
func TestCloseDoesNotWaitForPatterns(t *testing.T) {
	f := startFake(t, &recorder{})
	floodMatched(t, f)
	f.finish() // The job is running, and its patterns are far behind.
}
