package jobs

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"shelld/screen"
)

// screen awaits what a job's terminal shows.
func (f *fakeJob) screen(history int) Screen {
	f.t.Helper()
	return must(f.t, f.Screen(history, nil))
}

func (f *fakeJob) says(text string) { f.out.data <- []byte(text) }

// Nothing is drawn, and nothing held, for a job whose screen nobody wants to see.
func TestNoViewWithoutNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("hello")
		synctest.Wait()
		if f.display.view != nil {
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
		f.display.view.busy.Lock()
		p := f.Screen(0, nil)
		p.Cancel()
		refused(t, p, CodeCanceled)
		f.display.view.busy.Unlock()
		f.end()
	})
}

// A job that is let go of owes an answer to whoever waits for its screen.
func TestScreenOfAJobThatGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("hello")
		f.screen(0)
		f.display.view.busy.Lock()
		p := f.Screen(0, nil)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			f.finish()
		}()
		refused(t, p, CodeJobNotFound)
		f.display.view.busy.Unlock()
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

// lines are the rows of a screen that are not empty.
func lines(s Screen) string {
	var all []string
	for _, l := range s.Lines {
		all = append(all, l.Text())
	}
	return strings.TrimRight(strings.Join(all, "|"), "|")
}

// Each who asks sees all output that was there when he did, and who comes later sees it,
// too; after the end as before.
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

// Output is drawn in the size that the terminal had when it was stored, also by a view that
// is made later.
func TestScreenSizesByOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("\x1b[5;70Ha")
		synctest.Wait()
		must(t, f.Resize(20, 5))
		f.says("\x1b[1;1H" + strings.Repeat("b", 25))
		synctest.Wait()
		must(t, f.Resize(30, 3))
		s := f.screen(0)
		if s.Cols != 30 || s.Rows != 3 || !strings.HasPrefix(lines(s), strings.Repeat("b", 20)) {
			t.Errorf("%d columns, %d rows: %q", s.Cols, s.Rows, lines(s))
		}
		f.end()
	})
}

// Of what has come since anybody looked, and is too much, the newest is drawn, and what lasts
// of what came before.
func TestScreenFarBehind(t *testing.T) {
	f := startFake(t, &recorder{})
	write := func(text string, n int64) {
		b := []byte(strings.Repeat(text, 4000/len(text)))
		for end := f.End(PTY) + n; f.End(PTY) < end; {
			f.out.data <- b
		}
	}
	write("old\r\n", viewLag)
	f.says("\x1b[?2004h\x1b[31m") // this is skimmed
	write("new\r\n", viewDrawn+viewSkimmed/2)
	f.out.data <- []byte("end")
	for f.End(PTY)%10 != 0 { // until the readLoop has it, whose chunk is the next
		f.out.data <- []byte("\x00")
	}
	s := f.screen(ScreenHistory)
	text := lines(s)
	if !strings.HasSuffix(text, "new|end") || strings.Contains(text, "old") || len(s.History) != ScreenHistory {
		t.Errorf("%q, %d lines before it", text, len(s.History))
	}
	if !s.Modes.BracketedPaste || s.Lines[0].Cell(0).Style.Foreground != screen.Indexed(1) {
		t.Errorf("modes %+v, style %+v", s.Modes, s.Lines[0].Cell(0).Style)
	}
	f.end()
}

// What the spool has dropped is not drawn, and the modes are what they were.
func TestScreenBehindAGap(t *testing.T) {
	f := startFakeWith(t, &recorder{}, func(m *Manager) { m.settings.limits.SpoolMemory = 128 << 10 })
	f.says("\x1b[?1049h\x1b[?1h\x1b]2;title\x07")
	b := bytes.Repeat([]byte("x\r\n"), 1000)
	for f.End(PTY) < 1<<20 {
		f.out.data <- b
	}
	s := f.screen(0)
	if !s.Modes.AlternateScreen || !s.Modes.ApplicationCursor || s.Title != "title" || !strings.HasPrefix(lines(s), "x|x|x") {
		t.Errorf("modes %+v, title %q: %q", s.Modes, s.Title, lines(s))
	}
	f.end()
}

