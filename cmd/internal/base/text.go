package base

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible shows control and format characters by name, but those in keep: U+2400 has
// pictures of the usual ones, such as ␛, and the others come as <U+0085>.
func Visible(s, keep string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case strings.ContainsRune(keep, r) || unicode.IsPrint(r):
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
