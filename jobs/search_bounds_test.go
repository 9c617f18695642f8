package jobs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shelld/jobs/internal/spool"
)

// Offsets bound where matches begin, and nothing else.
func TestSearchRange(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 2))
	data := searchLog(r, 400<<10)
	m, _ := searchable(4<<20, map[Stream]string{PTY: string(data)})
	for _, spec := range searches {
		all := search(t, m, SearchSpec{Literal: spec.Literal, Pattern: spec.Pattern, Flags: spec.Flags, Raw: spec.Raw, MaxMatches: 1_000_000, MaxBytes: 1 << 30}).Matches
		for range 6 {
			from, to := r.Int64N(int64(len(data))), r.Int64N(int64(len(data)))
			if len(all) > 0 && r.IntN(2) == 0 {
				from, to = all[r.IntN(len(all))].End, all[r.IntN(len(all))].Start+1
			}
			from, to = min(from, to), max(from, to)
			want := told(slices.DeleteFunc(slices.Clone(all), func(m SearchMatch) bool { return m.Start < from || m.Start >= to }))
			spec.From, spec.To, spec.MaxMatches, spec.MaxBytes = &from, &to, 1_000_000, 1<<30
			if inside := slices.IndexFunc(all, func(m SearchMatch) bool { return m.Start < from && m.End > from }); inside >= 0 {
				continue // what begins in the middle of a match may match there as well
			}
			if got := told(search(t, m, spec).Matches); !slices.Equal(got, want) {
				t.Errorf("%+v from %d to %d: %d matches, want %d", spec, from, to, len(got), len(want))
			}
			spec.Reverse = true
			slices.Reverse(want)
			if got := told(search(t, m, spec).Matches); !slices.Equal(got, want) {
				t.Errorf("%+v from %d to %d: %d matches, want %d", spec, from, to, len(got), len(want))
			}
			spec.Reverse = false
		}
	}
}

// What is not kept is told, once, and what is kept on both sides of it is found.
func TestSearchGap(t *testing.T) {
	data := "first line\n" + strings.Repeat("y", 1<<20) + "\nlast line\n"
	m, _ := searchable(256<<10, map[Stream]string{PTY: data})
	kept := m.jobs[1].streams[0].spool.Kept()
	if len(kept) != 2 {
		t.Fatalf("%v is kept", kept)
	}
	gap := SearchGap{1, PTY, Range{From: kept[0].To, To: kept[1].From}}
	for _, spec := range []SearchSpec{{Literal: "line"}, {Pattern: `^\w+ line$`, Flags: "m"}, {Pattern: `line\n`}} {
		res := search(t, m, spec)
		if len(res.Matches) != 2 || !slices.Equal(res.Gaps, []SearchGap{gap}) {
			t.Errorf("%+v: %v, gaps %v, want 2 and %v", spec, told(res.Matches), res.Gaps, gap)
		}
		spec.Reverse = true
		back := search(t, m, spec)
		slices.Reverse(back.Matches)
		if !slices.Equal(told(back.Matches), told(res.Matches)) || !slices.Equal(back.Gaps, []SearchGap{gap}) {
			t.Errorf("%+v: %v, gaps %v", spec, told(back.Matches), back.Gaps)
		}
	}
	inside := SearchSpec{Literal: "line", From: ptr(gap.From + 10), To: ptr(gap.From + 20)}
	for range 2 {
		res := search(t, m, inside)
		if want := []SearchGap{{1, PTY, Range{From: gap.From + 10, To: gap.From + 20}}}; len(res.Matches) > 0 || !slices.Equal(res.Gaps, want) {
			t.Errorf("inside the gap: %v, gaps %v", told(res.Matches), res.Gaps)
		}
		inside.Reverse = true
	}
	if res := search(t, m, SearchSpec{Pattern: `y\n?l?`, From: ptr(kept[1].From), MaxMatches: 1}); res.Matches[0].Start != kept[1].From {
		t.Errorf("behind the gap: %v", told(res.Matches))
	}
	if res := search(t, m, SearchSpec{Pattern: `^y`, Flags: "m"}); len(res.Matches) != 1 {
		t.Errorf("a line begins where a gap ends: %v", told(res.Matches))
	}
}

