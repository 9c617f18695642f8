package match

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// lineByLine returns the matches of sets that get one line each.
func lineByLine(t *testing.T, p *Pattern, out []byte) []trace {
	t.Helper()
	var hits []Hit
	at := int64(0)
	for line := range bytes.Lines(out) {
		s := NewSet(at)
		s.Add(0, p, Options{Raw: true})
		at += int64(len(line))
		hits = append(hits, s.Feed(bytes.TrimSuffix(line, []byte("\n")))...)
		s.raw.replaceHeld()
		s.raw.watches[0].leaning = true
		hits = append(hits, s.Settle()...)
	}
	return tracesOf(t, hits)
}

// A search of lines finds in each the matches of a pattern that gets only that line, from any place on.
func TestSearchLines(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 4))
	for range fewer(1500) {
		out := longer(r)
		source, flags := randomPattern(r, 2), randomFlags(r)
		if !strings.Contains(flags, "m") {
			flags += "m"
		}
		p, err := Compile(source, flags)
		if err != nil || p.NamesLineBreak() {
			continue
		}
		p.engine.setLimit(0)
		q := QueryOf(p, true, true)
		want := lineByLine(t, p, append(bytes.Clone(out), "\n"...))
		if got := searched(t, r, q, append(bytes.Clone(out), "\n"...), 0, false); !reflect.DeepEqual(got, want) {
			t.Fatalf("/%s/%s over %q: %s", source, flags, out, firstOther(got, want))
		}
		checkLineStarts(t, r, q, append(out, "\n"...), want)
	}
}

// The same with line breaks in sequences, and with colours.
func TestSearchPlainLines(t *testing.T) {
	out := []byte("one \x1b[1mtwo\x1b[0m\nthree\x1b]0;a\nb\x07 four\nfive:6\nseven")
	r := rand.New(rand.NewPCG(10, 5))
	for pattern, want := range map[string][]string{
		`[^:]+:`:     {"five:"},
		`\w+\s+\w+$`: {"one two", "three four"},
		`^\s*\w+\s*`: {"one ", "three ", "five", "seven"},
		`(?<=e)\W+f`: {"e four"[1:3]},
		`[^x]+$`:     {"one two", "three four", "five:6", "seven"},
	} {
		q := QueryOf(compile(t, pattern, "m"), false, true)
		var got []string
		for _, m := range searched(t, r, q, out, 0, false) {
			got = append(got, m.text)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("/%s/ finds %q, want %q", pattern, got, want)
		}
	}
}

func TestNamesLineBreak(t *testing.T) {
	for pattern, want := range map[string]bool{
		`a\nb`: true, `a\r?\nb`: true, `[^]`: true, `[\s\S]*`: true, `[\r\n]+`: true, `a(?=\n)`: true, `x|[\w\W]`: true, `\u000a`: true,
		`\s`: false, `[^:]`: false, `[^:\n]`: false, `\D\W`: false, `[\s,]`: false, `a.b`: false, `^a$`: false, `[^\w ]`: false,
	} {
		if got := compile(t, pattern, "m").NamesLineBreak(); got != want {
			t.Errorf("/%s/: %v", pattern, got)
		}
	}
	if !compile(t, `a.b`, "s").NamesLineBreak() {
		t.Error("with the flag s a dot is everything")
	}
}

// If the limit of the lookback cuts a match, or its beginning is given up, the match is Limited; other matches are not.
func TestLimited(t *testing.T) {
	if slowdown > 1 {
		t.Skip("one goroutine computes here: the race detector has nothing to see, and takes minutes")
	}
	long := strings.Repeat("a", 300_000)
	for _, test := range []struct {
		pattern, out string
		lines        bool
		want         []bool
	}{
		{`a+$`, long, false, []bool{true, true, true, true}},
		{`a+\n`, long + "\nx", false, []bool{true}},
		{`^.*$`, long + "\nb\n", true, []bool{true, false}},
		{`^[^:]+:\d`, strings.Repeat("text\n", 50_000) + "a.c:7\n", false, []bool{true}},
		{`^[^:]+:\d`, strings.Repeat("text\n", 50_000) + "a.c:7\n", true, []bool{false}},
		{`a$`, long, false, []bool{false}},
		{`a{1000}$|^a`, long, false, []bool{false, false}},
		{`x+`, long + "x\n", false, []bool{false}},
		{`x+`, strings.Repeat("x", 1000) + strings.Repeat("\ny", 50_000) + "x\n", false, []bool{false, false}},
	} {
		s := QueryOf(compileUnhurried(t, test.pattern, "m"), false, test.lines).Begin(0, nil, false, goOn)
		var got []bool
		add := func(found []*Match, err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range found {
				got = append(got, m.Limited)
			}
		}
		for b := []byte(test.out); len(b) > 0; {
			n, found, err := s.Step(b)
			add(found, err)
			b = b[n:]
		}
		add(s.End())
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("/%s/ lines=%v: limited %v, want %v", test.pattern, test.lines, got, test.want)
		}
	}
}

// The first line is the only place for ^ without the flag m, even if it is a long one; a later long line is not.
func TestLongLineAtTheStart(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	for out, want := range map[string][]int64{long + "b\n" + long: {0}, "b\n" + long: nil} {
		s := QueryOf(compileUnhurried(t, `^a`, ""), false, false).Begin(0, nil, false, goOn)
		var got []int64
		add := func(found []*Match, err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range found {
				got = append(got, m.Start)
			}
		}
		for b := []byte(out); len(b) > 0; {
			n, found, err := s.Step(b)
			add(found, err)
			b = b[n:]
		}
		add(s.End())
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%.3q…: matches at %v, want %v", out, got, want)
		}
	}
}
