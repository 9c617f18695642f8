package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shelld/jobs/internal/match"
)

// Backwards no more matches are held than can be told, as it does forwards: with many groups
// each has many texts.
func TestSearchBackwardsHolds(t *testing.T) {
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
		held.add(p.told(m))
		bytes := 0
		for i := range held.all {
			bytes += held.all[i].cost()
		}
		most = max(most, bytes)
		return true
	})
	if one := (groups + 2) * (maxText + textOverhead); most > spec.MaxBytes+one || most < spec.MaxBytes-one {
		t.Errorf("%d bytes are held for %d that are told", most, spec.MaxBytes)
	}
	// All of them are told all the same, in pages.
	for _, room := range []int{1, 200_000, 400_000} {
		spec.MaxBytes = room
		if all, _ := page(t, s, spec); len(all) != lines {
			t.Errorf("%d matches of %d, by %d bytes", len(all), lines, room)
		}
	}
}

// backLog is output in which one line in twenty matches what TestSearchBackwardsGetsOn looks for.
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

// Backwards, with less time than a block takes, each answer gets on, be it by a mark, and all of
// them together look at little more than one would.
func TestSearchBackwardsGetsOn(t *testing.T) {
	// Beyond 8 MiB nothing of one block was ever known in time. Patterns take the race detector long.
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
				t.Skip("no other code runs for a text than for a pattern but what looks for it")
			}
			s := newStreams(2*size, string(test.output))
			spec := test.spec
			spec.MaxMatches, spec.MaxBytes = 1_000_000, 1<<30
			want := told(find(t, s, spec).Matches)
			slices.Reverse(want)
			for _, most := range []int{1_000_000, 1 + len(want)/10} {
				spec.MaxMatches, spec.Reverse, spec.Cursor = most, true, nil
				spec.Late = func() bool { return true } // as soon as it may be
				chain(t, s, spec, want, int64(size))
			}
			// What one answer cannot tell is not looked through from the beginning for the next.
			spec.Cursor, spec.Late, spec.MaxMatches = nil, nil, 10
			c := find(t, s, spec).Next
			if n := len(c.Marks); n == 0 || c.Offset-c.Marks[n-1] > int64(size/4) {
				t.Errorf("an answer that is full goes on at %+v", c)
			}
		})
	}
}

// chain asks for one answer after another, and holds what they cost together against the output.
func chain(t *testing.T, s streams, spec query, want []string, size int64) {
	t.Helper()
	var got []string
	var bytes, marks int64
	for pages := 1; ; pages++ {
		res := find(t, s, spec)
		got, bytes = append(got, told(res.Matches)...), bytes+res.Bytes
		if res.Next == nil {
			break
		}
		marks = max(marks, int64(len(res.Next.Marks)))
		if c := spec.Cursor; c != nil && res.Next.Offset == c.Offset && slices.Equal(res.Next.Marks, c.Marks) {
			t.Fatalf("answer %d goes on where it began, at %+v", pages, c)
		}
		if bytes > 6*size || marks > 32 {
			t.Fatalf("%d answers have looked at %d bytes of %d, with %d marks", pages, bytes, size, marks)
		}
		spec.Cursor = res.Next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d matches, want %d", len(got), len(want))
	}
	t.Logf("%d matches: %.1f times the output, %d marks at most", len(got), float64(bytes)/float64(size), marks)
}
