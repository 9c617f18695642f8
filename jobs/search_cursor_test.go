package jobs

import (
	"testing"
)

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
