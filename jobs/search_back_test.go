package jobs

import (
	"strings"
	"testing"

	"shelld/jobs/internal/match"
)

// Backwards no more matches are held than can be told, as it does forwards: with many groups
// each has many texts.
func TestSearchBackwardsHolds(t *testing.T) {
	const groups, lines = 20, 30
	line := strings.Repeat("x", 2*maxSearchText) + "\n"
	m, targets := searchable(1<<20, map[Stream]string{Stdout: strings.Repeat(line, lines)})
	spec := SearchSpec{
		Pattern: strings.Repeat("(", groups) + ".+" + strings.Repeat(")", groups) + "\\n", Flags: "m",
		MaxMatches: 1000, MaxBytes: 400_000, Timeout: -1, Reverse: true,
	}
	if err := spec.Compile(); err != nil {
		t.Fatal(err)
	}
	s := &searching{SearchSpec: &spec}
	p := searchedStream{searching: s, job: targets[0].job, spool: targets[0].job.streams[0].spool, name: Stdout, end: targets[0].ends[0]}
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
	if one := (groups + 2) * (maxSearchText + textOverhead); most > spec.MaxBytes+one || most < spec.MaxBytes-one {
		t.Errorf("%d bytes are held for %d that are told", most, spec.MaxBytes)
	}
	// All of them are told all the same, in pages.
	for _, room := range []int{1, 200_000, 400_000} {
		spec.MaxBytes = room
		if all, _ := page(t, m, spec); len(all) != lines {
			t.Errorf("%d matches of %d, by %d bytes", len(all), lines, room)
		}
	}
}
