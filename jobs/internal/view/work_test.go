package view

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/screen"
)

// A played terminal draws the output of a test.
type played struct {
	*View
	scanner *screen.Scanner
	ended   chan struct{}
}

// play returns a terminal of 80 columns and 24 rows that keeps memory bytes of output.
func play(memory int) *played { return playSized(80, 24, memory) }

func playSized(cols, rows int, memory int) *played {
	p := &played{scanner: screen.NewScanner(""), ended: make(chan struct{})}
	sizes := &Sizes{}
	sizes.Note(0, cols, rows)
	p.View = New(Source{
		Spool: spool.New(memory), Sizes: sizes, Queries: &Queries{}, Told: p.scanner.Told, Ended: p.ended,
		Log: slog.New(slog.DiscardHandler),
	})
	return p
}

func (p *played) says(output string) {
	p.scanner.Scan([]byte(output))
	p.src.Spool.Append([]byte(output))
}

// screen draws all output.
func (p *played) screen(history int) Screen { return p.Show(p.src.Spool.End(), history, nil) }

// end closes the terminal.
func (p *played) end() {
	close(p.ended)
	p.Release(p.src.Spool.End())
}

// viewOf returns a view of a terminal of this size with this output, which the scanner has not seen.
func viewOf(cols, rows int, output []byte) (v *View, end int64) {
	p := playSized(cols, rows, 32<<20)
	p.src.Spool.Append(output)
	return p.View, p.src.Spool.End()
}

const (
	largest = 512               // the largest number of rows, and of columns
	beyond  = 3 * largest * 600 // a slice may exceed its limit by the work of one sequence
)

// hostile has outputs that take as much work as possible.
var hostile = map[string]string{
	"clear":   strings.Repeat("\x1b[41m\x1b[2J\x1b[42m\x1b[2J", 3000),
	"lines":   "\x1b[?69h\x1b[2;900s\x1b[999;2H" + strings.Repeat("\n", 40_000),
	"repeat":  "\x1b[?69h\x1b[2;3s" + strings.Repeat("x\x1b[65535b", 5000),
	"resets":  strings.Repeat("\x1b#8\x1bc", 10_000),
	"modes":   strings.Repeat("\x1bc", lagBytes/2),
	"palette": strings.Repeat("\x1b]104\a", lagBytes/6),
	"far":     strings.Repeat("\x1bc\n", lagBytes),
}

// The work of a call is bounded for any output, and so is that of a slice, for which other callers wait.
func TestScreenWork(t *testing.T) {
	for name, output := range hostile {
		t.Run(name, func(t *testing.T) {
			v, end := viewOf(largest, largest, []byte(output))
			turns, last := 0, int64(0)
			shown := v.Show(end, 0, func() bool {
				turns++
				if did := v.term.Work() - last; did > sliceWork+beyond {
					t.Errorf("%d were done in one turn", did)
				}
				last = v.term.Work()
				return true
			})
			if most := callWork + 4*extraWork + 5*beyond; v.term.Work() > int64(most) {
				t.Errorf("%d were done", v.term.Work())
			}
			if shown.Offset != end || !shown.Approximate || turns < callWork/(sliceWork+beyond) {
				t.Errorf("at %d of %d, approximate %t, in %d turns", shown.Offset, end, shown.Approximate, turns)
			}
			v.src.Spool.Append([]byte("\x1bcgood"))
			if s := v.Show(end+6, 0, nil); lines(s) != "good" || s.Approximate {
				t.Errorf("then %q, approximate %t", lines(s), s.Approximate)
			}
		})
	}
}

// The newest output is shown exactly if it is little work by itself.
func TestScreenWorkNewest(t *testing.T) {
	v, end := viewOf(largest, largest, []byte(hostile["clear"]+strings.Repeat("\x1b[m\r\n", newestBytes/5)+"\x1b[2J\x1b[Hgood"))
	if s := v.Show(end, 0, nil); lines(s) != "good" || s.Approximate || !v.incomplete {
		t.Errorf("%.99q, approximate %t, incomplete %t", lines(s), s.Approximate, v.incomplete)
	}
}

