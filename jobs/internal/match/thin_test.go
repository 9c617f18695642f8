package match

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// stepAll feeds b piece by piece and settles the end, and returns the hits of each step.
func stepAll(s *Set, b []byte) (batches [][]Hit) {
	for len(b) > 0 {
		n, hits := s.Step(b)
		batches, b = append(batches, hits), b[n:]
	}
	return append(batches, s.Settle())
}

// Of many matches the first ones are returned, and the last with the number of those between: they are the same as
// those of a set without Most.
func TestMost(t *testing.T) {
	for name, c := range map[string]struct{ pattern, out string }{
		"one line":       {`y`, strings.Repeat("y", 3*pieceSize)},
		"groups":         {`(?<=a)(b)(?=(c))`, strings.Repeat("abc", pieceSize)},
		"leaning":        {`y+x?`, strings.Repeat("yyyx", pieceSize) + "yyyy"},
		"other text":     {`é|日`, strings.Repeat("é日 ", pieceSize/2)},
		"lines":          {`^\w+$`, strings.Repeat("word\nmore\n", pieceSize/5)},
		"few":            {`word`, strings.Repeat("-", 5000) + "word"},
		"empty as well":  {`x*`, strings.Repeat("xx yy ", 5000)},
		"with sequences": {`a\d`, strings.Repeat("\x1b[1ma\x1b[0m7", 3000)},
	} {
		t.Run(name, func(t *testing.T) {
			all, few := NewSet(0), NewSet(0)
			few.Most = 5
			for _, s := range []*Set{all, few} {
				s.Add(1, compileUnhurried(t, c.pattern, "m"), Options{})
			}
			want, got := stepAll(all, []byte(c.out)), stepAll(few, []byte(c.out))
			for i, hits := range want {
				if n := len(hits); n > 5 {
					last := hits[n-1]
					last.Passed = int64(n - 5)
					hits = append(append([]Hit{}, hits[:4]...), last)
				}
				if len(hits) != len(got[i]) || len(hits) > 0 && !reflect.DeepEqual(hits, got[i]) {
					t.Fatalf("piece %d: %v, want %v", i, texts(got[i]), texts(hits))
				}
			}
		})
	}
}

// A pattern with Once reports its first match.
func TestMostOfOnce(t *testing.T) {
	s := NewSet(0)
	s.Most = 2
	s.Add(1, compileUnhurried(t, "y", ""), Options{Once: true})
	if _, hits := s.Step(bytes.Repeat([]byte("y"), 100)); len(hits) != 1 || hits[0].Match.Start != 0 || s.Len() != 0 {
		t.Errorf("hits %v, %d patterns are left", texts(hits), s.Len())
	}
}

// The output that patterns have not seen because of Stop is known, and Skip gives it up.
func TestStop(t *testing.T) {
	s := NewSet(10)
	asked := 0
	s.Stop = func() bool { asked++; return asked > 3 }
	s.Add(1, compileUnhurried(t, "y", ""), Options{})
	s.Add(2, compileUnhurried(t, "y", ""), Options{})
	if _, hits := s.Step([]byte("yy")); len(hits) != 4 || s.Unseen() != 12 {
		t.Errorf("hits %v, unseen from %d on", texts(hits), s.Unseen())
	}
	for range 2 { // the second pattern is stopped, and then both
		s.Step([]byte("yyy"))
		if s.Unseen() != 12 {
			t.Errorf("unseen from %d on, want 12", s.Unseen())
		}
	}
	if hits := s.Settle(); len(hits) != 0 {
		t.Errorf("settled: %v", texts(hits))
	}
	s.Stop = nil
	s.Skip(2)
	if _, hits := s.Step([]byte("y")); len(hits) != 2 || hits[0].Match.Start != 20 || s.Unseen() != 21 {
		t.Errorf("hits %v, unseen from %d on", texts(hits), s.Unseen())
	}
	if ids := s.IDs(); !reflect.DeepEqual(ids, []int{1, 2}) {
		t.Errorf("ids %v", ids)
	}
}

// Groups within a match share its text and have no copies of it.
func TestNestedGroupsShareTheText(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compileUnhurried(t, "(a((b)c))(?=(d))", ""), Options{})
	m := s.Feed([]byte("abcd"))[0].Match
	for i, want := range []struct {
		at   int
		text string
	}{{0, "abc"}, {1, "bc"}, {1, "b"}, {-1, "d"}} {
		g := *m.Groups[i]
		shared := want.at >= 0 && unsafe.StringData(g) == unsafe.StringData(m.Text[want.at:])
		if g != want.text || shared != (want.at >= 0) {
			t.Errorf("group %d is %q, part of the match: %v", i+1, g, shared)
		}
	}
}
