package base

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"shelld.dev/shelld/screen"
)

// Visible replaces control and format characters, except those in keep, with names: the usual ones with their pictures
// from U+2400, such as ␛, the others with text such as <U+0085>.
func Visible(s, keep string) string {
	return visible(s, func(r rune) bool { return !unicode.IsPrint(r) && !strings.ContainsRune(keep, r) })
}

// VisibleControls replaces only control characters (see [screen.IsControl]), except those in keep, in the same way. All
// other characters stay: all kinds of spaces, and the joiners within an emoji. It is for running text; Visible is for a
// line of which every character counts.
func VisibleControls(s, keep string) string {
	return visible(s, func(r rune) bool { return screen.IsControl(r) && !strings.ContainsRune(keep, r) })
}

func visible(s string, byName func(rune) bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case !byName(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune('␡')
		default:
			fmt.Fprintf(&b, "<%U>", r)
		}
	}
	return b.String()
}

// EscapeControls escapes all control characters in JSON, including those that JSON permits unescaped. The meaning stays
// the same.
func EscapeControls(raw []byte) []byte {
	if !bytes.ContainsFunc(raw, screen.IsControl) {
		return raw
	}
	var b bytes.Buffer
	for _, r := range string(raw) { // Control characters occur only in JSON strings.
		if screen.IsControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// CellsBehind returns the number of cells taken on a terminal row after text is printed behind cells others.
func CellsBehind(cells int, text string) int {
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		cells, text = 0, text[i+1:]
	}
	for i, part := range strings.Split(text, "\t") {
		if i > 0 {
			cells += 8 - cells%8
		}
		cells += screen.Width(part)
	}
	return cells
}
