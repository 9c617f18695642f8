package match

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func goOn() bool { return false }

// searched returns the matches of a search from one place on, fed in chunks of random sizes.
func searched(t *testing.T, r *rand.Rand, q *Query, out []byte, from int, gap bool) []trace {
	t.Helper()
	s := q.Begin(int64(from), out[:from], gap, goOn)
	var hits []Hit
	for rest := out[from:]; len(rest) > 0; {
		chunk := rest[:min(len(rest), 1+r.IntN(200))]
		rest = rest[len(chunk):]
		for len(chunk) > 0 {
			n, found, err := s.Step(chunk)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range found {
				hits = append(hits, Hit{Match: m})
			}
			chunk = chunk[n:]
		}
	}
	found, err := s.End()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		hits = append(hits, Hit{Match: m})
	}
	return tracesOf(t, hits)
}

// watched returns the matches of a set that had the pattern from the first byte on.
func watched(t *testing.T, p *Pattern, out []byte, raw bool) []trace {
	t.Helper()
	s := NewSet(0)
	s.Add(0, p, Options{Raw: raw})
	return tracesOf(t, append(s.Feed(out), s.Settle()...))
}

// firstOther describes the first match that differs.
func firstOther(got, want []trace) string {
	i := 0
	for i < min(len(got), len(want)) && reflect.DeepEqual(got[i], want[i]) {
		i++
	}
	return fmt.Sprintf("from match %d on %+v, want %+v", i, got[i:min(i+2, len(got))], want[i:min(i+2, len(want))])
}

// longer repeats random texts, so that lines are skipped.
func longer(r *rand.Rand) []byte {
	var b []byte
	for range 1 + r.IntN(8) {
		b = append(b, randomText(r)...)
		b = append(b, "\nxx yy\n"[:r.IntN(8)]...)
	}
	return b
}

// A search finds the matches of a watch, from the start on and from behind any match.
func TestSearchIsWatch(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for range fewer(1000) {
		out, raw := longer(r), r.IntN(3) == 0
		source, flags := randomPattern(r, 2), randomFlags(r)
		p, err := Compile(source, flags)
		if err != nil {
			continue
		}
		q := QueryOf(p, raw, false)
		q.pattern.engine.setLimit(0)
		want := watched(t, q.pattern, out, raw)
		if got := searched(t, r, q, out, 0, false); !reflect.DeepEqual(got, want) {
			t.Fatalf("/%s/%s raw=%v over %q: %s", source, flags, raw, out, firstOther(got, want))
		}
		for i, m := range want {
			if got := searched(t, r, q, out, int(m.end), false); !reflect.DeepEqual(append([]trace{}, got...), append([]trace{}, want[i+1:]...)) {
				t.Fatalf("/%s/%s raw=%v over %q from %d: %s", source, flags, raw, out, m.end, firstOther(got, want[i+1:]))
			}
		}
		if !q.InLines() {
			continue
		}
		checkLineStarts(t, r, q, out, want)
	}
}

// If a search is stopped, at any call of stop, another one that continues at Decided finds the rest.
func TestSearchStopped(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 4))
	for range 300 {
		out, raw := longer(r), r.IntN(3) == 0
		p, err := Compile(randomPattern(r, 2), randomFlags(r))
		if err != nil {
			continue
		}
		q := QueryOf(p, raw, r.IntN(2) == 0)
		q.pattern.engine.setLimit(0)
		want := append([]trace{}, searched(t, r, q, out, 0, false)...)
		for n, stopped := 1, true; stopped; n++ {
			var first []trace
			var at int64
			first, at, stopped = untilStopped(t, r, q, out, n)
			if !stopped {
				at = int64(len(out))
			}
			if got := append(first, searched(t, r, q, out, int(at), false)...); !reflect.DeepEqual(append([]trace{}, got...), want) {
				t.Fatalf("%v raw=%v lines=%v over %q, stopped at question %d, decided up to %d: %s", q.pattern, raw, q.lines, out, n, at, firstOther(got, want))
			}
		}
	}
}

// untilStopped returns the matches of a search that is stopped at the n-th call of stop, and continues to be fed.
func untilStopped(t *testing.T, r *rand.Rand, q *Query, out []byte, n int) (found []trace, decided int64, stopped bool) {
	t.Helper()
	s := q.Begin(0, nil, false, func() bool { n--; return n <= 0 })
	var hits []Hit
	take := func(all []*Match, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			hits = append(hits, Hit{Match: m})
		}
	}
	for len(out) > 0 {
		size, all, err := s.Step(out[:min(len(out), 1+r.IntN(400))])
		take(all, err)
		out = out[size:]
	}
	take(s.End())
	return tracesOf(t, hits), s.Decided(), s.Stopped()
}

