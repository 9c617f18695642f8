package view

import (
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/screen"
)

// lines joins the rows of a screen, without empty ones at its end.
func lines(s Screen) string {
	var all []string
	for _, l := range s.Lines {
		all = append(all, l.Text())
	}
	return strings.TrimRight(strings.Join(all, "|"), "|")
}

// A view that is far behind draws the newest output, and keeps the lasting state of the skipped output.
func TestScreenFarBehind(t *testing.T) {
	v := play(32 << 20)
	write := func(text string, n int64) {
		v.says(strings.Repeat(text, int(n)/len(text)+1))
	}
	write("old\r\n", lagBytes)
	v.says("\x1b[?2004h\x1b[31m") // It is only skimmed.
	write("new\r\n", drawnBytes+skimmedBytes/2)
	v.says("end")
	s := v.screen(History)
	text := lines(s)
	if !strings.HasSuffix(text, "new|end") || strings.Contains(text, "old") || len(s.History) != History {
		t.Errorf("%q, %d lines before it", text, len(s.History))
	}
	if !s.Modes.BracketedPaste || s.Lines[0].Cell(0).Style.Foreground != screen.Indexed(1) {
		t.Errorf("modes %+v, style %+v", s.Modes, s.Lines[0].Cell(0).Style)
	}
}

// Output that the spool has dropped is not drawn, but its modes and its title apply.
func TestScreenBehindAGap(t *testing.T) {
	v := play(128 << 10)
	v.says("\x1b[?1049h\x1b[?1h\x1b]2;title\x07")
	v.says(strings.Repeat("x\r\n", 1<<20/3))
	s := v.screen(0)
	if !s.Modes.AlternateScreen || !s.Modes.ApplicationCursor || s.Title != "title" || !strings.HasPrefix(lines(s), "x|x|x") {
		t.Errorf("modes %+v, title %q: %q", s.Modes, s.Title, lines(s))
	}
}

// A panic while drawing leaves an empty screen that works.
func TestScreenThatCannotBeDrawn(t *testing.T) {
	v := play(32 << 20)
	v.says("one")
	v.screen(0)
	v.term = new(screen.Terminal) // It has no cells, so that the next operation panics.
	v.says("two")
	if s := v.screen(0); !s.Approximate || s.Offset != 6 {
		t.Errorf("%+v", s)
	}
	v.says("three")
	if s := v.screen(0); lines(s) != "three" {
		t.Errorf("%q", lines(s))
	}
}

// A closed terminal is released, whether it is drawn again or its last snapshot is kept, and its screen stays the same.
func TestScreenOfAClosedTerminal(t *testing.T) {
	for _, c := range []struct {
		name   string
		output string
		memory int
		again  bool
	}{
		{"nothing", "", 32 << 20, true},
		{"little", strings.Repeat("line\r\n", 2000) + "\x1b]2;title\x07end", 32 << 20, true},
		{"dropped", strings.Repeat("line\r\n", 40_000) + "\x1b]2;title\x07end", 128 << 10, false},
		{"much work", hostile["clear"] + strings.Repeat("\x1b[41m\x1b[2J\x1b[42m\x1b[2J", redrawWork/80/24/2+1000) + "\x1b]2;title\x07\x1b[Hend", 32 << 20, false},
		{"much", strings.Repeat(strings.Repeat("x", 78)+"\r\n", redrawBytes/80+1) + "\x1b]2;title\x07end", 32 << 20, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && len(c.output) > redrawBytes/2 {
				t.Skip("another case keeps the snapshot, too")
			}
			v := play(c.memory)
			look := func() Screen { return v.screen(History) }
			before := look()
			for b := range slices.Chunk([]byte(c.output), 4000) {
				v.says(string(b))
				before = look()
			}
			v.end()
			for range 3 {
				s := look()
				if lines(s) != lines(before) || len(s.History) != len(before.History) || s.Title != before.Title || s.Cursor != before.Cursor ||
					s.Offset != before.Offset || s.Revision != before.Revision || s.Approximate != before.Approximate {
					t.Errorf("after the end %q, %d before it, at %d (%d); it was %q, %d, at %d (%d)",
						lines(s), len(s.History), s.Offset, s.Revision, lines(before), len(before.History), before.Offset, before.Revision)
				}
				if s := v.screen(2); len(s.History) != min(2, len(before.History)) {
					t.Errorf("%d lines before it, of 2", len(s.History))
				}
				v.busy.Lock()
				if v.term != nil || (v.final == nil) != c.again {
					t.Errorf("a terminal %v, a screen %v", v.term != nil, v.final != nil)
				}
				v.busy.Unlock()
			}
		})
	}
}

// A panic in a snapshot or a search also leaves an empty screen that works.
func TestScreenThatCannotBeShown(t *testing.T) {
	v := play(32 << 20)
	v.says("one")
	before := v.screen(0).Revision
	v.term = new(screen.Terminal)
	if s := v.screen(0); !s.Approximate || s.Offset != 3 || s.Revision == before {
		t.Errorf("%+v", s)
	}
	broken := []*Pattern{{After: -1}}
	if at, _, hits := v.Poll(3, broken); at != 3 || hits != nil {
		t.Errorf("at %d, %v", at, hits)
	}
	v.says("two")
	if s := v.screen(0); lines(s) != "two" {
		t.Errorf("%q", lines(s))
	}
}

// Invisible state can change while the revision stays.
func TestScreenIsTheSame(t *testing.T) {
	v := play(32 << 20)
	for _, c := range []struct {
		text string
		same bool
	}{{"one", true}, {"", true}, {"\x1b[31m", false}, {"", false}, {"two", true}, {"\x1b[2;4r\x1b[1;7H", false}} {
		if c.text != "" {
			v.says(c.text)
		}
		if s := v.screen(0); s.Same != c.same {
			t.Errorf("%q: same is %t at %d, revision %d", c.text, s.Same, s.Offset, s.Revision)
		}
	}
}
