package jobs

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/search"
	"shelld.dev/shelld/jobs/internal/spool"
)

// searchable returns a manager with jobs with these outputs. Each stream keeps as many bytes as memory allows.
func searchable(memory int, outputs ...map[Stream]string) (*Manager, []SearchTarget) {
	m := newManager(slog.New(slog.DiscardHandler))
	for i, out := range outputs {
		j := withParts(&actor{Job: Job{base: base{id: ID(i + 1), mgr: &m.services}}})
		for _, name := range []Stream{PTY, Stdout, Stderr} {
			if data, ok := out[name]; ok {
				st := &stream{name: name, spool: spool.New(memory)}
				st.spool.Append([]byte(data))
				j.output.streams = append(j.output.streams, st)
			}
		}
		j.public.Store(&Info{})
		m.registry.jobs[j.id] = &j.Job
		m.registry.last = j.id
	}
	return m, m.SearchTargets("")
}

// runSearch runs a search, with defaults for the limits.
func runSearch(t *testing.T, m *Manager, spec SearchSpec) SearchResult {
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

// told returns the place of each match: job, stream, offsets.
func told(all []SearchMatch) (list []string) {
	for _, m := range all {
		list = append(list, fmt.Sprintf("%d %s %d-%d", m.Job, m.Stream, m.Start, m.End))
	}
	return list
}

// page returns all matches of a search that is run in pages, and the number of pages.
func page(t *testing.T, m *Manager, spec SearchSpec) (all []SearchMatch, pages int) {
	t.Helper()
	for {
		res := runSearch(t, m, spec)
		all = append(all, res.Matches...)
		pages++
		if (res.Next == nil) != (res.End == search.All) || pages > 5_000 {
			t.Fatalf("page %d ends with %q, and goes on at %+v", pages, res.End, res.Next)
		}
		if res.Next == nil {
			return all, pages
		}
		spec.Cursor = res.Next
	}
}

// Jobs and their streams are searched in order. A page may end anywhere.
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
	if got := told(runSearch(t, m, SearchSpec{Literal: "x", Stream: Stderr}).Matches); !slices.Equal(got, want[3:]) {
		t.Errorf("in stderr alone: %v", got)
	}
	if got := told(runSearch(t, m, SearchSpec{Literal: "x", From: ptr(int64(-3))}).Matches); !slices.Equal(got, want[1:]) {
		t.Errorf("in the last three bytes of each: %v", got)
	}
	delete(m.registry.jobs, 2)
	gone := SearchSpec{Literal: "x", Cursor: &SearchPlace{Job: 2, Stream: Stdout, Offset: 1}}
	gone.Cursor.Search = m.searchKey(&gone, m.SearchTargets(""))
	if got := told(runSearch(t, m, gone).Matches); !slices.Equal(got, want[4:]) {
		t.Errorf("from a job on that was removed: %v", got)
	}
}

// A removed job is skipped, even if it is removed after the search has begun.
func TestSearchRemoved(t *testing.T) {
	m, targets := searchable(1<<20, map[Stream]string{PTY: "x"}, map[Stream]string{PTY: "x"})
	delete(m.registry.jobs, 1)
	spec := SearchSpec{Literal: "x", MaxMatches: 9, MaxBytes: 99, Timeout: -1}
	if err := spec.Compile(); err != nil {
		t.Fatal(err)
	}
	res, err := m.Search(&spec, targets, nil)
	if got := told(res.Matches); err != nil || !slices.Equal(got, []string{"2 pty 0-1"}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A cancel or a shutdown ends a search with the corresponding error, while it runs and while it waits for a slot.
func TestSearchCanceled(t *testing.T) {
	m, _ := searchable(1<<20, map[Stream]string{PTY: "x"})
	canceled := make(chan struct{})
	close(canceled)
	spec := SearchSpec{Literal: "x", MaxMatches: 1, MaxBytes: 1, Timeout: time.Minute}
	if err := spec.Compile(); err != nil {
		t.Fatal(err)
	}
	for range 20 { // select may choose another case
		if _, err := m.Search(&spec, m.SearchTargets(""), canceled); err == nil || err.Code != CodeCanceled {
			t.Fatalf("error %v", err)
		}
	}
	for range cap(m.searches.slots) {
		m.searches.slots <- struct{}{}
	}
	if _, err := m.Search(&spec, m.SearchTargets(""), canceled); err == nil || err.Code != CodeCanceled {
		t.Fatalf("error %v of one that waits", err)
	}
	close(m.end.begun)
	if _, err := m.Search(&spec, m.SearchTargets(""), nil); err == nil || err.Code != CodeShuttingDown {
		t.Fatalf("error %v of one that waits when the server ends", err)
	}
	<-m.searches.slots
	if _, err := m.Search(&spec, m.SearchTargets(""), nil); err == nil || err.Code != CodeShuttingDown {
		t.Fatalf("error %v when the server ends", err)
	}
}

// A pattern that exceeds its time limit ends the search.
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

// The result has the number of jobs and bytes searched, for each page separately.
func TestSearchTellsHowMuch(t *testing.T) {
	data := "first\n" + strings.Repeat("y", 1<<20) + "\nlast\n"
	m, _ := searchable(256<<10, map[Stream]string{PTY: data}, map[Stream]string{Stdout: "first\n", Stderr: ""}, map[Stream]string{})
	kept := spool.Length(m.registry.jobs[1].output.streams[0].spool.Kept())
	for _, backwards := range []bool{false, true} {
		res := runSearch(t, m, SearchSpec{Literal: "nowhere", Reverse: backwards})
		if res.Jobs != 2 || res.Bytes != kept+6 {
			t.Errorf("backwards %v: %d jobs, %d bytes, want 2 and %d", backwards, res.Jobs, res.Bytes, kept+6)
		}
		res = runSearch(t, m, SearchSpec{Literal: "nowhere", From: ptr(int64(2)), To: ptr(int64(4)), Reverse: backwards})
		if res.Jobs != 2 || res.Bytes != 4 {
			t.Errorf("a part: %d jobs, %d bytes", res.Jobs, res.Bytes)
		}
		spec, bytes := SearchSpec{Literal: "st\n", MaxMatches: 1, Reverse: backwards}, int64(0)
		for {
			res = runSearch(t, m, spec)
			if bytes += res.Bytes; res.Next == nil {
				break
			}
			spec.Cursor = res.Next
		}
		if bytes < kept+6 || bytes > kept+6+6 {
			t.Errorf("in pages %d bytes, want about %d", bytes, kept+6)
		}
	}
	if res := runSearch(t, m, SearchSpec{Literal: "x", From: ptr(int64(1 << 40))}); res.Bytes != 0 {
		t.Errorf("behind the end %d bytes", res.Bytes)
	}
}
