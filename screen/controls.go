package screen

import "strings"

// IsControl reports whether r is a control character: one that terminals and editors act on, and that is not part of
// any text. These are
//   - C0, DEL and C1 (U+0000 to U+001F, U+007F to U+009F). Many terminals take U+009B, U+0090 and
//     U+009D for ESC [, ESC P and ESC ];
//   - the bidirectional embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069),
//     which show text in another order than it has.
//
// Other invisible characters do not count: the joiners of emoji and of Persian (U+200C, U+200D), variation selectors,
// directional marks (U+200E, U+200F, U+061C), the word break of Thai (U+200B) and U+FEFF belong to texts, and do not
// change the text around them.
func IsControl(r rune) bool {
	return r < 0x20 || r >= del && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// WithoutControls removes the control characters from s, except for those in keep.
func WithoutControls(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if IsControl(r) && !strings.ContainsRune(keep, r) {
			return -1
		}
		return r
	}, s)
}