// A view that cannot draw begins anew, and harms nobody.
func TestScreenThatCannotBeDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("one")
		synctest.Wait()
		f.screen(0)
		f.display.view.term = new(screen.Terminal) // which has no cells: what it does next fails
		f.says("two")
		synctest.Wait()
		if s := f.screen(0); !s.Approximate || s.Offset != 6 {
			t.Errorf("%+v", s)
		}
		f.says("three")
		synctest.Wait()
		if s := f.screen(0); lines(s) != "three" {
			t.Errorf("%q", lines(s))
		}
		f.end()
	})
}

// The terminal of a job that is closed is not kept, whether it is drawn once more for who asks
// or what it showed last is kept; and all that is told of it stays as it was.
func TestScreenOfAClosedJobIsSmall(t *testing.T) {
	for _, c := range []struct {
		name   string
		output string
		again  bool
	}{
		{"nothing", "", true},
		{"little", strings.Repeat("line\r\n", 2000) + "\x1b]2;title\x07end", true},
		{"much work", hostile["clear"] + strings.Repeat("\x1b[41m\x1b[2J\x1b[42m\x1b[2J", viewAgainWork/80/24/2+1000) + "\x1b]2;title\x07\x1b[Hend", false},
		{"much", strings.Repeat(strings.Repeat("x", 78)+"\r\n", viewAgain/80) + "\x1b]2;title\x07end", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && len(c.output) > viewAgain/2 {
				t.Skip("what is much work is kept in the same way")
			}
			f := startFake(t, &recorder{})
			look := func() Screen { return f.screen(ScreenHistory) }
			before := look()
			for b := []byte(c.output); len(b) > 0; {
				n := min(len(b), 4000)
				f.out.data <- b[:n]
				b = b[n:]
				before = look()
			}
			for before = look(); before.Offset < int64(len(c.output)); before = look() {
			}
			f.proc.exit(0)
			f.proc.gone()
			<-f.ended
			for range 3 {
				s := look()
				if lines(s) != lines(before) || len(s.History) != len(before.History) || s.Title != before.Title || s.Cursor != before.Cursor ||
					s.Offset != before.Offset || s.Revision != before.Revision || s.Approximate != before.Approximate {
					t.Errorf("after the end %q, %d before it, at %d (%d); it was %q, %d, at %d (%d)",
						lines(s), len(s.History), s.Offset, s.Revision, lines(before), len(before.History), before.Offset, before.Revision)
				}
				if s := f.screen(2); len(s.History) != min(2, len(before.History)) {
					t.Errorf("%d lines before it, of 2", len(s.History))
				}
				f.display.view.busy.Lock()
				if f.display.view.term != nil || (f.display.view.last == nil) != c.again {
					t.Errorf("a terminal %v, a screen %v", f.display.view.term != nil, f.display.view.last != nil)
				}
				f.display.view.busy.Unlock()
			}
			f.finish()
		})
	}
}

// Nor does it harm anybody that cannot show what it has drawn, or look for something in it.
func TestScreenThatCannotBeShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		f.says("one")
		synctest.Wait()
		before := f.screen(0).Revision
		f.display.view.term = new(screen.Terminal)
		if s := f.screen(0); !s.Approximate || s.Offset != 3 || s.Revision == before {
			t.Errorf("%+v", s)
		}
		broken := []*screenPattern{{after: -1}}
		if at, _, hits := f.display.view.glance(3, broken); at != 3 || hits != nil {
			t.Errorf("at %d, %v", at, hits)
		}
		f.says("two")
		synctest.Wait()
		if s := f.screen(0); lines(s) != "two" {
			t.Errorf("%q", lines(s))
		}
		f.end()
	})
}

// What is not seen may change while the revision stays.
func TestScreenIsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startFake(t, &recorder{})
		for _, c := range []struct {
			text string
			same bool
		}{{"one", true}, {"", true}, {"\x1b[31m", false}, {"", false}, {"two", true}, {"\x1b[2;4r\x1b[1;7H", false}} {
			if c.text != "" {
				f.says(c.text)
			}
			synctest.Wait()
			if s := f.screen(0); s.Same != c.same {
				t.Errorf("%q: same is %t at %d, revision %d", c.text, s.Same, s.Offset, s.Revision)
			}
		}
		f.end()
	})
}
