package match

import (
	"reflect"
	"testing"
)

// Output after a restart is matched as in a new Set.
func TestRestart(t *testing.T) {
	for _, c := range []struct{ name, pattern, before, after string }{
		{"the start", "^b", "a", "b"},
		{"no match across", "a.*b", "a", "b"},
		{"nothing to look back at", "(?<!a)b", "a", "b"},
		{"what leans on the end", `\d+`, "12", "34 "},
		{"an escape sequence", "b", "\x1b[1", "mb"},
		{"a character", "b|\uFFFD", "\xc3", "\xbcb"},
		{"a line", "(?<l>b)", "line a", "b\n"},
	} {
		for _, raw := range []bool{false, true} {
			s, fresh := NewSet(0), NewSet(int64(len(c.before))+7)
			s.Add(1, compileUnhurried(t, c.pattern, ""), Options{Raw: raw})
			fresh.Add(1, compileUnhurried(t, c.pattern, ""), Options{Raw: raw})
			s.Feed([]byte(c.before))
			s.Restart(7)
			got, want := s.Feed([]byte(c.after)), fresh.Feed([]byte(c.after))
			got, want = append(got, s.Settle()...), append(want, fresh.Settle()...)
			if !reflect.DeepEqual(got, want) || s.Offset() != fresh.Offset() {
				t.Errorf("%s: %v, want %v", c.name, texts(got), texts(want))
			}
		}
	}
}

// A restart in the middle of a long window keeps offsets exact.
func TestRestartAfterMuchText(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compileUnhurried(t, "needle", ""), Options{})
	for i := range 3000 {
		s.Feed([]byte("some text that matches nothing\r\n"))
		if i%7 == 0 {
			s.Restart(100)
		}
	}
	at := s.Offset()
	if got := texts(s.Feed([]byte("the needle "))); len(got) != 1 || s.Offset() != at+11 {
		t.Errorf("%v", got)
	}
	s.Restart(5)
	if hits := s.Feed([]byte("needle")); len(hits) != 1 || hits[0].Match.Start != at+16 || hits[0].Match.End != at+22 {
		t.Errorf("%v, want it at %d", texts(hits), at+16)
	}
}
