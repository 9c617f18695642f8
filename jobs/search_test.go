package jobs

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/spool"
)

// searchable is a manager with jobs that have so much in memory of each of their streams.
func searchable(memory int, outputs ...map[Stream]string) (*Manager, []SearchTarget) {
	m := newManager(slog.New(slog.DiscardHandler))
	for i, out := range outputs {
		j := &Job{id: ID(i + 1), mgr: m}
		for _, name := range []Stream{PTY, Stdout, Stderr} {
			if data, ok := out[name]; ok {
				st := &stream{name: name, spool: spool.New(memory)}
				st.spool.Append([]byte(data))
				j.streams = append(j.streams, st)
			}
		}
		j.public.Store(&Info{})
		m.jobs[j.id] = j
		m.last = j.id
	}
	return m, m.SearchTargets("")
}

// search is a search as the tests want it unless they say otherwise.
func search(t *testing.T, m *Manager, spec SearchSpec) SearchResult {
	t.Helper()
	if spec.MaxMatches == 0 {
		spec.MaxMatches = 100
	}
	if spec.MaxBytes == 0 {
		spec.MaxBytes = 1 << 20
	}
	if spec.Timeout == 0 {
		spec.Timeout = -1
	}
	if err := spec.Compile(); err != nil {
		t.Fatal(err)
	}
	res, err := m.Search(&spec, m.SearchTargets(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// told is where matches are: job, stream, offsets.
func told(all []SearchMatch) (list []string) {
	for _, m := range all {
		list = append(list, fmt.Sprintf("%d %s %d-%d", m.Job, m.Stream, m.Start, m.End))
	}
	return list
}

// page has all the matches of a search that is asked for in pages.
func page(t *testing.T, m *Manager, spec SearchSpec) (all []SearchMatch, pages int) {
	t.Helper()
	for {
		res := search(t, m, spec)
		all = append(all, res.Matches...)
		pages++
		if (res.Next == nil) != (res.End == SearchedAll) || pages > 5_000 {
			t.Fatalf("page %d ends with %q, and goes on at %+v", pages, res.End, res.Next)
		}
		if res.Next == nil {
			return all, pages
		}
		spec.Cursor = res.Next
	}
}

// searchLog is output with lines of all kinds, longer than what is read at once.
func searchLog(r *rand.Rand, size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		switch r.IntN(40) {
		case 0:
			fmt.Fprintf(&b, "\x1b[31mERROR\x1b[0m: number %d failed\r\n", i)
		case 1:
			fmt.Fprintf(&b, "10%%\r20%%\r30%% \xff\xfe of %d\n", i)
		case 2:
			fmt.Fprintf(&b, "\x1b]0;a title\nwith ERROR and a line break\x07")
		case 3:
			b.WriteString(strings.Repeat("long line ", r.IntN(3000)))
		case 4:
			b.WriteString("日本語 ERR")
			b.WriteString("\x1b[0mOR\n")
		default:
			fmt.Fprintf(&b, "line %d of the log%s\n", i, strings.Repeat(".", r.IntN(80)))
		}
	}
	return b.Bytes()
}

// watched are the matches that a set has that sees all of it, and skips what is not kept.
func watched(t *testing.T, spec SearchSpec, data []byte, kept []Range) (list []string) {
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
			list = append(list, fmt.Sprintf("1 pty %d-%d", h.Match.Start, h.Match.End))
		}
	}
	return list
}

var searches = []SearchSpec{
	{Literal: "ERROR"},
	{Literal: "error", Flags: "i"},
	{Literal: "ERROR", Raw: true},
	{Literal: "failed\r\n"},
	{Literal: "日本語 ERROR"},
	{Literal: "......................................................................."},
	{Pattern: `^ERROR: number (\d+)`, Flags: "m"},
	{Pattern: `\bERROR\b`},
	{Pattern: `(?<n>\d+) failed$`, Flags: "m"},
	{Pattern: `failed\s+line \d+`},
	{Pattern: `title[^]{0,40}`, Raw: true},
	{Pattern: `^line 0 `},
	{Pattern: `\d+ of the log.*\nlong line`, Raw: true},
}