// A budget of bytes ends a page; one match is told in any case.
func TestSearchBytes(t *testing.T) {
	m, _ := searchable(1<<20, map[Stream]string{PTY: strings.Repeat(strings.Repeat("x", 90)+"needle\n", 50)})
	for _, backwards := range []bool{false, true} {
		spec := SearchSpec{Literal: "needle", MaxBytes: 1000, Reverse: backwards}
		res := search(t, m, spec)
		if n := len(res.Matches); n < 5 || n > 10 || res.End != SearchFullBytes {
			t.Errorf("%d matches, end %q", n, res.End)
		}
		all, _ := page(t, m, spec)
		spec.MaxBytes = 1 << 20
		if !slices.Equal(told(all), told(search(t, m, spec).Matches)) || len(all) != 50 {
			t.Errorf("%d matches in pages", len(all))
		}
		res = search(t, m, SearchSpec{Pattern: `(x+)(needle)`, MaxBytes: 40, Reverse: backwards})
		if got := res.Matches; len(got) != 1 || !got[0].Cut || len(got[0].Text) > 10 || len(deref(t, got[0].Groups[0])) > 10 {
			t.Errorf("one that is too long: %+v", got)
		}
	}
}

// Time that is over ends a search, which the next one goes on with.
func TestSearchTime(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 3))
	data := searchLog(r, 600<<10)
	m, _ := searchable(4<<20, map[Stream]string{PTY: string(data)}, map[Stream]string{PTY: "ERROR"})
	for _, spec := range []SearchSpec{{Literal: "ERROR"}, {Pattern: `\bERROR\b`}, {Pattern: `^.*R: number`}} {
		for _, backwards := range []bool{false, true} {
			spec.Reverse, spec.Timeout, spec.MaxMatches, spec.MaxBytes = backwards, -1, 1_000_000, 1<<30
			want := told(search(t, m, spec).Matches)
			spec.Timeout = 1 // nanosecond: over at once, but for what brings it on
			got, pages := page(t, m, spec)
			if !slices.Equal(told(got), want) || pages < 3 {
				t.Errorf("%+v: %d matches in %d pages, want %d", spec, len(got), pages, len(want))
			}
		}
	}
}

// What was looked at is told, of each page what it has looked at.
func TestSearchTellsHowMuch(t *testing.T) {
	data := "first\n" + strings.Repeat("y", 1<<20) + "\nlast\n"
	m, _ := searchable(256<<10, map[Stream]string{PTY: data}, map[Stream]string{Stdout: "first\n", Stderr: ""}, map[Stream]string{})
	kept := spool.Length(m.jobs[1].streams[0].spool.Kept())
	for _, backwards := range []bool{false, true} {
		res := search(t, m, SearchSpec{Literal: "nowhere", Reverse: backwards})
		if res.Jobs != 2 || res.Bytes != kept+6 {
			t.Errorf("backwards %v: %d jobs, %d bytes, want 2 and %d", backwards, res.Jobs, res.Bytes, kept+6)
		}
		res = search(t, m, SearchSpec{Literal: "nowhere", From: ptr(int64(2)), To: ptr(int64(4)), Reverse: backwards})
		if res.Jobs != 2 || res.Bytes != 4 {
			t.Errorf("a part: %d jobs, %d bytes", res.Jobs, res.Bytes)
		}
		spec, bytes := SearchSpec{Literal: "st\n", MaxMatches: 1, Reverse: backwards}, int64(0)
		for {
			res = search(t, m, spec)
			if bytes += res.Bytes; res.Next == nil {
				break
			}
			spec.Cursor = res.Next
		}
		if bytes < kept+6 || bytes > kept+6+6 {
			t.Errorf("in pages %d bytes, want about %d", bytes, kept+6)
		}
	}
	if res := search(t, m, SearchSpec{Literal: "x", From: ptr(int64(1 << 40))}); res.Bytes != 0 {
		t.Errorf("behind the end %d bytes", res.Bytes)
	}
}
