package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A cursor that this search cannot have returned is refused. The cursor of a removed job is not.
func TestSearchForeignCursor(t *testing.T) {
	m, _ := searchable(1<<20, map[Stream]string{Stdout: "x", Stderr: "x"}, map[Stream]string{Stdout: "x"}, map[Stream]string{Stdout: "x"})
	m.registry.jobs[3].spec.Group = "g"
	for _, test := range []struct {
		spec    SearchSpec
		group   string
		pointer string
	}{
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stderr, Offset: 1}}, "", ""},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: PTY, Offset: 0}}, "", "/cursor/stream"},
		{SearchSpec{Cursor: &SearchPlace{Job: 77, Stream: Stdout, Offset: 0}}, "", "/cursor/handle"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 2}}, "", "/cursor/offset"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 0, Reverse: true}}, "", "/cursor/reverse"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 0}, Reverse: true}, "", "/cursor/reverse"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 0}, Stream: Stderr}, "", "/cursor/stream"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 0}}, "g", "/cursor/handle"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Marks: []int64{0}}}, "", "/cursor/marks"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 1, Reverse: true, Marks: []int64{1}}, Reverse: true}, "", "/cursor/marks"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 1, Reverse: true, Marks: []int64{0}}, Reverse: true}, "", ""},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 0, End: 1}, From: ptr(int64(-1))}, "", ""},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 0, End: 1}, From: ptr(int64(0))}, "", "/cursor/end"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 0}, To: ptr(int64(-1))}, "", "/cursor/end"},
		{SearchSpec{Cursor: &SearchPlace{Job: 1, Stream: Stdout, Offset: 0, End: 2}, To: ptr(int64(-1))}, "", "/cursor/end"},
		{SearchSpec{Cursor: &SearchPlace{Job: 2, Stream: Stdout, Offset: 0}}, "", ""},
	} {
		if test.spec.Cursor.Job == 2 {
			delete(m.registry.jobs, 2)
		}
		test.spec.Literal, test.spec.MaxMatches, test.spec.MaxBytes, test.spec.Timeout = "x", 9, 99, -1
		if err := test.spec.Compile(); err != nil {
			t.Fatal(err)
		}
		test.spec.Group = test.group
		targets := m.SearchTargets(test.group)
		test.spec.Cursor.Search = m.searchKey(&test.spec, targets)
		_, err := m.Search(&test.spec, targets, nil)
		switch {
		case test.pointer == "" && err != nil:
			t.Errorf("%+v: %v", test.spec.Cursor, err)
		case test.pointer != "" && (err == nil || err.Code != CodeInvalidParams || err.Pointer != test.pointer):
			t.Errorf("%+v: %+v, want %s", test.spec.Cursor, err, test.pointer)
		}
	}
}

// While a job writes, offsets from the end stay relative to the end at the first page of the stream: otherwise the
// pages would skip the output between their ends.
func TestSearchCursorKeepsTheEnd(t *testing.T) {
	const line = "a needle\n" // 9 bytes, with the match at 2
	count := func(spec SearchSpec) (all []string) {
		m, _ := searchable(1<<20, map[Stream]string{Stdout: strings.Repeat(line, 100), Stderr: strings.Repeat(line, 100)})
		spec.Literal, spec.MaxMatches = "needle", 7
		for {
			res := runSearch(t, m, spec)
			all = append(all, told(res.Matches)...)
			if spec.Cursor = res.Next; res.Next == nil {
				return all
			}
			for _, st := range m.registry.jobs[1].output.streams {
				if st.spool.End() < 10_000 {
					st.spool.Append([]byte(strings.Repeat(line, 30)))
				}
			}
		}
	}
	lines := func(stream Stream, from, to int) (all []string) {
		for i := from; i < to; i++ {
			all = append(all, fmt.Sprintf("1 %s %d-%d", stream, 9*i+2, 9*i+8))
		}
		return all
	}
	at := func(lines int) *int64 { return ptr(int64(9 * lines)) }
	for _, test := range []struct {
		spec     SearchSpec
		from, to int // lines
	}{
		{SearchSpec{From: at(-50), To: at(-20)}, 50, 80},
		{SearchSpec{To: at(-20)}, 0, 80},
		{SearchSpec{From: at(-50), To: at(90)}, 50, 90},
		{SearchSpec{From: at(-50)}, 50, 1120}, // up to the end at the last page
		{SearchSpec{From: at(-50), Reverse: true}, 50, 100},
		{SearchSpec{From: at(-50), To: at(-20), Reverse: true}, 50, 80},
		{SearchSpec{From: at(30), To: at(-20), Reverse: true}, 30, 80},
	} {
		test.spec.Stream = Stdout
		want := lines(Stdout, test.from, test.to)
		if test.spec.Reverse {
			slices.Reverse(want)
		}
		if got := count(test.spec); !slices.Equal(got, want) {
			t.Errorf("%s: %d matches %v, want %d", bounds(test.spec), len(got), got, len(want))
		}
	}
	// A later stream has its own end, so that the same amount of it is searched.
	for _, backwards := range []bool{false, true} {
		got := count(SearchSpec{From: at(-50), To: at(-20), Reverse: backwards})
		if len(got) != 60 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 60 {
			t.Errorf("both streams, backwards %v: %d matches %v, want 30 of each", backwards, len(got), got)
		}
	}
}

