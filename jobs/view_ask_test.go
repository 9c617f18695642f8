package jobs

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"shelld.dev/shelld/jobs/internal/view"
)

// screen returns the screen of the job's terminal.
func (f *fakeJob) screen(history int) Screen {
	f.t.Helper()
	return must(f.t, f.Screen(history, nil))
}

func (f *fakeJob) says(text string) { f.out.data <- []byte(text) }

// slowly starts a call that holds the view until release is called.
func (f *fakeJob) slowly() (release func()) {
	f.t.Helper()
	var v *view.View
	f.inTurn(func() { v = f.display.theView() })
	begun, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		v.Show(f.End(PTY), 0, func() bool {
			close(begun)
			<-goOn
			return false
		})
	}()
	<-begun
	return func() {
		close(goOn)
		<-done
	}
}

// A job has no view before its screen is needed.
func TestNoViewWithoutNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("hello")
		synctest.Wait()
		if f.display.view != nil {
			t.Error("a job has a view before its screen was requested")
		}
		f.end()
	})
}

// A request can be cancelled while another one draws.
func TestScreenIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("hello")
		f.screen(0)
		release := f.slowly()
		p := f.Screen(0, nil)
		p.Cancel()
		refused(t, p, CodeCanceled)
		release()
		f.end()
	})
}

// A request that waits for the screen is answered when the job is removed.
func TestScreenOfAJobThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("hello")
		f.screen(0)
		release := f.slowly()
		p := f.Screen(0, nil)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			f.finish()
		}()
		refused(t, p, CodeJobNotFound)
		release()
		<-closed
	})
}

// lines joins the rows of a screen, without empty ones at its end.
func lines(s Screen) string {
	var all []string
	for _, l := range s.Lines {
		all = append(all, l.Text())
	}
	return strings.TrimRight(strings.Join(all, "|"), "|")
}

// A screen contains all output that was stored when it was requested, also after the job's end.
func TestScreenIsUpToDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("one\r\n")
		synctest.Wait()
		if s := f.screen(0); lines(s) != "one" || s.Offset != 5 {
			t.Errorf("%q at %d", lines(s), s.Offset)
		}
		f.says("two\r\n")
		synctest.Wait()
		first, second := f.Screen(0, nil), f.Screen(0, nil)
		a, b := must(t, second), must(t, first)
		if lines(a) != "one|two" || lines(b) != "one|two" || a.Revision != b.Revision {
			t.Errorf("%q and %q", lines(a), lines(b))
		}
		f.proc.exit(0)
		f.proc.gone()
		<-f.ended
		if s := f.screen(0); lines(s) != "one|two" || s.Revision != a.Revision || s.Approximate {
			t.Errorf("after the end: %q", lines(s))
		}
		f.finish()
	})
}

// Output is drawn in the size that the terminal had when it was stored, even by a view that is created later.
func TestScreenSizesByOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("\x1b[5;70Ha")
		synctest.Wait()
		must(t, f.Resize(20, 5, ""))
		f.says("\x1b[1;1H" + strings.Repeat("b", 25))
		synctest.Wait()
		must(t, f.Resize(30, 3, ""))
		s := f.screen(0)
		if s.Cols != 30 || s.Rows != 3 || !strings.HasPrefix(lines(s), strings.Repeat("b", 20)) {
			t.Errorf("%d columns, %d rows: %q", s.Cols, s.Rows, lines(s))
		}
		f.end()
	})
}

// A closed job keeps no drawn terminal.
func TestScreenOfAClosedJobIsReleased(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // frees the objects in pools
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	f := startFake(t, &recorder{})
	must(t, f.Resize(512, 512, ""))
	f.says("hello")
	before := heap()
	f.screen(0)
	if took := heap() - before; took < 512*512*8 {
		t.Fatalf("the terminal takes only %d bytes", took)
	}
	f.proc.exit(0)
	f.proc.gone()
	<-f.ended
	f.finish()
	if left := heap() - before; left > 1<<20 {
		t.Errorf("%d bytes are left", left)
	}
	runtime.KeepAlive(f)
}
