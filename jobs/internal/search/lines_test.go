package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/searchtest"
)

func TestLines(t *testing.T) {
	output := "one\r\n\x1b[1mtwo\x1b[0m\r\nthree\n10%\r20%\rdone\n\nsix\nseven \xff x"
	s := newStreams(1<<20, output)
	for _, test := range []struct {
		spec   query
		line   string
		before []string
		after  []string
	}{
		{query{Literal: "two"}, "two", nil, nil},
		{query{Literal: "two", Context: 1}, "two", []string{"one"}, []string{"three"}},
		{query{Literal: "two", Context: 3}, "two", []string{"one"}, []string{"three", "10%", "20%"}},
		{query{Literal: "one", Context: 1, To: new(int64(9))}, "one", []string{}, []string{"two"}},
		{query{Literal: "20", Context: 2}, "20%", []string{"three", "10%"}, []string{"done", ""}},
		{query{Literal: "six", Context: 2}, "six", []string{"done", ""}, []string{"seven \uFFFD x"}},
		{query{Literal: "x", Context: 2, From: new(int64(-1))}, "seven \uFFFD x", []string{"", "six"}, nil},
		{query{Pattern: `two\s+three\n`, Context: 1}, "two", []string{"one"}, []string{"10%"}},
		{query{Pattern: `two\s+thr`, Context: 1}, "two", []string{"one"}, []string{"10%"}},
		{query{Literal: "\n10", Context: 1}, "three", []string{"two"}, []string{"20%"}},
		{query{Literal: "\x1b[0m", Raw: true, Context: 1}, "two", []string{"one"}, []string{"three"}},
	} {
		res := find(t, s, test.spec)
		if len(res.Matches) != 1 {
			t.Errorf("%+v: %v", test.spec, offsets(res.Matches))
			continue
		}
		got := res.Matches[0]
		if got.Line != test.line || !slices.Equal(got.Before, test.before) || !slices.Equal(got.After, test.after) {
			t.Errorf("%+v: %q, before %q, after %q; want %q, %q, %q", test.spec, got.Line, got.Before, got.After, test.line, test.before, test.after)
		}
	}
}

// For a long line, only the part around the match is returned, and it counts only with that length.
func TestLongLine(t *testing.T) {
	data := "short\n" + strings.Repeat("é", 100_000) + "needle" + strings.Repeat("ü", 100_000) + "\nnext\n"
	s := newStreams(1<<20, data)
	res := find(t, s, query{Literal: "needle", Context: 1})
	got := res.Matches[0]
	if len(got.Line) > maxLine || len(got.Line) < maxLine-4 || strings.Count(got.Line, "é") < 1000 || !strings.Contains(got.Line, "needleü") || strings.Contains(got.Line, "\uFFFD") {
		t.Errorf("%d bytes of the line: %.20q", len(got.Line), got.Line)
	}
	if len(got.Before) > 0 || got.After != nil {
		t.Errorf("the lines around it are too far away: %.20q %.20q", got.Before, got.After)
	}
	res = find(t, s, query{Literal: "next", Context: 1})
	if got := res.Matches[0].Before; len(got) != 0 {
		t.Errorf("a line with an unknown beginning: %.20q", got)
	}
}

// A search by line finds matches within a line only, wherever a page begins.
func TestLineByLine(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d without a colon\r\n", i)
		if i%5000 == 4999 {
			fmt.Fprintf(&b, "src/a.c:%d:3: error: no\r\n", i)
		}
	}
	data := b.String()
	s := newStreams(4<<20, data)
	var want []string
	for at := 0; ; {
		i := strings.Index(data[at:], "src/")
		if i < 0 {
			break
		}
		at += i + 1
		want = append(want, fmt.Sprintf("0 %d-%d", at-1, at-1+strings.Index(data[at-1:], ": no")))
	}
	back := slices.Clone(want)
	slices.Reverse(back)
	for _, flags := range []string{"m", "", "i", "s"} {
		for most := 1; most < 6; most++ {
			spec := query{Pattern: `^[^:]+:\d+:\d+:\s+(error|warning)`, Flags: flags, Lines: true, MaxMatches: most}
			if got, _ := page(t, s, spec); !slices.Equal(offsets(got), want) || got[0].Line != "src/a.c:4999:3: error: no" || got[0].Limited {
				t.Errorf("%q, %d at a time: %v, want %v", flags, most, offsets(got), want)
			}
			spec.Reverse = true
			if got, _ := page(t, s, spec); !slices.Equal(offsets(got), back) {
				t.Errorf("%q, %d at a time, backwards: %v, want %v", flags, most, offsets(got), back)
			}
		}
	}
	s = newStreams(4<<20, strings.Repeat(strings.Repeat("x", 8000)+"\n", 12)+":1\n")
	res := find(t, s, query{Pattern: `^[^:]+:\d+`, Flags: "m", MaxMatches: 1})
	if !res.Matches[0].Limited {
		t.Errorf("over line ends: %+v", res.Matches[0])
	}
}

// A search by line finds the same in both directions and in pages, and no match reaches over a line end.
func TestLinesInReverse(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 6))
	data := searchtest.Log(r, 200<<10)
	// Shorter lines: with lines of 30 KB these patterns take ten times as long, and too long under the race detector.
	data = regexp.MustCompile("(?:long line ){300,}").ReplaceAll(data, bytes.Repeat([]byte("long line "), 300))
	for _, memory := range []int{4 << 20, 100 << 10} { // all of it; with a gap
		if testing.Short() && memory > len(data) {
			continue
		}
		s := newStreams(memory, string(data))
		for _, pattern := range []string{`^[^:]+: number \d+`, `[^d]+failed\s*$`, `\D+\d+ of`, `(?<=of the) log\s*`, `^\s*\S+\s+\d+\s`} {
			spec := query{Pattern: pattern, Lines: true, MaxMatches: 1_000_000, MaxBytes: 1 << 30}
			all := find(t, s, spec).Matches
			want := offsets(all)
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
					if got, _ := page(t, s, spec); !slices.Equal(offsets(got), want) {
						t.Errorf("/%s/ backwards %v, %d at a time: %d matches, want %d", pattern, backwards, most, len(got), len(want))
					}
				}
				slices.Reverse(want)
			}
		}
	}
}

// A match reports that a line is cut, also one around it.
func TestCutLines(t *testing.T) {
	long := strings.Repeat("x", 5000)
	s := newStreams(1<<20, "a needle\n"+long+" pin\nb needle\nend\n"+strings.Repeat("y", 4096)+"\nc")
	for _, test := range []struct {
		spec query
		want bool
	}{
		{query{Literal: "a needle"}, false}, {query{Literal: "a needle", Context: 1}, true},
		{query{Literal: "pin"}, true}, {query{Literal: "b needle", Context: 1}, true},
		{query{Literal: "end", Context: 1}, false}, {query{Literal: "y", MaxMatches: 1}, false},
	} {
		if got := find(t, s, test.spec).Matches[0].Cut; got != test.want {
			t.Errorf("%+v: %v", test.spec, got)
		}
	}
}
