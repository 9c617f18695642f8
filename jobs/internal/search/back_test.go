package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/match"
)

// A search in reverse holds no more matches than fit into a page, also if each has many groups.
func TestReverseHoldsOnlyOnePage(t *testing.T) {
	const groups, lines = 20, 30
	line := strings.Repeat("x", 2*maxText) + "\n"
	s := newStreams(1<<20, strings.Repeat(line, lines))
	spec := query{
		Pattern: strings.Repeat("(", groups) + ".+" + strings.Repeat(")", groups) + "\\n", Flags: "m",
		MaxMatches: 1000, MaxBytes: 400_000, Reverse: true,
	}
	p := stream{Run: newRun(t, spec), spool: s[0], end: s[0].End()}
	held, most := newest{most: spec.MaxMatches, room: spec.MaxBytes}, 0
	p.pass(0, p.end, func(m *match.Match) bool {
		held.add(newMatch(m))
		bytes := 0
		for i := range held.all {
			bytes += held.all[i].cost()
		}
		most = max(most, bytes)
		return true
	})
	if one := (groups + 2) * (maxText + textOverhead); most > spec.MaxBytes+one || most < spec.MaxBytes-one {
		t.Errorf("%d bytes are held for a page of %d", most, spec.MaxBytes)
	}
	// In pages it returns all of them.
	for _, room := range []int{1, 200_000, 400_000} {
		spec.MaxBytes = room
		if all, _ := page(t, s, spec); len(all) != lines {
			t.Errorf("%d matches of %d, by %d bytes", len(all), lines, room)
		}
	}
}

// backLog returns output in which one line in twenty matches the queries of TestReverseMakesProgress.
func backLog(size int, line string) []byte {
	r := rand.New(rand.NewPCG(10, 7))
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		what := "goes on"
		if r.IntN(20) == 0 {
			what = "failed"
		}
		fmt.Fprintf(&b, line, i, what, strings.Repeat(".", r.IntN(300)))
	}
	return b.Bytes()
}

// If the time is too short for a block, each page of a search in reverse still makes progress, even if only by a mark.
// All pages together search little more than one page would.
func TestReverseMakesProgress(t *testing.T) {
	// A block has 8 MiB at most. Patterns are slow under the race detector.
	const large, small = 10 << 20, 3 << 20
	const lines, oneLine = "step %d %s\nafter %s\n", "step %d %s after %s "
	for _, test := range []struct {
		name   string
		output []byte
		spec   query
	}{
		{"a text over line ends", backLog(large, lines), query{Literal: "failed\nafter"}},
		{"a pattern over line ends", backLog(small, lines), query{Pattern: `failed\s+after`}},
		{"one line", backLog(large, oneLine), query{Literal: "failed after"}},
		{"one line, a pattern", backLog(small, oneLine), query{Pattern: `failed\s+after`, Flags: "m", Lines: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			size := len(test.output)
			if testing.Short() && size > 4<<20 {
				t.Skip("a literal differs from a pattern only in the code that finds it")
			}
			s := newStreams(2*size, string(test.output))
			spec := test.spec
			spec.MaxMatches, spec.MaxBytes = 1_000_000, 1<<30
			want := offsets(find(t, s, spec).Matches)
			slices.Reverse(want)
			for _, most := range []int{1_000_000, 1 + len(want)/10} {
				spec.MaxMatches, spec.Reverse, spec.Cursor = most, true, nil
				spec.Late = func() bool { return true } // time out as soon as possible
				chain(t, s, spec, want, int64(size))
			}
			// The next page does not begin again at the start for the matches that did not fit into this one.
			spec.Cursor, spec.Late, spec.MaxMatches = nil, nil, 10
			c := find(t, s, spec).Next
			if n := len(c.Marks); n == 0 || c.Offset-c.Marks[n-1] > int64(size/4) {
				t.Errorf("a full page continues at %+v", c)
			}
		})
	}
}

// chain requests one page after another, and compares their total cost with the size of the output.
func chain(t *testing.T, s streams, spec query, want []string, size int64) {
	t.Helper()
	var got []string
	var bytes, marks int64
	for pages := 1; ; pages++ {
		res := find(t, s, spec)
		got, bytes = append(got, offsets(res.Matches)...), bytes+res.Bytes
		if res.Next == nil {
			break
		}
		marks = max(marks, int64(len(res.Next.Marks)))
		if c := spec.Cursor; c != nil && res.Next.Offset == c.Offset && slices.Equal(res.Next.Marks, c.Marks) {
			t.Fatalf("page %d continues where it began, at %+v", pages, c)
		}
		if bytes > 6*size || marks > 32 {
			t.Fatalf("%d pages have searched %d bytes of %d, with %d marks", pages, bytes, size, marks)
		}
		spec.Cursor = res.Next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d matches, want %d", len(got), len(want))
	}
	t.Logf("%d matches: %.1f times the output, %d marks at most", len(got), float64(bytes)/float64(size), marks)
}
