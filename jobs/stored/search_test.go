package stored

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs/internal/search"
	"shelld.dev/shelld/jobs/internal/searchtest"
	"shelld.dev/shelld/jobs/internal/spool"
)

// storedOutput returns an Output with this text.
func storedOutput(t testing.TB, text []byte) *Output {
	t.Helper()
	return outputIn(t, bytes.NewReader(text), len(text))
}

// outputIn returns an Output whose file has so many bytes.
func outputIn(t testing.TB, file io.ReaderAt, size int) *Output {
	t.Helper()
	st, err := spool.ReadStored(file, int64(size), "a/1/stdout.txt", spool.Record{Unwritten: true})
	if err != nil {
		t.Fatal(err)
	}
	return &Output{File: fileOf(st), stored: st}
}

// A cutFile can be made shorter after it was opened.
type cutFile struct{ *bytes.Reader }

// linesOf returns the lines of an Output on which the query matches, and its gaps.
func linesOf(t *testing.T, o *Output, query searchtest.Query) (lines []Line, gaps []spool.Range) {
	t.Helper()
	tell := func(l Line) error { lines = append(lines, l); return nil }
	if err := o.Search(t.Context(), query.Compile(t), tell, func(r spool.Range) { gaps = append(gaps, r) }); err != nil {
		t.Fatal(err)
	}
	return lines, gaps
}

// matchesOf returns what a search of a stream finds.
func matchesOf(t *testing.T, s *spool.Spool, query searchtest.Query) []search.Match {
	t.Helper()
	r := search.Run{Spec: search.Spec{Query: query.Compile(t), Raw: query.Raw, MaxMatches: 1_000_000, MaxBytes: 1 << 30}, Stop: func() error { return nil }}
	found := r.Search(s, s.End(), nil)
	if r.Ended() {
		t.Fatalf("ended by %q, %v", r.End, r.Err)
	}
	return found.Matches
}