// placesOf returns the matches of a search, and the lines of the stream that they are on.
func placesOf(t *testing.T, r *rand.Rand, q *Query, out []byte) (n int, lines []int) {
	t.Helper()
	s := q.Begin(0, nil, false, goOn)
	take := func(all []*Match, err error) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(all)
		for _, m := range all {
			for line := bytes.Count(out[:m.Start], []byte("\n")); line <= bytes.Count(out[:m.End-1], []byte("\n")); line++ {
				if len(lines) == 0 || lines[len(lines)-1] < line {
					lines = append(lines, line)
				}
			}
		}
	}
	for rest := out; len(rest) > 0; {
		size, all, err := s.Step(rest[:min(len(rest), 1+r.IntN(200))])
		take(all, err)
		rest = rest[size:]
	}
	take(s.End())
	return n, lines
}

// With Places, no line that has a match is left out.
func TestSearchPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 6))
	left, most := 0, fewer(2000)
	for i := range most {
		out, raw := longer(r), r.IntN(3) == 0
		for at := range out {
			if r.IntN(40) == 0 { // line breaks inside and outside of sequences
				out = slices.Insert(out, at, []byte("\x1b]0;a\nb\x07")[:1+r.IntN(8)]...)
			}
		}
		p, err := Compile(randomPattern(r, 2), randomFlags(r))
		if err != nil {
			continue
		}
		q := QueryOf(p, raw, r.IntN(2) == 0)
		q.pattern.engine.setLimit(0)
		if i%4 == 0 {
			q, err = CompileLiteral([]string{"a", "o", "ab", "\n", "é"}[r.IntN(5)], r.IntN(2) == 0, raw)
			if err != nil {
				t.Fatal(err)
			}
		}
		all, want := placesOf(t, r, q, out)
		some, got := placesOf(t, r, q.Places(), out)
		if !slices.Equal(got, want) {
			t.Fatalf("%v %q raw=%v lines=%v over %q: on lines %v, want %v", q.pattern, q.literal, raw, q.lines, out, got, want)
		}
		if some < all {
			left++
		}
	}
	if left < most/20 {
		t.Errorf("matches were left out %d times alone", left)
	}
}

// In lines full of matches, one of each line is reported.
func TestSearchPlacesFew(t *testing.T) {
	const lines = 2000
	out := []byte(strings.Repeat(strings.Repeat("xy ", 20)+"\n", lines))
	literal, err := CompileLiteral("x", false, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []*Query{QueryOf(compile(t, `\w`, "m"), false, false), QueryOf(compile(t, `[^q]`, "m"), false, true), QueryOf(compile(t, `x*`, "m"), true, true), literal} {
		n := 0
		for s, rest := q.Places().Begin(0, nil, false, goOn), out; len(rest) > 0; {
			size, found, err := s.Step(rest)
			if err != nil {
				t.Fatal(err)
			}
			n, rest = n+len(found), rest[size:]
		}
		if n < lines || n > lines+lines/10 { // a text is searched in pieces that end anywhere
			t.Errorf("%v %q: %d matches on %d lines", q.pattern, q.literal, n, lines)
		}
	}
}

// checkLineStarts searches from behind each line break that the query sees.
func checkLineStarts(t *testing.T, r *rand.Rand, q *Query, out []byte, want []trace) {
	t.Helper()
	for at := range out {
		if out[at] != '\n' || !q.raw && LastLineBreak(out[:at+1], 0, false) != at {
			continue
		}
		rest := want
		for len(rest) > 0 && rest[0].start <= int64(at) {
			if rest[0].end > int64(at)+1 {
				t.Fatalf("%q reaches over the line break at %d of %q", rest[0].text, at, out)
			}
			rest = rest[1:]
		}
		got := searched(t, r, q, out, at+1, false)
		if !reflect.DeepEqual(append([]trace{}, got...), append([]trace{}, rest...)) {
			t.Fatalf("%v over %q from the line at %d: %s", q.pattern, out, at+1, firstOther(got, rest))
		}
	}
}

// A literal matches like the pattern that Escape makes of it.
func TestLiteralIsPattern(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 2))
	literals := []string{"a", "ab", "aba", "foo", "ba\nfoo", "é", "日本", "\uFFFD", "k", "K", "12 ", "\"", "-", "oo", "\r\n", "s", ".", "a_", "xx y"}
	for range 3000 {
		out, raw, fold := longer(r), r.IntN(3) == 0, r.IntN(2) == 0
		text := literals[r.IntN(len(literals))]
		q, err := CompileLiteral(text, fold, raw)
		if err != nil {
			t.Fatal(err)
		}
		p := compile(t, Escape(text), map[bool]string{true: "i"}[fold])
		p.engine.setLimit(0)
		want := watched(t, p, out, raw)
		for i := range want {
			want[i].groups = nil
		}
		if got := searched(t, r, q, out, 0, false); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q fold=%v raw=%v over %q: %s", text, fold, raw, out, firstOther(got, want))
		}
	}
}

