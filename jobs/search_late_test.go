package jobs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// lateLog is output in which lines that match are among those that only seem to, far enough apart
// that most of it is passed over, and in which the last line that the pattern is asked about lies well
// before the end.
func lateLog(size int) string {
	var b bytes.Buffer
	filler := strings.Repeat("goes on and on, ", 60) + "\n"
	for i := 0; b.Len() < size; i++ {
		switch {
		case i%40 == 11:
			fmt.Fprintf(&b, "foo%dbar and foo%dbar, %d of them\n", i, i+1, 2)
		case i%40 == 12, i%40 == 29:
			fmt.Fprintf(&b, "foo %d bar\n", i)
		default:
			b.WriteString(filler)
		}
	}
	return b.String()
}

// Whenever it is that time is over, at whichever question for it, the answers together tell what one
// does that has all the time.
func TestSearchLateAtAnyPoint(t *testing.T) {
	short := map[Stream]string{PTY: lateLog(20 << 10)}
	forwards, _ := searchable(1<<20, map[Stream]string{Stdout: lateLog(50 << 10), Stderr: lateLog(10 << 10)}, short)
	// A search backwards is never late in the first block.
	backwards, _ := searchable(1<<20, short, map[Stream]string{PTY: lateLog(searchBlock + (50 << 10))})
	step := 1
	if testing.Short() {
		step = 4
	}
	for _, spec := range []SearchSpec{
		{Pattern: `foo\d+bar`, Lines: true},
		{Pattern: `foo[^q]\d*bar`, Flags: "m", Lines: true},
		{Pattern: `\w*oo\d+bar`, Flags: "m"},
		{Pattern: `foo\d+bar\s`},
		{Pattern: `[^q]oo\d+bar,\s\d of`, Flags: "i"},
		{Literal: "foo"},
		{Literal: "2 of them\n"},
	} {
		for _, m := range []*Manager{forwards, backwards} {
			spec := spec
			spec.Reverse, spec.MaxMatches, spec.MaxBytes = m == backwards, 1_000_000, 1<<30
			want := told(search(t, m, spec).Matches)
			if len(want) < 3 {
				t.Fatalf("%+v: %d matches are too few", spec, len(want))
			}
			for n := 1; ; n += step {
				got, pages := lateAt(t, m, spec, n)
				if !slices.Equal(got, want) {
					t.Errorf("%+v, late at question %d: %d matches in %d answers, want %d", spec, n, len(got), pages, len(want))
				}
				if pages == 1 || t.Failed() {
					break
				}
			}
		}
	}
}

// lateAt has all matches of a search of which each answer is late at the n-th question for the time.
func lateAt(t *testing.T, m *Manager, spec SearchSpec, n int) (all []string, pages int) {
	t.Helper()
	if err := spec.Compile(); err != nil {
		t.Fatal(err)
	}
	for pages = 1; pages < 5_000; pages++ {
		asked := 0
		s := searching{SearchSpec: &spec, late: func() bool { asked++; return asked >= n }}
		if s.targets(m, m.SearchTargets("")); s.err != nil {
			t.Fatal(s.err)
		}
		all = append(all, told(s.res.Matches)...)
		if s.res.Next == nil {
			return all, pages
		}
		if s.res.End != SearchTimedOut {
			t.Fatalf("an answer ends with %q", s.res.End)
		}
		spec.Cursor = s.res.Next
	}
	t.Fatalf("late at question %d: %d answers, and no end", n, pages)
	return nil, 0
}
