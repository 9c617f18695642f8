package base

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"shelld/screen"
)

// Visible shows control and format characters by name, but those in keep: U+2400 has
// pictures of the usual ones, such as ␛, and the others come as <U+0085>.
func Visible(s, keep string) string {
	return visible(s, func(r rune) bool { return !unicode.IsPrint(r) && !strings.ContainsRune(keep, r) })
}

// VisibleControls shows control characters so (see [screen.IsControl]), but those in keep, and
// leaves every other character as it is: spaces of all kinds, and what makes one emoji of several.
// It is for text that is read, where Visible is for a line of which every character counts.
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

// EscapeControls returns JSON with its control characters as escapes, also those that JSON lets
// stand: it means the same.
func EscapeControls(raw []byte) []byte {
	if !bytes.ContainsFunc(raw, screen.IsControl) {
		return raw
	}
	var b bytes.Buffer
	for _, r := range string(raw) { // controls stand in its strings alone
		if screen.IsControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// CellsBehind is how many cells are taken on a row of a terminal if text is printed behind others.
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