// A search of a file returns the lines of the matches that a search of the stream finds.
func TestSearchEqualsSearchOfStream(t *testing.T) {
	size := 700 << 10
	if testing.Short() {
		size = 300 << 10 // still more than one block
	}
	data := searchtest.Log(rand.New(rand.NewPCG(10, 8)), size)
	kept := spool.New(4 << 20)
	kept.Append(data)
	o := storedOutput(t, data)
	for _, spec := range append(slices.Clone(searchtest.Queries), searchtest.Query{Pattern: `\d+ of`, Flags: "m", Lines: true}, searchtest.Query{Pattern: `[^:]+: num`, Lines: true},
		searchtest.Query{Pattern: `.{1,3}R`, Flags: "m"}, searchtest.Query{Pattern: `line|log`, Lines: true}, searchtest.Query{Literal: "%"}) {
		var want []string
		number, at := 1, 0
		for _, f := range matchesOf(t, kept, spec) {
			number += bytes.Count(data[at:f.Start], []byte{'\n'})
			at = int(f.Start)
			for i := range 1 + bytes.Count(data[f.Start:f.End-1], []byte{'\n'}) {
				if line := fmt.Sprint(number + i); !slices.Contains(want[max(len(want)-1, 0):], line) {
					want = append(want, line)
				}
			}
		}
		lines, _ := linesOf(t, o, spec)
		var got []string
		for _, l := range lines {
			got = append(got, fmt.Sprint(l.Number))
			if start := bytes.LastIndexByte(data[:l.At], '\n') + 1; int64(start) != l.At || bytes.Count(data[:l.At], []byte{'\n'}) != int(l.Number)-1 {
				t.Fatalf("%+v: line %d is not at %d", spec, l.Number, l.At)
			}
			if spec.Literal != "" && !spec.Raw && spec.Flags == "" && !strings.Contains(spec.Literal, "\n") && !strings.Contains(l.Text, spec.Literal) {
				t.Fatalf("%+v: line %d has %.100q", spec, l.Number, l.Text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d lines, want %d", spec, len(got), len(want))
		}
	}
}

// Lines have the text that a search of the stream returns, uncut.
func TestSearchReturnsLines(t *testing.T) {
	o := storedOutput(t, []byte("one\r\n\x1b[1mtwo\x1b[0m words\r\n10%\r20%\rdone\r\r\n\nsix\nseven \xff x\nbegin\nend"))
	for _, test := range []struct {
		spec searchtest.Query
		want string
	}{
		{searchtest.Query{Literal: "two"}, "2 two words"},
		{searchtest.Query{Pattern: "^o|o w", Lines: true}, "1 one|2 two words"},
		{searchtest.Query{Literal: "20"}, "3 20%"},
		{searchtest.Query{Literal: "done"}, "3 done"},
		{searchtest.Query{Pattern: "[%e]", Lines: true}, "1 one|3 10%|6 seven \uFFFD x|7 begin|8 end"},
		{searchtest.Query{Pattern: `o words\s+10`, Flags: "m"}, "2 two words|3 10%"},
		{searchtest.Query{Pattern: `^\d+%\r\d+`, Lines: true}, "3 10%\r20%"},
		{searchtest.Query{Literal: "six\n"}, "5 six"},
		{searchtest.Query{Literal: "\nend"}, "7 begin|8 end"},
		{searchtest.Query{Pattern: `begin|n\nend`, Flags: "m"}, "7 begin"},
		{searchtest.Query{Pattern: `beg|in\nend`, Flags: "m"}, "7 begin|8 end"},
		{searchtest.Query{Literal: "nowhere"}, ""},
	} {
		var got []string
		lines, _ := linesOf(t, o, test.spec)
		for _, l := range lines {
			got = append(got, fmt.Sprintf("%d %s", l.Number, l.Text))
			if l.Cut || l.Limited {
				t.Errorf("%+v: %+v", test.spec, l)
			}
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%+v: %q, want %q", test.spec, got, test.want)
		}
	}
}

// A line that is longer than a read, or than MaxLine, is one line: matches over any edge are found, and the text is the
// part around the match.
func TestSearchLongLine(t *testing.T) {
	for _, before := range []int{outputRead - 3, windowRead - 3, MaxLine/2 - 3, MaxLine - 3, MaxLine + 100, 3*MaxLine - 3} {
		data := "first\n" + strings.Repeat("é", before/2) + "-needle-" + strings.Repeat("ü", before/2) + "needle\nlast needle"
		lines, _ := linesOf(t, storedOutput(t, []byte(data)), searchtest.Query{Literal: "needle"})
		if len(lines) != 2 || lines[0].Number != 2 || lines[1].Text != "last needle" || lines[1].Number != 3 || lines[1].Cut {
			t.Fatalf("%d before: %d lines, of them %.200q", before, len(lines), fmt.Sprint(lines))
		}
		l := lines[0]
		if long := before > MaxLine/2-20; l.Cut != long || !long && l.Text != strings.Split(data, "\n")[1] {
			t.Errorf("%d before: cut %v, %d bytes", before, l.Cut, len(l.Text))
		}
		if n := len(l.Text); n > MaxLine+100 || !strings.Contains(l.Text, "é-needle-ü") || strings.Contains(l.Text, "\uFFFD") {
			t.Errorf("%d before: %d bytes", before, n)
		}
	}
	lines, _ := linesOf(t, storedOutput(t, []byte(strings.Repeat("a", 300_000)+"\n")), searchtest.Query{Pattern: `^a+$`, Lines: true})
	if len(lines) != 1 || !lines[0].Limited || lines[0].Cut {
		t.Errorf("a match beyond the limit: %d lines", len(lines))
	}
}

// A gap is reported, no match reaches over it, and lines behind it have no number.
func TestSearchGap(t *testing.T) {
	text := "one needle\ntwo nee" + spool.Marker(18, 1000) + "dle, rest\nthree needle\n"
	o := storedOutput(t, []byte(text))
	lines, gaps := linesOf(t, o, searchtest.Query{Pattern: "needle|dle,|omitted", Lines: true})
	want := []Line{{At: 0, Number: 1, Text: "one needle"}, {At: 1000, Text: "dle, rest"}, {At: 1010, Text: "three needle"}}
	if !slices.Equal(lines, want) || !slices.Equal(gaps, []spool.Range{{From: 18, To: 1000}}) {
		t.Errorf("%+v, gaps %v", lines, gaps)
	}
}

// A search ends with an error of its caller, with its context, and with an error if the file was truncated.
func TestSearchErrors(t *testing.T) {
	data := []byte(strings.Repeat("a needle\n", 100_000))
	query := searchtest.Query{Literal: "needle"}.Compile(t)
	enough, told := errors.New("enough"), 0
	err := storedOutput(t, data).Search(t.Context(), query, func(Line) error { told++; return enough }, nil)
	if !errors.Is(err, enough) || told != 1 {
		t.Errorf("%v after %d lines", err, told)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = storedOutput(t, data).Search(ctx, query, func(Line) error { cancel(enough); return nil }, nil)
	if !errors.Is(err, enough) {
		t.Errorf("cancelled: %v", err)
	}
	file := &cutFile{bytes.NewReader(data)}
	o := outputIn(t, file, len(data))
	file.Reader = bytes.NewReader(data[:len(data)/2])
	if err := o.Search(t.Context(), query, func(Line) error { return nil }, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
}