// A cursor is valid only for its own search: another search would skip the output before the cursor, and the client
// would take the answer for the rest. The size of the pages may change.
func TestSearchCursorIsOfOneSearch(t *testing.T) {
	output := map[Stream]string{Stdout: "x1 x2\nX3 x4\n"}
	m, _ := searchable(1<<20, output, output)
	first := SearchSpec{Pattern: "x", Flags: "m", Lines: true, From: ptr(int64(1)), To: ptr(int64(11)), MaxMatches: 1}
	res := runSearch(t, m, first)
	if res.Next == nil {
		t.Fatal("there is no cursor")
	}
	try := func(m *Manager, targets []SearchTarget, change func(*SearchSpec)) *Error {
		spec := first
		spec.Cursor, spec.MaxBytes, spec.Timeout = res.Next, 1<<20, -1
		change(&spec)
		if err := spec.Compile(); err != nil {
			t.Fatal(err)
		}
		_, err := m.Search(&spec, targets, nil)
		return err
	}
	for name, change := range map[string]func(*SearchSpec){
		"pattern":   func(s *SearchSpec) { s.Pattern = "[x]" },
		"literal":   func(s *SearchSpec) { s.Pattern, s.Literal, s.Flags, s.Lines = "", "x", "", false },
		"flags":     func(s *SearchSpec) { s.Flags = "mi" },
		"on":        func(s *SearchSpec) { s.Raw = true },
		"multiline": func(s *SearchSpec) { s.Lines = false },
		"stream":    func(s *SearchSpec) { s.Stream = Stdout },
		"from":      func(s *SearchSpec) { s.From = ptr(int64(0)) },
		"no from":   func(s *SearchSpec) { s.From = nil },
		"to":        func(s *SearchSpec) { s.To = ptr(int64(10)) },
		"group":     func(s *SearchSpec) { s.Group = "g" },
	} {
		err := try(m, m.SearchTargets(""), change)
		if err == nil || err.Code != CodeInvalidParams || err.Pointer != "/cursor/search" || !strings.Contains(err.Message, "give a cursor from an answer to this search") {
			t.Errorf("with another %s: %+v", name, err)
		}
	}
	one := m.SearchTargets("")[:1]
	one[0].release = func() {}
	if err := try(m, one, func(*SearchSpec) {}); err == nil || err.Pointer != "/cursor/search" {
		t.Errorf("with a handle: %+v", err)
	}
	other, _ := searchable(1<<20, output, output)
	if err := try(other, other.SearchTargets(""), func(*SearchSpec) {}); err == nil || err.Pointer != "/cursor/search" {
		t.Errorf("on another server: %+v", err)
	}
	if err := try(m, m.SearchTargets(""), func(s *SearchSpec) { s.Context, s.MaxMatches, s.MaxBytes, s.Timeout = 3, 9, 99, 1 }); err != nil {
		t.Errorf("with more at a time: %v", err)
	}
}

// bounds returns the bounds of a search as text.
func bounds(s SearchSpec) string {
	at := func(off *int64) string {
		if off == nil {
			return "none"
		}
		return fmt.Sprint(*off)
	}
	return fmt.Sprintf("from %s to %s, backwards %v", at(s.From), at(s.To), s.Reverse)
}
