package main

import (
	"io"
	"strings"
	"testing"
)

// TestPiecesOfALongLine checks that a line is shown as if it had been read in one piece, however long it is.
func TestPiecesOfALongLine(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct{ name, text, want string }{
		{"plain", "a\n" + x(3*maxPiece+7) + "\nb\n", "a\n" + x(3*maxPiece+7) + "\nb\n"},
		{"a character over the edge", x(maxPiece-1) + "é" + x(9), x(maxPiece-1) + "é" + x(9)},
		{"a long character over the edge", x(maxPiece-2) + "😀\n", x(maxPiece-2) + "😀\n"},
		{"a colour over the edge", x(maxPiece-3) + "\x1b[31mred\x1b[0m\n", x(maxPiece-3) + "red\n"},
		{"the end of a title over the edge", x(maxPiece-9) + "\x1b]0;title\x1b\\red\n", x(maxPiece-9) + "red\n"},
		{"a line end over the edge", x(maxPiece-1) + "\r\nb\n", x(maxPiece-1) + "\nb\n"},
		{"redrawn", strings.Repeat(x(20)+"\r", maxPiece/10) + strings.Repeat("y", 20) + "\nb\n", strings.Repeat("y", 20) + "\nb\n"},
	} {
		var b strings.Builder
		err := pieces(strings.NewReader(test.text), func(p []byte) error {
			_, err := io.WriteString(&b, plainText(p))
			return err
		})
		got := b.String()
		if err != nil || got != test.want {
			t.Errorf("%s: %d bytes, not %d, the last %.60q, %v", test.name, len(got), len(test.want), got[max(0, len(got)-60):], err)
		}
	}
}
