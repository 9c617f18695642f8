package search

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/searchtest"
	"shelld.dev/shelld/jobs/internal/spool"
)

// From and To bound only the offsets at which matches begin.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 2))
	data := searchtest.Log(r, 400<<10)
	s := newStreams(4<<20, string(data))
	for _, spec := range queries() {
		all := find(t, s, query{Literal: spec.Literal, Pattern: spec.Pattern, Flags: spec.Flags, Raw: spec.Raw, MaxMatches: 1_000_000, MaxBytes: 1 << 30}).Matches
		for range 6 {
			from, to := r.Int64N(int64(len(data))), r.Int64N(int64(len(data)))
			if len(all) > 0 && r.IntN(2) == 0 {
				from, to = all[r.IntN(len(all))].End, all[r.IntN(len(all))].Start+1
			}
			from, to = min(from, to), max(from, to)
			want := offsets(slices.DeleteFunc(slices.Clone(all), func(m found) bool { return m.Start < from || m.Start >= to }))
			spec.From, spec.To, spec.MaxMatches, spec.MaxBytes = &from, &to, 1_000_000, 1<<30
			if inside := slices.IndexFunc(all, func(m found) bool { return m.Start < from && m.End > from }); inside >= 0 {
				continue // a search from within a match may find another one there
			}
			if got := offsets(find(t, s, spec).Matches); !slices.Equal(got, want) {
				t.Errorf("%+v from %d to %d: %d matches, want %d", spec, from, to, len(got), len(want))
			}
			spec.Reverse = true
			slices.Reverse(want)
			if got := offsets(find(t, s, spec).Matches); !slices.Equal(got, want) {
				t.Errorf("%+v from %d to %d: %d matches, want %d", spec, from, to, len(got), len(want))
			}
			spec.Reverse = false
		}
	}
}

// A gap is reported once, and matches on both sides of it are found.
func TestGap(t *testing.T) {
	data := "first line\n" + strings.Repeat("y", 1<<20) + "\nlast line\n"
	s := newStreams(256<<10, data)
	kept := s[0].Kept()
	if len(kept) != 2 {
		t.Fatalf("%v is kept", kept)
	}
	gap := spool.Range{From: kept[0].To, To: kept[1].From}
	for _, spec := range []query{{Literal: "line"}, {Pattern: `^\w+ line$`, Flags: "m"}, {Pattern: `line\n`}} {
		res := find(t, s, spec)
		if len(res.Matches) != 2 || !slices.Equal(res.Gaps, []spool.Range{gap}) {
			t.Errorf("%+v: %v, gaps %v, want 2 and %v", spec, offsets(res.Matches), res.Gaps, gap)
		}
		spec.Reverse = true
		back := find(t, s, spec)
		slices.Reverse(back.Matches)
		if !slices.Equal(offsets(back.Matches), offsets(res.Matches)) || !slices.Equal(back.Gaps, []spool.Range{gap}) {
			t.Errorf("%+v: %v, gaps %v", spec, offsets(back.Matches), back.Gaps)
		}
	}
	inside := query{Literal: "line", From: new(gap.From + 10), To: new(gap.From + 20)}
	for range 2 {
		res := find(t, s, inside)
		if want := []spool.Range{{From: gap.From + 10, To: gap.From + 20}}; len(res.Matches) > 0 || !slices.Equal(res.Gaps, want) {
			t.Errorf("inside the gap: %v, gaps %v", offsets(res.Matches), res.Gaps)
		}
		inside.Reverse = true
	}
	if res := find(t, s, query{Pattern: `y\n?l?`, From: new(kept[1].From), MaxMatches: 1}); res.Matches[0].Start != kept[1].From {
		t.Errorf("behind the gap: %v", offsets(res.Matches))
	}
	if res := find(t, s, query{Pattern: `^y`, Flags: "m"}); len(res.Matches) != 1 {
		t.Errorf("a line begins where a gap ends: %v", offsets(res.Matches))
	}
}

// MaxBytes ends a page. One match is returned in any case.
func TestMaxBytes(t *testing.T) {
	s := newStreams(1<<20, strings.Repeat(strings.Repeat("x", 90)+"needle\n", 50))
	for _, backwards := range []bool{false, true} {
		spec := query{Literal: "needle", MaxBytes: 1000, Reverse: backwards}
		res := find(t, s, spec)
		if n := len(res.Matches); n < 5 || n > 10 || res.End != FullBytes {
			t.Errorf("%d matches, end %q", n, res.End)
		}
		all, _ := page(t, s, spec)
		spec.MaxBytes = 1 << 20
		if !slices.Equal(offsets(all), offsets(find(t, s, spec).Matches)) || len(all) != 50 {
			t.Errorf("%d matches in pages", len(all))
		}
		res = find(t, s, query{Pattern: `(x+)(needle)`, MaxBytes: 40, Reverse: backwards})
		if got := res.Matches; len(got) != 1 || !got[0].Cut || len(got[0].Text) > 10 || len(*got[0].Groups[0]) > 10 {
			t.Errorf("one that is too long: %+v", got)
		}
	}
}

// A timeout ends a search, and the next page continues it.
func TestTimeout(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 3))
	data := searchtest.Log(r, 600<<10)
	s := newStreams(4<<20, string(data), "ERROR")
	for _, spec := range []query{{Literal: "ERROR"}, {Pattern: `\bERROR\b`}, {Pattern: `^.*R: number`}} {
		for _, backwards := range []bool{false, true} {
			spec.Reverse, spec.Late, spec.MaxMatches, spec.MaxBytes = backwards, nil, 1_000_000, 1<<30
			want := offsets(find(t, s, spec).Matches)
			spec.Late = func() bool { return true } // as soon as there is progress
			got, pages := page(t, s, spec)
			if !slices.Equal(offsets(got), want) || pages < 3 {
				t.Errorf("%+v: %d matches in %d pages, want %d", spec, len(got), pages, len(want))
			}
		}
	}
}
