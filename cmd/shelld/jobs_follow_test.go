package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestGrowingLine checks that a line is printed as it grows on a terminal, and as a whole otherwise, and that control
// sequences are never printed.
func TestGrowingLine(t *testing.T) {
	for _, test := range []struct {
		name           string
		pieces         []string
		terminal, pipe string
	}{
		{"lines", []string{"one\ntw", "o\n"}, "one\ntwo\n", "one\ntwo\n"},
		{"a question", []string{"Deploy", "? "}, "Deploy? ", "Deploy? "},
		{"progress", []string{"10%", "\r20%", "\r30%\nend\n"}, "10%\r\x1b[K20%\r\x1b[K30%\nend\n", "30%\nend\n"},
		{"half a character", []string{"\xc3", "\xa4\n"}, "\ufffd\r\x1b[Kä\n", "ä\n"},
		{"half a sequence", []string{"a\x1b]0;evil", "\x07b\x1b[31m", "red\n"}, "abred\n", "abred\n"},
		{"a clipboard", []string{"\x1b]52;c;ZXZpbA==\x07x\n"}, "x\n", "x\n"},
		{"wide characters", []string{strings.Repeat("漢", 12), "\r\x1b[Kshort\n"}, strings.Repeat("漢", 12) + "\nshort\n", "short\n"},
		{"a tab", []string{"1234567\t1234567\t12345", "\r\x1b[Kshort\n"}, "1234567\t1234567\t12345\nshort\n", "short\n"},
		{"wide characters on one row", []string{strings.Repeat("漢", 9), "\r\x1b[Kshort\n"}, strings.Repeat("漢", 9) + "\r\x1b[Kshort\n", "short\n"},
		{"wider than the terminal", []string{strings.Repeat("x", 30), "\ry\n"}, strings.Repeat("x", 30) + "\ny" + strings.Repeat("x", 29) + "\n", "y" + strings.Repeat("x", 29) + "\n"},
	} {
		for _, c := range []struct {
			columns int
			want    string
		}{{20, test.terminal}, {0, test.pipe}} {
			if got := grown(c.columns, test.pieces...); got != c.want {
				t.Errorf("%s, %d columns: %q, want %q", test.name, c.columns, got, c.want)
			}
		}
	}
}

// TestGrowingLineOfALongBar checks that a line that is redrawn stays one line, however much was written to it.
func TestGrowingLineOfALongBar(t *testing.T) {
	var pieces, shown []string
	var piece strings.Builder
	for n := 1; n <= 60000; n++ {
		state := fmt.Sprintf("%5d of 60000 files done", n)
		piece.WriteString("\r" + state)
		if n%2000 == 0 {
			pieces, shown = append(pieces, piece.String()), append(shown, state)
			piece.Reset()
		}
	}
	for columns, want := range map[int]string{80: strings.Join(shown, "\r\x1b[K"), 0: shown[len(shown)-1]} {
		if got := grown(columns, pieces...); got != want {
			t.Errorf("%d columns: %d bytes, the last %.100q; want %d, the last %.100q", columns, len(got), got[max(0, len(got)-100):], len(want), want[max(0, len(want)-100):])
		}
	}
}

// grown returns the text printed for a line that is written in pieces; 0 columns: not to a terminal.
func grown(columns int, pieces ...string) string {
	var b strings.Builder
	var g growingLine
	if columns > 0 {
		g.columns = func() int { return columns }
	}
	for _, p := range pieces {
		b.WriteString(g.add([]byte(p)))
	}
	return b.String() + g.end()
}

