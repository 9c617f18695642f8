package match

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// The end of the lookback must not depend on chunks either.
func TestLookbackDependsOnBytesAlone(t *testing.T) {
	if slowdown > 1 {
		t.Skip("one goroutine computes here: the race detector has nothing to see, and takes ten times as long")
	}
	r := rand.New(rand.NewPCG(7, 8))
	outputs := map[string][]byte{
		"one letter":     bytes.Repeat([]byte("a"), 112<<10),
		"one long line":  bytes.ReplaceAll(buildLog(112<<10), []byte("\r\n"), []byte("é ")),
		"open for ever":  append([]byte("BEGIN 'x "), buildLog(112<<10)...),
		"not UTF-8":      bytes.Repeat([]byte("a\xff\xe2\x82b "), 12<<10),
		"opened closely": bytes.Repeat([]byte("BEGIN 12 'quoted' é\n"), 5<<10),
	}
	for _, pattern := range []string{
		`a+`, `[^]+`, `BEGIN[^]*?END`, `BEGIN[^]*note`, `'[^']*'`, `\w+$`, `(?<!BEGIN[^]{0,100})note`, `\d+\s+\S+`,
		`note(?=[^]{0,100}END)|on`, `file(\d+)`, `[ab]*c?`, `\uFFFD{2,}`, `x*`,
	} {
		p := compileUnhurried(t, pattern, "m")
		for name, out := range outputs {
			t.Run(pattern+" on "+name, func(t *testing.T) {
				var want []trace
				for i, most := range []int{1 << 20, 5000} {
					s := NewSet(0)
					s.Add(1, p, Options{})
					got := tracesOf(t, append(feedSplit(r, s, out, most), s.Settle()...))
					if i == 0 {
						want = got
					} else if !reflect.DeepEqual(got, want) {
						t.Fatalf("in chunks up to %d: %s", most, firstDifference(got, want))
					}
				}
			})
		}
	}
}

func firstDifference(got, want []trace) string {
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			return fmt.Sprintf("match %d is %d-%d, not %d-%d", i, got[i].start, got[i].end, want[i].start, want[i].end)
		}
	}
	return fmt.Sprintf("%d matches, not %d", len(got), len(want))
}

// A match that never ends is cut at the end of the lookback, and reported then.
func TestEndlessMatchIsCut(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compileUnhurried(t, `BEGIN[^]*`, ""), Options{})
	var hits []Hit
	for fed := 0; len(hits) == 0; fed += 1000 {
		if fed > lookback+2*blockSize {
			t.Fatalf("nothing was reported after %d bytes", fed)
		}
		hits = s.Feed([]byte(strings.Repeat("BEGIN 890\n", 100)))
	}
	m := hits[0].Match
	if m.Start != 0 || m.End < lookback || m.End > lookback+blockSize {
		t.Errorf("the match is %d-%d, want one from 0 to the end of the lookback", m.Start, m.End)
	}
}

// Text behind the lookback is not matched, which keeps the window bounded.
func TestMemoryIsBounded(t *testing.T) {
	for _, pattern := range []string{`BEGIN[^]*END`, `[^]*Z`, `a+b`, `(?<=BEGIN[^]*)Z`, `Z`} {
		for _, unit := range []string{"a", "\xff", "\x1b[1m日"} {
			s := NewSet(0)
			s.Add(1, compileUnhurried(t, pattern, ""), Options{})
			s.Feed([]byte("BEGIN"))
			chunk := bytes.Repeat([]byte(unit), 32<<10/len(unit))
			for range 6 {
				s.Feed(chunk)
				if n := len(s.plain.text); n > 3*lookback {
					t.Fatalf("/%s/ on %q: the window holds %d bytes", pattern, unit, n)
				}
			}
			s.Feed([]byte("\nZ done END\n"))
			s.Skip(1)
			s.Feed([]byte("a\n"))
			if n := cap(s.plain.text); n > roomy {
				t.Errorf("/%s/ on %q: %d bytes are kept for a window of %d", pattern, unit, n, len(s.plain.text))
			}
		}
	}
}