// Behind a gap no line begins, and the missing output does not match.
func TestSearchBehindGap(t *testing.T) {
	for _, raw := range []bool{false, true} {
		q := QueryOf(compile(t, "^b|^c", "m"), raw, false)
		r := rand.New(rand.NewPCG(10, 3))
		for from, want := range map[int]int{0: 1, 2: 0} {
			if got := searched(t, r, q, []byte("b\nc\n")[from:], 0, true); len(got) != want {
				t.Errorf("raw=%v: %v behind a gap at %d, want %d matches", raw, got, from, want)
			}
		}
	}
}

// A line break in the text of a sequence does not count.
func TestLastLineBreak(t *testing.T) {
	for _, test := range []struct {
		text      string
		from      int
		raw, want int
	}{
		{"a\n", 0, 1, 1},
		{"a\nb", 0, 1, 1},
		{"a\nb", 2, -1, -1},
		{"a\n\x1b]0;a\n", 0, 7, 1},
		{"a\n\x1b]0;a\n", 2, 7, -1},
		{"\x1b]0;a\x07\n", 0, 6, 6},
		{"\x1b[3\n", 0, 3, 3},
		{"\x1bPx\n", 0, 3, -1},
		{"\x1bPx\x1b\\\nb\n", 0, 7, 7},
		{"", 0, -1, -1},
	} {
		if got := LastLineBreak([]byte(test.text), test.from, true); got != test.raw {
			t.Errorf("%q from %d: %d in the raw text, want %d", test.text, test.from, got, test.raw)
		}
		if got := LastLineBreak([]byte(test.text), test.from, false); got != test.want {
			t.Errorf("%q from %d: %d, want %d", test.text, test.from, got, test.want)
		}
	}
}

// One piece of 32 KiB and more, in which lines are skipped and no match is missed.
func TestSearchPieces(t *testing.T) {
	var out bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&out, "line %d of the log %s\n", i, strings.Repeat(".", i%90))
		if i%997 == 0 {
			fmt.Fprintf(&out, "\x1b[31merror\x1b[0m: number %d failed\n", i)
		}
	}
	for _, source := range []string{`^error: number (\d+) failed$`, `number \d+`, `line 19999`, `^line 0 `} {
		q := QueryOf(compile(t, source, "m"), false, false)
		want := watched(t, q.pattern, out.Bytes(), false)
		s := q.Begin(0, nil, false, goOn)
		var got []Hit
		for rest := out.Bytes(); len(rest) > 0; {
			n, found, err := s.Step(rest)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range found {
				got = append(got, Hit{Match: m})
			}
			rest = rest[n:]
		}
		if traces := tracesOf(t, got); !reflect.DeepEqual(traces, want) || len(want) == 0 {
			t.Errorf("%s: %d matches, want %d", source, len(traces), len(want))
		}
	}
}

func TestIsPlain(t *testing.T) {
	for c := range 256 {
		for at := range 19 {
			b := bytes.Repeat([]byte("a"), 19)
			b[at] = byte(c)
			if got := isPlain(b); got != stays[c] {
				t.Fatalf("isPlain with %#x at %d is %v", c, at, got)
			}
		}
	}
}

// fewer returns the number of rounds that a test makes: a tenth with -short, since the race detector makes each take
// several times as long and one goroutine does all the work.
func fewer(rounds int) int {
	if testing.Short() {
		return max(rounds/10, 1)
	}
	return rounds
}
