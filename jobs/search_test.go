package jobs

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
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
		if (res.Next == nil) != (res.End == SearchedAll) || pages > 100_000 {
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
func watched(t *testing.T, spec SearchSpec, data []byte, kept []spool.Range) (list []string) {
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
	data := searchLog(r, 500<<10)
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
	next := &SearchPlace{2, Stdout, 1, false}
	if got := told(search(t, m, SearchSpec{Literal: "x", Cursor: next}).Matches); !slices.Equal(got, want[4:]) {
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

// What is not kept is told, once, and what is kept on both sides of it is found.
func TestSearchGap(t *testing.T) {
	data := "first line\n" + strings.Repeat("y", 1<<20) + "\nlast line\n"
	m, _ := searchable(256<<10, map[Stream]string{PTY: data})
	kept := m.jobs[1].streams[0].spool.Kept()
	if len(kept) != 2 {
		t.Fatalf("%v is kept", kept)
	}
	gap := SearchGap{1, PTY, Range{kept[0].To, kept[1].From}}
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
		if want := []SearchGap{{1, PTY, Range{gap.From + 10, gap.From + 20}}}; len(res.Matches) > 0 || !slices.Equal(res.Gaps, want) {
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

func TestSearchLines(t *testing.T) {
	output := "one\r\n\x1b[1mtwo\x1b[0m\r\nthree\n10%\r20%\rdone\n\nsix\nseven \xff x"
	m, _ := searchable(1<<20, map[Stream]string{PTY: output})
	for _, test := range []struct {
		spec   SearchSpec
		line   string
		before []string
		after  []string
	}{
		{SearchSpec{Literal: "two"}, "two", nil, nil},
		{SearchSpec{Literal: "two", Context: 1}, "two", []string{"one"}, []string{"three"}},
		{SearchSpec{Literal: "two", Context: 3}, "two", []string{"one"}, []string{"three", "10%", "20%"}},
		{SearchSpec{Literal: "one", Context: 1, To: ptr(int64(9))}, "one", []string{}, []string{"two"}},
		{SearchSpec{Literal: "20", Context: 2}, "20%", []string{"three", "10%"}, []string{"done", ""}},
		{SearchSpec{Literal: "six", Context: 2}, "six", []string{"done", ""}, []string{"seven \uFFFD x"}},
		{SearchSpec{Literal: "x", Context: 2, From: ptr(int64(-1))}, "seven \uFFFD x", []string{"", "six"}, nil},
		{SearchSpec{Pattern: `two\s+three\n`, Context: 1}, "two", []string{"one"}, []string{"10%"}},
		{SearchSpec{Pattern: `two\s+thr`, Context: 1}, "two", []string{"one"}, []string{"10%"}},
		{SearchSpec{Literal: "\n10", Context: 1}, "three", []string{"two"}, []string{"20%"}},
		{SearchSpec{Literal: "\x1b[0m", Raw: true, Context: 1}, "two", []string{"one"}, []string{"three"}},
	} {
		res := search(t, m, test.spec)
		if len(res.Matches) != 1 {
			t.Errorf("%+v: %v", test.spec, told(res.Matches))
			continue
		}
		got := res.Matches[0]
		if got.Line != test.line || !slices.Equal(got.Before, test.before) || !slices.Equal(got.After, test.after) {
			t.Errorf("%+v: %q, before %q, after %q; want %q, %q, %q", test.spec, got.Line, got.Before, got.After, test.line, test.before, test.after)
		}
	}
}

// A long line is told around the match, and costs no more than others.
func TestSearchLongLine(t *testing.T) {
	data := "short\n" + strings.Repeat("é", 100_000) + "needle" + strings.Repeat("ü", 100_000) + "\nnext\n"
	m, _ := searchable(1<<20, map[Stream]string{PTY: data})
	res := search(t, m, SearchSpec{Literal: "needle", Context: 1})
	got := res.Matches[0]
	if len(got.Line) > maxSearchLine || len(got.Line) < maxSearchLine-4 || strings.Count(got.Line, "é") < 1000 || !strings.Contains(got.Line, "needleü") || strings.Contains(got.Line, "\uFFFD") {
		t.Errorf("%d bytes of the line: %.20q", len(got.Line), got.Line)
	}
	if len(got.Before) > 0 || got.After != nil {
		t.Errorf("the lines around it are too far away: %.20q %.20q", got.Before, got.After)
	}
	res = search(t, m, SearchSpec{Literal: "next", Context: 1})
	if got := res.Matches[0].Before; len(got) != 0 {
		t.Errorf("of a line that begins nobody knows where: %.20q", got)
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
		if got := res.Matches; len(got) != 1 || !got[0].Cut || len(got[0].Text) > 10 || len(*got[0].Groups[0]) > 10 {
			t.Errorf("one that is too long: %+v", got)
		}
	}
}

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
	if err == nil || err.Code != CodeLimitExceeded || err.Limit != "patternTimeMs" || err.Max != 50 {
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

// A search of lines finds what is in a line, from wherever it goes on, and no more.
func TestSearchLineByLine(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d without a colon\r\n", i)
		if i%5000 == 4999 {
			fmt.Fprintf(&b, "src/a.c:%d:3: error: no\r\n", i)
		}
	}
	data := b.String()
	m, _ := searchable(4<<20, map[Stream]string{PTY: data})
	var want []string
	for at := 0; ; {
		i := strings.Index(data[at:], "src/")
		if i < 0 {
			break
		}
		at += i + 1
		want = append(want, fmt.Sprintf("1 pty %d-%d", at-1, at-1+strings.Index(data[at-1:], ": no")))
	}
	back := slices.Clone(want)
	slices.Reverse(back)
	for _, flags := range []string{"m", "", "i", "s"} {
		for most := 1; most < 6; most++ {
			spec := SearchSpec{Pattern: `^[^:]+:\d+:\d+:\s+(error|warning)`, Flags: flags, Lines: true, MaxMatches: most}
			if got, _ := page(t, m, spec); !slices.Equal(told(got), want) || got[0].Line != "src/a.c:4999:3: error: no" || got[0].Limited {
				t.Errorf("%q, %d at a time: %v, want %v", flags, most, told(got), want)
			}
			spec.Reverse = true
			if got, _ := page(t, m, spec); !slices.Equal(told(got), back) {
				t.Errorf("%q, %d at a time, backwards: %v, want %v", flags, most, told(got), back)
			}
		}
	}
	m, _ = searchable(4<<20, map[Stream]string{PTY: strings.Repeat(strings.Repeat("x", 8000)+"\n", 12) + ":1\n"})
	res := search(t, m, SearchSpec{Pattern: `^[^:]+:\d+`, Flags: "m", MaxMatches: 1})
	if !res.Matches[0].Limited {
		t.Errorf("over line ends: %+v", res.Matches[0])
	}
}

// By line, forwards, backwards and in pages the same is found, and none of it reaches over a line end.
func TestSearchLinesBothWays(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 6))
	data := searchLog(r, 500<<10)
	// For lines of 30 KB these patterns take a tenth of their time, and all of it under the race detector.
	data = regexp.MustCompile("(?:long line ){300,}").ReplaceAll(data, bytes.Repeat([]byte("long line "), 300))
	for _, memory := range []int{4 << 20, 256 << 10} { // all of it; with a gap
		m, _ := searchable(memory, map[Stream]string{PTY: string(data)})
		for _, pattern := range []string{`^[^:]+: number \d+`, `[^d]+failed\s*$`, `\D+\d+ of`, `(?<=of the) log\s*`, `^\s*\S+\s+\d+\s`} {
			spec := SearchSpec{Pattern: pattern, Lines: true, MaxMatches: 1_000_000, MaxBytes: 1 << 30}
			all := search(t, m, spec).Matches
			want := told(all)
			if len(want) < 10 {
				t.Fatalf("/%s/ has %d matches", pattern, len(want))
			}
			for _, f := range all {
				if strings.Contains(f.Text, "\n") {
					t.Fatalf("/%s/ reaches over a line end: %q", pattern, f.Text)
				}
			}
			for _, backwards := range []bool{false, true} {
				spec.Reverse = backwards
				for _, most := range []int{1_000_000, 1 + len(want)/3} {
					spec.MaxMatches = most
					if got, _ := page(t, m, spec); !slices.Equal(told(got), want) {
						t.Errorf("/%s/ backwards %v, %d at a time: %d matches, want %d", pattern, backwards, most, len(got), len(want))
					}
				}
				slices.Reverse(want)
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

// A cursor that this search cannot have had is refused; that of a job which was removed is not.
func TestSearchForeignCursor(t *testing.T) {
	m, _ := searchable(1<<20, map[Stream]string{Stdout: "x", Stderr: "x"}, map[Stream]string{Stdout: "x"}, map[Stream]string{Stdout: "x"})
	m.jobs[3].spec.Group = "g"
	for _, test := range []struct {
		spec    SearchSpec
		group   string
		pointer string
	}{
		{SearchSpec{Cursor: &SearchPlace{1, Stderr, 1, false}}, "", ""},
		{SearchSpec{Cursor: &SearchPlace{1, PTY, 0, false}}, "", "/cursor/stream"},
		{SearchSpec{Cursor: &SearchPlace{77, Stdout, 0, false}}, "", "/cursor/handle"},
		{SearchSpec{Cursor: &SearchPlace{1, Stdout, 2, false}}, "", "/cursor/offset"},
		{SearchSpec{Cursor: &SearchPlace{1, Stdout, 0, true}}, "", "/cursor/reverse"},
		{SearchSpec{Cursor: &SearchPlace{1, Stdout, 0, false}, Reverse: true}, "", "/cursor/reverse"},
		{SearchSpec{Cursor: &SearchPlace{1, Stdout, 0, false}, Stream: Stderr}, "", "/cursor/stream"},
		{SearchSpec{Cursor: &SearchPlace{1, Stdout, 0, false}}, "g", "/cursor/handle"},
		{SearchSpec{Cursor: &SearchPlace{2, Stdout, 0, false}}, "", ""},
	} {
		if test.spec.Cursor.Job == 2 {
			delete(m.jobs, 2)
		}
		test.spec.Literal, test.spec.MaxMatches, test.spec.MaxBytes, test.spec.Timeout = "x", 9, 99, -1
		if err := test.spec.Compile(); err != nil {
			t.Fatal(err)
		}
		_, err := m.Search(&test.spec, m.SearchTargets(test.group), nil)
		switch {
		case test.pointer == "" && err != nil:
			t.Errorf("%+v: %v", test.spec.Cursor, err)
		case test.pointer != "" && (err == nil || err.Code != CodeInvalidParams || err.Pointer != test.pointer):
			t.Errorf("%+v: %+v, want %s", test.spec.Cursor, err, test.pointer)
		}
	}
}

// Of a line that is cut the match says so, also where it stands around.
func TestSearchSaysThatLinesAreCut(t *testing.T) {
	long := strings.Repeat("x", 5000)
	m, _ := searchable(1<<20, map[Stream]string{PTY: "a needle\n" + long + " pin\nb needle\nend\n" + strings.Repeat("y", 4096) + "\nc"})
	for _, test := range []struct {
		spec SearchSpec
		want bool
	}{
		{SearchSpec{Literal: "a needle"}, false}, {SearchSpec{Literal: "a needle", Context: 1}, true},
		{SearchSpec{Literal: "pin"}, true}, {SearchSpec{Literal: "b needle", Context: 1}, true},
		{SearchSpec{Literal: "end", Context: 1}, false}, {SearchSpec{Literal: "y", MaxMatches: 1}, false},
	} {
		if got := search(t, m, test.spec).Matches[0].Cut; got != test.want {
			t.Errorf("%+v: %v", test.spec, got)
		}
	}
}
