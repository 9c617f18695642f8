package jobs

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// screens returns the screen changes reported to a sink, each with the offset that it follows.
func (r *recorder) screens() (told []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		switch {
		case e.Screen != nil:
			told = append(told, fmt.Sprintf("to %d after %d", e.Screen.Offset, e.After[PTY]))
		case e.Exited != nil:
			told = append(told, "exited")
		}
	}
	return told
}

func (f *fakeJob) told(want ...string) {
	f.t.Helper()
	synctest.Wait()
	if got := strings.Join(f.sink.screens(), ", "); got != strings.Join(want, ", ") {
		f.t.Errorf("told %q, want %q", got, want)
	}
}

// The first change is reported at once, later ones after the interval, and the last one before the end. If nothing
// changes, nothing is reported.
func TestScreenChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("a")
		f.told()
		f.TellScreen(time.Second)
		f.says("b")
		f.told("to 2 after 2")
		f.says("c")
		f.says("d")
		time.Sleep(time.Second - 1)
		f.told("to 2 after 2")
		time.Sleep(time.Nanosecond)
		f.told("to 2 after 2", "to 4 after 4")
		time.Sleep(time.Hour)
		f.says("\x1b[m")
		time.Sleep(time.Hour)
		f.told("to 2 after 2", "to 4 after 4")
		must(t, f.Resize(10, 10, ""))
		f.told("to 2 after 2", "to 4 after 4", "to 7 after 7")
		f.says("e")
		f.says("f")
		f.proc.exit(0)
		f.told("to 2 after 2", "to 4 after 4", "to 7 after 7", "to 9 after 9", "exited")
		f.proc.gone()
		f.finish()
	})
}

// Without a subscription nothing is reported and nothing is drawn. A new subscription gets the present state.
func TestScreenChangesAreToldNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.TellScreen(time.Second)
		f.says("a")
		f.told("to 1 after 1")
		f.TellScreen(0)
		f.says("b")
		synctest.Wait()
		if f.display.glance.seen != 1 {
			t.Errorf("drawn up to %d for nobody", f.display.glance.seen)
		}
		f.TellScreen(time.Second)
		must(t, f.Info()) // a turn
		f.told("to 1 after 1", "to 2 after 2")
		f.end()
	})
}

// If a glance takes too long, patterns on the screen do not delay the end for ever. Their removal says that they have
// not seen the screen.
func TestScreenPatternsThatCannotLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &recorder{}
		f := startFake(t, sink)
		p, err := f.Watch(WatchSpec{Pattern: "b", Screen: true}, true)
		if err != nil {
			t.Fatal(err)
		}
		must(t, p)
		synctest.Wait()
		release := f.slowly()
		f.says("b")
		w, err := f.Wait(&WaitSpec{Until: []Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: "b", Screen: true}}}, Timeout: -1})
		if err != nil {
			t.Fatal(err)
		}
		poll, err := f.Wait(&WaitSpec{Until: []Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: "b", Screen: true}}}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if o := must(t, poll); o.Reason != "timeout" || time.Since(began) != firstLook {
			t.Errorf("a poll ends with %s after %v", o.Reason, time.Since(began))
		}
		f.proc.exit(0)
		if o := must(t, w); o.Reason != "exit" || time.Since(began) != firstLook+catchUpTime {
			t.Errorf("the wait ends with %s after %v", o.Reason, time.Since(began))
		}
		if reasons := sink.removed(); len(reasons) != 1 || !strings.Contains(reasons[0], "could not be drawn in time") {
			t.Errorf("removed for %q", reasons)
		}
		release()
		f.proc.gone()
		f.finish()
	})
}

// A pattern on the screen that takes too long is removed, and the others go on.
func TestScreenPatternThatExplodes(t *testing.T) {
	sink := &recorder{}
	f := startFake(t, sink)
	for _, pattern := range []string{"(x+)+\\d", "end"} {
		p, err := f.Watch(WatchSpec{Pattern: pattern, Screen: true}, false)
		if err != nil {
			t.Fatal(err)
		}
		must(t, p)
	}
	f.says(strings.Repeat("x", 60) + "\r\nend")
	w, err := f.Wait(&WaitSpec{Until: []Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: "end", Screen: true}}}, Timeout: -1})
	if err != nil {
		t.Fatal(err)
	}
	must(t, w)
	f.proc.exit(0)
	f.proc.gone()
	<-f.ended
	if told, _, last := sink.matches(); told != 1 || last.Text != "end" {
		t.Errorf("%d matches, the last of %q", told, last.Text)
	}
	if reasons := sink.removed(); len(reasons) != 1 {
		t.Errorf("removed for %q", reasons)
	}
	f.finish()
}
