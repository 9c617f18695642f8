package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// longLines returns output with lines that are longer than a match may be, with some numbers in them. From short on, no
// line is.
func longLines(r *rand.Rand) (text string, short int64) {
	var b strings.Builder
	number := func() { fmt.Fprintf(&b, "<%d>", b.Len()) }
	for i := range 8 {
		switch i % 3 {
		case 0:
			b.WriteString(strings.Repeat("a", 60<<10+r.IntN(60<<10)))
			number()
		case 1:
			b.WriteString(strings.Repeat("ab ", 20<<10+r.IntN(20<<10)))
			number()
			b.WriteString("b")
		case 2:
			b.WriteString(strings.Repeat("b", r.IntN(300)))
		}
		if i%4 != 0 {
			b.WriteString("\n")
		}
	}
	b.WriteString("\n")
	short = int64(b.Len())
	for range 20 {
		b.WriteString(strings.Repeat("ab ", r.IntN(2000)))
		number()
		b.WriteString("b\n")
	}
	return b.String(), short
}

// Both directions find the same, in lines of any length. Pages of any size find the same in lines that are no longer
// than a match may be, and the same short matches in all lines. If pages split a longer line into other matches, one of
// these is reported as limited.
func TestLongLines(t *testing.T) {
	text, short := longLines(rand.New(rand.NewPCG(10, 8)))
	s := newStreams(2*len(text), text)
	patterns := []string{`<\d+>`, `a.*<`, `[ab ]+$`, `.+`, `^.*b$`}
	pages := []int{1_000_000, 1}
	if testing.Short() {
		patterns, pages = patterns[:2], pages[:1] // One goroutine computes here.
	}
	for _, pattern := range patterns {
		spec := query{Pattern: pattern, Flags: "m", Lines: true, MaxMatches: 1_000_000, MaxBytes: 1 << 30}
		all := find(t, s, spec).Matches
		for _, most := range pages {
			for _, spec.Reverse = range []bool{false, true} {
				spec.MaxMatches = most
				got, _ := page(t, s, spec)
				if spec.Reverse {
					slices.Reverse(got)
				}
				name := fmt.Sprintf("%s, backwards %v, pages of %d", pattern, spec.Reverse, most)
				whole := func(s found) bool { return s.Start >= short || pattern == `<\d+>` }
				if a, b := places(all, whole), places(got, whole); !slices.Equal(a, b) || len(a) < 20 {
					t.Errorf("%s: %d matches that are not limited, and not %d:\n%v\n%v", name, len(b), len(a), b, a)
				}
				if most == 1_000_000 && !slices.Equal(places(all, everywhere), places(got, everywhere)) {
					t.Errorf("%s: at once it finds\n%v\nand not\n%v", name, places(got, everywhere), places(all, everywhere))
				}
				differ(t, name, text, all, got)
				differ(t, name, text, got, all)
			}
		}
	}
}

func everywhere(found) bool { return true }

// places returns the offsets of matches, and whether each is limited.
func places(all []found, which func(found) bool) (places []string) {
	for _, m := range all {
		if which(m) {
			places = append(places, fmt.Sprint(m.Start, "-", m.End, " ", m.Limited))
		}
	}
	return places
}

// differ checks that each match that is not among others is on a line with a limited match.
func differ(t *testing.T, name, text string, some, others []found) {
	t.Helper()
	line := func(off int64) int { return strings.LastIndexByte(text[:off], '\n') }
	limited := map[int]bool{}
	for _, m := range slices.Concat(some, others) {
		limited[line(m.Start)] = limited[line(m.Start)] || m.Limited
	}
	for _, m := range some {
		same := func(o found) bool { return o.Start == m.Start && o.End == m.End }
		if !limited[line(m.Start)] && !slices.ContainsFunc(others, same) {
			t.Errorf("%s: %d to %d is found in one order only, and nothing is limited on its line", name, m.Start, m.End)
		}
	}
}
