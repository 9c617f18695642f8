package main

import (
	"strings"
	"testing"
)

// TestGrowingLine: a line is printed as it grows on a terminal, and as a whole elsewhere; what a terminal
// would obey is neither.
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
		{"wider than the terminal", []string{strings.Repeat("x", 30), "\ry\n"}, strings.Repeat("x", 30) + "\ny" + strings.Repeat("x", 29) + "\n", "y" + strings.Repeat("x", 29) + "\n"},
	} {
		for _, c := range []struct {
			columns int
			want    string
		}{{20, test.terminal}, {0, test.pipe}} {
			var b strings.Builder
			g := growingLine{out: &b, redraws: c.columns}
			for _, p := range test.pieces {
				if err := g.add([]byte(p)); err != nil {
					t.Fatal(err)
				}
			}
			if err := g.end(); err != nil || b.String() != c.want {
				t.Errorf("%s, %d columns: %q, %v; want %q", test.name, c.columns, &b, err, c.want)
			}
		}
	}
}

// TestGrowingLineIsBounded: a line without an end does not grow in memory.
func TestGrowingLineIsBounded(t *testing.T) {
	var b strings.Builder
	g := growingLine{out: &b}
	piece := []byte(strings.Repeat("x", 64<<10))
	for range 3 * maxPiece / len(piece) {
		if err := g.add(piece); err != nil || len(g.raw) > maxPiece+len(piece) {
			t.Fatal(err, len(g.raw))
		}
	}
	if err := g.end(); err != nil || b.Len() != 3*maxPiece {
		t.Error(err, b.Len())
	}
}
