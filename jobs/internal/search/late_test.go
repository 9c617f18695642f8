package search

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// lateLog returns output in which lines that match are among those that almost do, far enough apart that most of it is
// skipped. The last line that the pattern has to look at is well before the end.
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

// Whenever the time is over, at any check of the clock, the pages together find the same as a search without a timeout.
func TestTimeoutAtAnyPoint(t *testing.T) {
	short := lateLog(20 << 10)
	forwards := newStreams(1<<20, lateLog(50<<10), lateLog(10<<10), short)
	// A search in reverse has no timeout in its first block.
	backwards := newStreams(1<<20, short, lateLog(blockSize+(50<<10)))
	step := 1
	if testing.Short() {
		step = 4
	}
	for _, spec := range []query{
		{Pattern: `foo\d+bar`, Lines: true},
		{Pattern: `foo[^q]\d*bar`, Flags: "m", Lines: true},
		{Pattern: `\w*oo\d+bar`, Flags: "m"},
		{Pattern: `foo\d+bar\s`},
		{Pattern: `[^q]oo\d+bar,\s\d of`, Flags: "i"},
		{Literal: "foo"},
		{Literal: "2 of them\n"},
	} {
		for i, s := range []streams{forwards, backwards} {
			spec := spec
			spec.Reverse, spec.MaxMatches, spec.MaxBytes = i == 1, 1_000_000, 1<<30
			want := offsets(find(t, s, spec).Matches)
			if len(want) < 3 {
				t.Fatalf("%+v: %d matches are too few", spec, len(want))
			}
			for n := 1; ; n += step {
				got, pages := lateAt(t, s, spec, n)
				if !slices.Equal(got, want) {
					t.Errorf("%+v, timeout at check %d: %d matches in %d pages, want %d", spec, n, len(got), pages, len(want))
				}
				if pages == 1 || t.Failed() {
					break
				}
			}
		}
	}
}

// lateAt returns all matches of a search each of whose pages times out at the n-th check of the clock.
func lateAt(t *testing.T, s streams, spec query, n int) (all []string, pages int) {
	t.Helper()
	for pages = 1; pages < 5_000; pages++ {
		asked := 0
		spec.Late = func() bool { asked++; return asked >= n }
		res := find(t, s, spec)
		all = append(all, offsets(res.Matches)...)
		if res.Next == nil {
			return all, pages
		}
		if res.End != TimedOut {
			t.Fatalf("a page ends with %q", res.End)
		}
		spec.Cursor = res.Next
	}
	t.Fatalf("timeout at check %d: no end after %d pages", n, pages)
	return nil, 0
}