// Forwards and backwards, in one go and in pages, the same is found: what a watch would have
// seen.
func TestSearchFindsWhatAWatchDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	size := 500 << 10
	if testing.Short() {
		size = 300 << 10 // still more than is kept
	}
	data := searchLog(r, size)
	for _, memory := range []int{4 << 20, 256 << 10} { // all of it; with a gap
		m, _ := searchable(memory, map[Stream]string{PTY: string(data)})
		kept := m.jobs[1].streams[0].spool.Kept()
		for _, spec := range searches {
			want := watched(t, spec, data, kept)
			for _, backwards := range []bool{false, true} {
				spec.Reverse = backwards
				for _, most := range []int{1_000_000, 1 + len(want)/3} {
					spec.MaxMatches, spec.MaxBytes = most, 1<<30
					got, pages := page(t, m, spec)
					if !slices.Equal(told(got), want) || pages != max((len(want)+most-1)/most, 1) {
						t.Errorf("%+v: %d matches in %d pages, want %d", spec, len(got), pages, len(want))
					}
				}
				slices.Reverse(want)
			}
		}
	}
}

// Jobs and their streams are searched in order; a page ends anywhere.
func TestSearchJobs(t *testing.T) {
	m, _ := searchable(1<<20,
		map[Stream]string{PTY: "x1\nx2\n"}, map[Stream]string{Stdout: "x3\n", Stderr: "no\nx4\n"}, map[Stream]string{}, map[Stream]string{Stdout: "", Stderr: "x5"})
	want := []string{"1 pty 0-1", "1 pty 3-4", "2 stdout 0-1", "2 stderr 3-4", "4 stderr 0-1"}
	back := slices.Clone(want)
	slices.Reverse(back)
	for most := 1; most < 7; most++ {
		for backwards, want := range map[bool][]string{false: want, true: back} {
			got, _ := page(t, m, SearchSpec{Literal: "x", MaxMatches: most, Reverse: backwards})
			if !slices.Equal(told(got), want) {
				t.Errorf("%d at a time, backwards %v: %v, want %v", most, backwards, told(got), want)
			}
		}
	}
	if got := told(search(t, m, SearchSpec{Literal: "x", Stream: Stderr}).Matches); !slices.Equal(got, want[3:]) {
		t.Errorf("in stderr alone: %v", got)
	}
	if got := told(search(t, m, SearchSpec{Literal: "x", From: ptr(int64(-3))}).Matches); !slices.Equal(got, want[1:]) {
		t.Errorf("in the last three bytes of each: %v", got)
	}
	delete(m.jobs, 2)
	gone := SearchSpec{Literal: "x", Cursor: &SearchPlace{Job: 2, Stream: Stdout, Offset: 1}}
	gone.Cursor.Search = m.searchKey(&gone, m.SearchTargets(""))
	if got := told(search(t, m, gone).Matches); !slices.Equal(got, want[4:]) {
		t.Errorf("from a job on that was removed: %v", got)
	}
}

// A removed job is passed over, also where it was there when the search began.
func TestSearchRemoved(t *testing.T) {
	m, targets := searchable(1<<20, map[Stream]string{PTY: "x"}, map[Stream]string{PTY: "x"})
	delete(m.jobs, 1)
	spec := SearchSpec{Literal: "x", MaxMatches: 9, MaxBytes: 99, Timeout: -1}
	if err := spec.Compile(); err != nil {
		t.Fatal(err)
	}
	res, err := m.Search(&spec, targets, nil)
	if got := told(res.Matches); err != nil || !slices.Equal(got, []string{"2 pty 0-1"}) {
		t.Errorf("%v, %v", got, err)
	}
}

// While output comes and the oldest is dropped, what is found is where it is said to be.
func TestSearchWhileOutputComes(t *testing.T) {
	m, _ := searchable(256<<10, map[Stream]string{PTY: ""})
	st := m.jobs[1].streams[0].spool
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
		spec := SearchSpec{Literal: "needle", Reverse: n%2 == 1, MaxMatches: 50, Context: 1}
		if n%4 > 1 {
			spec.Literal, spec.Pattern, spec.Flags = "", `\d+ needle$`, "m"
		}
		res := search(t, m, spec)
		for _, f := range res.Matches {
			at := f.Start / 16
			if spec.Literal != "" && f.Start%16 != 9 || spec.Literal == "" && f.Start%16 != 0 {
				t.Fatalf("a match at %d", f.Start)
			}
			// What is around it may be gone by the time at which it is read.
			if want := fmt.Sprintf("%08d needle", at); f.Line != want && !strings.HasSuffix(want, f.Line) && !strings.HasPrefix(want, f.Line) {
				t.Fatalf("the line at %d is %q", f.Start, f.Line)
			}
		}
		select {
		case <-over:
			if len(search(t, m, spec).Matches) != 50 {
				t.Error("less was found at the end")
			}
			return
		default:
		}
	}
}