// The output of usual programs is drawn in full up to lagBytes.
func TestScreenWorkOfPrograms(t *testing.T) {
	frame := func(colour string) string {
		var b strings.Builder
		for row := range 80 {
			fmt.Fprintf(&b, "\x1b[%d;1H%s\x1b[K%5d \x1b[33mfunc\x1b[39m %s\x1b[K", row+1, colour, row, strings.Repeat("text ", 30))
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		cols, rows int
		output     string
	}{
		"log":        {200, 50, "2026-01-02 10:00:00 INFO request done in 3 ms, 200, /api/v1/items\r\n"},
		"short":      {200, 50, "y\r\n"},
		"colours":    {120, 40, "\x1b[32mok\x1b[0m \x1b[1;34mpackage\x1b[0m \x1b[38;5;9mx\x1b[39m\r\n"},
		"editor":     {300, 80, frame("\x1b[44m")},
		"cleared":    {300, 80, "\x1b[2J" + frame("")},
		"scrolled":   {300, 80, "\x1b[44m\x1b[1;79r\x1b[79;1H\n\x1b[79;1H" + strings.Repeat("text ", 12) + "\x1b[K\x1b[r\x1b[80;1Hstatus"},
		"inserted":   {300, 80, "\x1b[2;70r\x1b[2;1H\x1b[L" + strings.Repeat("text ", 10) + "\x1b[r"},
		"two panes":  {300, 80, "\x1b[?69h\x1b[1;149s\x1b[79;1H\n" + strings.Repeat("many words ", 12) + "\x1b[?69l"},
		"characters": {200, 50, "日本語のテキスト、漢字とかな。\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			v, end := viewOf(c.cols, c.rows, bytes.Repeat([]byte(c.output), lagBytes/len(c.output)))
			if s := v.Show(end, 0, nil); s.Approximate || v.incomplete {
				t.Error("not all was drawn")
			}
			t.Logf("%d %% of what may be done", 100*v.term.Work()/callWork)
		})
	}
}

// Drawing stops when the caller no longer wants the screen.
func TestScreenCanceled(t *testing.T) {
	for turns := range int64(3) {
		v, end := viewOf(largest, largest, []byte(hostile["clear"]))
		left, begin := turns, v.term.Work()
		if s := v.Show(end, 0, func() bool { left--; return left >= 0 }); s.Snapshot != nil {
			t.Error("a screen was made")
		}
		if did := v.term.Work() - begin; v.next >= end || did < turns*sliceWork || did > turns*(sliceWork+beyond) {
			t.Errorf("%d of %d were drawn, with %d work in %d turns", v.next, end, did, turns)
		}
	}
}

// The work of resizing counts, too.
func TestScreenWorkOfSizes(t *testing.T) {
	v, _ := viewOf(largest, largest, nil)
	for i := range maxSizes {
		v.src.Spool.Append([]byte(strings.Repeat("\x1b[41mx\x1b[K\r\n", 600)))
		v.src.Sizes.Note(v.src.Spool.End(), largest-i, largest-1)
	}
	s := v.Show(v.src.Spool.End(), 0, nil)
	if most := callWork + 4*extraWork + 10*beyond; v.term.Work() > int64(most) {
		t.Errorf("%d were done", v.term.Work())
	}
	if s.Cols != largest-maxSizes+1 || !s.Approximate {
		t.Errorf("%d columns, approximate %t", s.Cols, s.Approximate)
	}
}

// Queries are answered even if their output is too much work to draw.
func TestScreenWorkAnswers(t *testing.T) {
	v, end := viewOf(largest, largest, []byte(strings.Repeat(hostile["modes"][:lagBytes/3]+asks, 3)))
	for i := range 3 {
		to := end / 3 * int64(i+1)
		v.src.Queries.Add([]screen.Query{{From: to - int64(len(asks)), To: to, Screen: true}}, 3)
	}
	v.Show(end, 0, nil)
	for _, q := range v.src.Queries.pending {
		if got := v.src.Queries.answers[q.To]; len(got) == 0 {
			t.Errorf("the query at %d has no answer", q.From)
		}
	}
}
