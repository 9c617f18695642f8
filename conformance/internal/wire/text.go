package wire

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// isToken reports whether a text can be the name of a header, by HTTP's rules. Otherwise a line that was printed
// between two messages would be accepted as a header.
func isToken(name string) bool {
	const others = "!#$%&'*+-.^_`|~"
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(others, r)
	})
}

// escapes matches the escapes of JSON strings: \uXXXX or any other.
var escapes = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// notText returns why a message is no valid text, or "". Go's decoder would silently replace invalid parts by
// U+FFFD.
func notText(raw []byte) string {
	if !utf8.Valid(raw) {
		return "this is no UTF-8"
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return ""
	}
	high := -1 // offset at which the other half of a pair must begin
	for _, at := range escapes.FindAllIndex(raw, -1) {
		var r rune
		if raw[at[0]+1] == 'u' {
			n, _ := strconv.ParseUint(string(raw[at[0]+2:at[1]]), 16, 16) // If this fails, Decode returns an error.
			r = rune(n)
		}
		low := utf16.IsSurrogate(r) && r >= 0xdc00
		if low && at[0] != high || !low && high >= 0 {
			return "half of a surrogate pair stands alone"
		}
		if high = -1; utf16.IsSurrogate(r) && !low {
			high = at[1]
		}
	}
	if high >= 0 {
		return "half of a surrogate pair stands alone"
	}
	return ""
}