// TestFollowerOfTwoStreams checks that text under a title belongs to that stream, and that no title is printed without
// text.
func TestFollowerOfTwoStreams(t *testing.T) {
	const out, err = "stdout.txt", "stderr.txt"
	for _, test := range []struct {
		name           string
		files          int // number of files at the start
		raw            bool
		writes         [][2]string
		terminal, pipe string
	}{
		{"two unfinished lines", 2, false, [][2]string{{out, "abc"}, {err, "xyz"}},
			"==> stdout <==\nabc\n\n==> stderr <==\nxyz", "==> stdout <==\nabc\n==> stderr <==\nxyz"},
		{"dots", 1, false, [][2]string{{out, "a\n"}, {err, "."}, {out, "b\n"}, {err, "."}, {out, "c\n"}},
			"a\n\n==> stderr <==\n.\n\n==> stdout <==\nb\n\n==> stderr <==\n.\n\n==> stdout <==\nc\n", "a\nb\nc\n\n==> stderr <==\n.."},
		{"a line that is shown in two parts", 2, false, [][2]string{{out, "ab"}, {err, "e\n"}, {out, "c\nd"}},
			"==> stdout <==\nab\n\n==> stderr <==\ne\n\n==> stdout <==\nc\nd", "==> stderr <==\ne\n\n==> stdout <==\nabc\nd"},
		{"a line end that comes later", 2, false, [][2]string{{out, "ab"}, {err, "e\n"}, {out, "\n"}, {err, "f\n"}, {out, "cd\n"}},
			"==> stdout <==\nab\n\n==> stderr <==\ne\nf\n\n==> stdout <==\ncd\n", "==> stderr <==\ne\n\n==> stdout <==\nab\n\n==> stderr <==\nf\n\n==> stdout <==\ncd\n"},
		{"two line ends that come later", 2, false, [][2]string{{out, "ab"}, {err, "e\n"}, {out, "\n"}, {out, "\n"}, {out, "cd\n"}},
			"==> stdout <==\nab\n\n==> stderr <==\ne\n\n==> stdout <==\n\ncd\n", "==> stderr <==\ne\n\n==> stdout <==\nab\n\ncd\n"},
		{"a bar beside messages", 2, false, [][2]string{{err, "10%"}, {out, "a\n"}, {err, "\r20%"}, {err, "\r30%"}},
			"==> stderr <==\n10%\n\n==> stdout <==\na\n\n==> stderr <==\n20%\r\x1b[K30%", "==> stdout <==\na\n\n==> stderr <==\n30%"},
		{"a stream that comes later", 1, false, [][2]string{{out, "ab"}, {err, "e\n"}, {out, "c\n"}},
			"ab\n\n==> stderr <==\ne\n\n==> stdout <==\nc\n", "==> stderr <==\ne\n\n==> stdout <==\nabc\n"},
		{"one stream", 1, false, [][2]string{{out, "ab"}, {out, "c\n"}}, "abc\n", "abc\n"},
		{"raw", 2, true, [][2]string{{out, "abc"}, {err, "xyz"}}, "==> stdout <==\nabc\n==> stderr <==\nxyz", "==> stdout <==\nabc\n==> stderr <==\nxyz"},
	} {
		for _, terminal := range []bool{true, false} {
			var b strings.Builder
			f := follower{
				p: &pastJobs{out: &b, terminal: terminal}, streams: []string{out, err}, tailOptions: tailOptions{raw: test.raw},
				job: storedJob{Files: []string{out, err}[:test.files]}, next: map[string]int64{}, lines: map[string]*growingLine{},
			}
			for _, w := range test.writes {
				if err := f.print(w[0], []byte(w[1])); err != nil {
					t.Fatal(err)
				}
			}
			want := test.pipe
			if terminal {
				want = test.terminal
			}
			if err := f.end(); err != nil || b.String() != want {
				t.Errorf("%s, terminal %t: %q, %v; want %q", test.name, terminal, &b, err, want)
			}
		}
	}
}

// TestGrowingLineIsBounded checks that a line without an end does not grow in memory.
func TestGrowingLineIsBounded(t *testing.T) {
	var g growingLine
	piece := []byte(strings.Repeat("x", 64<<10))
	printed := 0
	for range 3 * maxPiece / len(piece) {
		if printed += len(g.add(piece)); len(g.raw) > maxPiece+len(piece) {
			t.Fatal(len(g.raw))
		}
	}
	if printed += len(g.end()); printed != 3*maxPiece {
		t.Error(printed)
	}
}
