package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/searchtest"
	"shelld.dev/shelld/jobs/internal/spool"
)

// A query is a search in the form that the tests use.
type query struct {
	Literal, Pattern, Flags string
	Raw, Lines              bool
	From, To                *int64
	Reverse                 bool
	Context                 int
	MaxMatches, MaxBytes    int
	Cursor                  *cursor
	Late                    func() bool
}

// A cursor is a place in one of several streams.
type cursor struct {
	stream int
	Place
}

// A found is a match in one of several streams.
type found struct {
	stream int
	Match
}

// A result holds the results of a search in all streams.
type result struct {
	Matches []found
	Gaps    []spool.Range
	End     End
	Next    *cursor
	Bytes   int64
}

type streams []*spool.Spool

// newStreams returns streams with these outputs. Each keeps as many bytes as memory allows.
func newStreams(memory int, outputs ...string) (all streams) {
	for _, out := range outputs {
		s := spool.New(memory)
		s.Append([]byte(out))
		all = append(all, s)
	}
	return all
}

// find runs a search, with defaults for the limits that a query does not set.
func find(t *testing.T, all streams, q query) result {
	t.Helper()
	res, err := tryFind(t, all, q)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func tryFind(t *testing.T, all streams, q query) (res result, err error) {
	t.Helper()
	r := newRun(t, q)
	for i := range all {
		if q.Reverse {
			i = len(all) - 1 - i
		}
		var at *Place
		if c := q.Cursor; c != nil {
			if c.stream != i && (c.stream < i) == q.Reverse {
				continue
			}
			if c.stream == i {
				at = &c.Place
			}
		}
		in := r.Search(all[i], all[i].End(), at)
		for _, m := range in.Matches {
			res.Matches = append(res.Matches, found{i, m})
		}
		res.Gaps = append(res.Gaps, in.Gaps...)
		res.Bytes += in.Bytes
		if in.Next != nil {
			res.Next = &cursor{i, *in.Next}
		}
		if r.Ended() {
			break
		}
	}
	res.End = r.End
	return res, r.Err
}

func newRun(t *testing.T, q query) *Run {
	t.Helper()
	compiled := searchtest.Query{Literal: q.Literal, Pattern: q.Pattern, Flags: q.Flags, Raw: q.Raw, Lines: q.Lines}.Compile(t)
	spec := Spec{Query: compiled, Raw: q.Raw, From: q.From, To: q.To, Reverse: q.Reverse, Context: q.Context, MaxMatches: q.MaxMatches, MaxBytes: q.MaxBytes}
	if spec.MaxMatches == 0 {
		spec.MaxMatches = 100
	}
	if spec.MaxBytes == 0 {
		spec.MaxBytes = 1 << 20
	}
	return &Run{Spec: spec, Stop: func() error { return nil }, Late: q.Late}
}

// queries returns the queries that all tests of searches share.
func queries() (all []query) {
	for _, q := range searchtest.Queries {
		all = append(all, query{Literal: q.Literal, Pattern: q.Pattern, Flags: q.Flags, Raw: q.Raw})
	}
	return all
}

// offsets returns the streams and offsets of matches.
func offsets(all []found) (list []string) {
	for _, m := range all {
		list = append(list, fmt.Sprintf("%d %d-%d", m.stream, m.Start, m.End))
	}
	return list
}

// page returns all matches of a search that is requested in pages.
func page(t *testing.T, s streams, q query) (all []found, pages int) {
	t.Helper()
	for {
		res := find(t, s, q)
		all = append(all, res.Matches...)
		pages++
		if (res.Next == nil) != (res.End == All) || pages > 5_000 {
			t.Fatalf("page %d ends with %q, and continues at %+v", pages, res.End, res.Next)
		}
		if res.Next == nil {
			return all, pages
		}
		q.Cursor = res.Next
	}
}

// watched returns the matches of a set that gets all output except for the gaps.
func watched(t *testing.T, spec query, data []byte, kept []spool.Range) (list []string) {
	t.Helper()
	source, flags := spec.Pattern, spec.Flags
	if spec.Literal != "" {
		source = match.Escape(spec.Literal)
	}
	p, err := match.Compile(source, flags)
	if err != nil {
		t.Fatal(err)
	}
	set := match.NewSet(0)
	set.Add(0, p, match.Options{Raw: spec.Raw})
	for _, k := range kept {
		hits := set.Settle()
		if n := k.From - set.Offset(); n > 0 {
			set.Skip(n)
		}
		hits = append(hits, set.Feed(data[k.From:k.To])...)
		for _, h := range append(hits, set.Settle()...) {
			if h.Removed != nil {
				t.Fatal(h.Removed)
			}
			list = append(list, fmt.Sprintf("0 %d-%d", h.Match.Start, h.Match.End))
		}
	}
	return list
}

// A search finds the same in both directions, in one page or in several: the matches that a watch finds.
func TestSearchEqualsWatch(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	size := 500 << 10
	if testing.Short() {
		size = 300 << 10 // still more than is kept
	}
	data := searchtest.Log(r, size)
	for _, memory := range []int{4 << 20, 256 << 10} { // all of it; with a gap
		s := newStreams(memory, string(data))
		kept := s[0].Kept()
		for _, spec := range queries() {
			want := watched(t, spec, data, kept)
			for _, backwards := range []bool{false, true} {
				spec.Reverse = backwards
				for _, most := range []int{1_000_000, 1 + len(want)/3} {
					spec.MaxMatches, spec.MaxBytes = most, 1<<30
					got, pages := page(t, s, spec)
					if !slices.Equal(offsets(got), want) || pages != max((len(want)+most-1)/most, 1) {
						t.Errorf("%+v: %d matches in %d pages, want %d", spec, len(got), pages, len(want))
					}
				}
				slices.Reverse(want)
			}
		}
	}
}

// While output is appended and the oldest is dropped, matches have correct offsets.
func TestSearchDuringOutput(t *testing.T) {
	s := newStreams(256<<10, "")
	st := s[0]
	begun, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for i := range 200_000 {
			st.Append(fmt.Appendf(nil, "%08d needle\n", i))
			if i == 50_000 {
				close(begun)
			}
		}
	}()
	<-begun
	for n := 0; ; n++ {
		spec := query{Literal: "needle", Reverse: n%2 == 1, MaxMatches: 50, Context: 1}
		if n%4 > 1 {
			spec.Literal, spec.Pattern, spec.Flags = "", `\d+ needle$`, "m"
		}
		res := find(t, s, spec)
		for _, f := range res.Matches {
			at := f.Start / 16
			if spec.Literal != "" && f.Start%16 != 9 || spec.Literal == "" && f.Start%16 != 0 {
				t.Fatalf("a match at %d", f.Start)
			}
			// The output around the match may be dropped before it is read.
			if want := fmt.Sprintf("%08d needle", at); f.Line != want && !strings.HasSuffix(want, f.Line) && !strings.HasPrefix(want, f.Line) {
				t.Fatalf("the line at %d is %q", f.Start, f.Line)
			}
		}
		select {
		case <-over:
			if len(find(t, s, spec).Matches) != 50 {
				t.Error("less was found at the end")
			}
			return
		default:
		}
	}
}