// A search that is cancelled, or whose server ends, says so, while it runs and while it waits.
func TestSearchCanceled(t *testing.T) {
	m, _ := searchable(1<<20, map[Stream]string{PTY: "x"})
	canceled := make(chan struct{})
	close(canceled)
	spec := SearchSpec{Literal: "x", MaxMatches: 1, MaxBytes: 1, Timeout: time.Minute}
	if err := spec.Compile(); err != nil {
		t.Fatal(err)
	}
	for range 20 { // select has a choice
		if _, err := m.Search(&spec, m.SearchTargets(""), canceled); err == nil || err.Code != CodeCanceled {
			t.Fatalf("error %v", err)
		}
	}
	for range cap(m.searches) {
		m.searches <- struct{}{}
	}
	if _, err := m.Search(&spec, m.SearchTargets(""), canceled); err == nil || err.Code != CodeCanceled {
		t.Fatalf("error %v of one that waits", err)
	}
	close(m.ending)
	if _, err := m.Search(&spec, m.SearchTargets(""), nil); err == nil || err.Code != CodeShuttingDown {
		t.Fatalf("error %v of one that waits when the server ends", err)
	}
	<-m.searches
	if _, err := m.Search(&spec, m.SearchTargets(""), nil); err == nil || err.Code != CodeShuttingDown {
		t.Fatalf("error %v when the server ends", err)
	}
}

// A pattern that explodes ends its search.
func TestSearchPatternFails(t *testing.T) {
	m, _ := searchable(1<<20, map[Stream]string{PTY: strings.Repeat(strings.Repeat("a", 60)+"\n", 50)})
	defer match.StopClock()
	spec := SearchSpec{Pattern: `(a+)+b|(a*)*c|(?:a|a)*d`, MaxMatches: 1, MaxBytes: 1, Timeout: -1}
	if err := spec.Compile(); err != nil {
		t.Fatal(err)
	}
	_, err := m.Search(&spec, m.SearchTargets(""), nil)
	if err == nil || err.Code != CodeLimitExceeded || err.Limit != "patternTimeMs" || err.Max != match.TimeLimit.Milliseconds() {
		t.Fatalf("error %+v", err)
	}
}

func TestSearchCompile(t *testing.T) {
	for _, test := range []struct {
		spec    SearchSpec
		code    Code
		pointer string
	}{
		{SearchSpec{Pattern: "("}, CodeInvalidPattern, "/pattern"},
		{SearchSpec{Pattern: "a", Flags: "ii"}, CodeInvalidParams, "/flags"},
		{SearchSpec{Literal: "a", Flags: "m"}, CodeInvalidParams, "/flags"},
		{SearchSpec{Literal: "a", From: ptr(int64(40)), To: ptr(int64(10))}, CodeInvalidParams, "/from"},
		{SearchSpec{Pattern: "a", From: ptr(int64(-10)), To: ptr(int64(-40))}, CodeInvalidParams, "/from"},
		{SearchSpec{Pattern: `a\nb`, Lines: true}, CodeInvalidParams, "/pattern"},
		{SearchSpec{Pattern: `a[\s\S]*b`, Lines: true}, CodeInvalidParams, "/pattern"},
	} {
		if err := test.spec.Compile(); err == nil || err.Code != test.code || err.Pointer != test.pointer {
			t.Errorf("%+v: %+v", test.spec, err)
		}
	}
	long := SearchSpec{Literal: strings.Repeat("é.", 1024), Flags: "i"}
	if err := long.Compile(); err != nil {
		t.Errorf("a literal of 2048 characters: %v", err)
	}
}
