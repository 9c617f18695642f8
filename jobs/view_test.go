package jobs

import (
	"testing"
	"testing/synctest"
)

// screen awaits what a job's terminal shows.
func (f *fakeJob) screen(history int) Screen {
	f.t.Helper()
	return must(f.t, f.Screen(history))
}

func (f *fakeJob) says(text string) { f.out.data <- []byte(text) }

// Nothing is drawn, and nothing held, for a job whose screen nobody wants to see.
func TestNoViewWithoutNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("hello")
		synctest.Wait()
		if f.view != nil {
			t.Error("a job has a view that nobody has asked for")
		}
		f.end()
	})
}

// A request that waits for others to have drawn can be cancelled.
func TestScreenIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("hello")
		f.screen(0)
		f.view.busy.Lock()
		p := f.Screen(0)
		p.Cancel()
		refused(t, p, CodeCanceled)
		f.view.busy.Unlock()
		f.end()
	})
}

// A job that is let go of owes an answer to whoever waits for its screen.
func TestScreenOfAJobThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("hello")
		f.screen(0)
		f.view.busy.Lock()
		p := f.Screen(0)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			f.finish()
		}()
		refused(t, p, CodeJobNotFound)
		f.view.busy.Unlock()
		<-closed
	})
}

// Sizes are found by offset; of too many the oldest are forgotten.
func TestSizeMarks(t *testing.T) {
	var s sizeMarks
	s.note(0, 80, 24)
	for n := range 2 * mostMarks {
		s.note(int64(n+1)*10, n+1, 5)
	}
	s.note(int64(2*mostMarks)*10, 7, 5) // nothing was written since
	if len(s.marks) != mostMarks {
		t.Errorf("%d marks are kept", len(s.marks))
	}
	first := mostMarks + 1 // of those that are kept, as number n of the loop counts
	for _, c := range []struct {
		off, next int64
		cols      int
	}{
		{0, int64(first+1) * 10, first}, {int64(first+1)*10 - 1, int64(first+1) * 10, first},
		{int64(first+1) * 10, int64(first+2) * 10, first + 1}, {int64(2*mostMarks) * 10, 1<<63 - 1, 7},
	} {
		m, next := s.at(c.off)
		if m.cols != c.cols || next != c.next {
			t.Errorf("at %d: %d columns up to %d, want %d up to %d", c.off, m.cols, next, c.cols, c.next)
		}
	}
}