// Patterns share the window; each adds only its own state.
func TestPatternsShareTheWindow(t *testing.T) {
	s := NewSet(0)
	for i := range 100 {
		s.Add(i, compileUnhurried(t, fmt.Sprintf(`BEGIN%d[^]*?END`, i), ""), Options{})
	}
	s.Feed([]byte("BEGIN0"))
	s.Feed(bytes.Repeat([]byte("line\n"), 10_000))
	if n := cap(s.plain.text); n > 4*lookback {
		t.Errorf("100 patterns hold %d bytes", n)
	}
	if n := len(s.raw.text); n != 0 {
		t.Errorf("no pattern is raw, but the raw window holds %d bytes", n)
	}
	if got := texts(s.Feed([]byte("END"))); len(got) != 1 || !strings.HasPrefix(got[0], "0-50009 BEGIN0line") {
		t.Errorf("got %.60q, want the one match of pattern 0", got)
	}
}

func TestExplodingPatternIsRemoved(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `secret(x+x+)+[yz]`, ""), Options{})
	s.Add(2, compile(t, `>>> `, ""), Options{})
	bomb := "secret" + strings.Repeat("x", 60)
	if hits := s.Feed([]byte(bomb + ">>> ")); len(hits) != 1 || hits[0].ID != 2 {
		t.Fatalf("the first time over the limit: got %v, want the other pattern's match alone", texts(hits))
	}
	hits := s.Feed([]byte(">>> "))
	if len(hits) != 2 || hits[0].ID != 2 || hits[1].ID != 1 || hits[1].Removed != ErrTimeLimit {
		t.Fatalf("the second time over the limit: got %v", texts(hits))
	}
	if strings.Contains(hits[1].Removed.Error(), "secret") {
		t.Errorf("the reason shows the output: %v", hits[1].Removed)
	}
	if s.Len() != 1 {
		t.Errorf("%d patterns are left, want 1", s.Len())
	}
	if hits := s.Feed([]byte(bomb + ">>> ")); len(hits) != 1 || hits[0].ID != 2 {
		t.Errorf("after the removal: got %v, want the other pattern's match", texts(hits))
	}
}

func TestSettleIsTheSecondChance(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `(x+x+)+[yz]|ok`, ""), Options{})
	if got := s.Feed([]byte(strings.Repeat("x", 60) + " ok")); len(got) != 0 || !s.Pending() {
		t.Fatalf("the first time over the limit: got %v, pending %v", texts(got), s.Pending())
	}
	if got := s.Settle(); len(got) != 1 || got[0].Removed != ErrTimeLimit || s.Len() != 0 {
		t.Errorf("Settle: got %v, want the removal", texts(got))
	}
}

func TestOneSlowSearchIsForgiven(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `secret(x+x+)+[yz]|ok `, ""), Options{})
	s.Feed([]byte("secret" + strings.Repeat("x", 60)))
	s.Skip(10) // the slow text is gone
	if got := texts(s.Feed([]byte("ok "))); len(got) != 1 || s.Len() != 1 {
		t.Errorf("got %v, want the match", got)
	}
	s.Feed([]byte("secret" + strings.Repeat("x", 60)))
	if s.Len() != 1 {
		t.Error("two slow searches with a quick one between them removed the pattern")
	}
}

func TestStackLimitRemovesThePattern(t *testing.T) {
	s := NewSet(0)
	s.Add(1, compile(t, `(?:(?:(a)|(b)){1,2}?(c)?(?:(d)|(a))??)*[!?]`, ""), Options{})
	var hits []Hit
	for fed := 0; len(hits) == 0 && fed < lookback; fed += blockSize {
		hits = s.Feed(bytes.Repeat([]byte("a"), blockSize))
	}
	if len(hits) == 0 || hits[0].Removed == nil {
		t.Fatalf("got %.100q, want a removal", texts(hits))
	}
}
