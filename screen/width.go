package screen

import "github.com/mattn/go-runewidth"

// widths are those that programs count with (wcwidth): characters that are wide in
// East Asian contexts alone are narrow, and a flag is two letters.
var widths = runewidth.Condition{StrictEmojiNeutral: true}

// Width returns how many columns a text takes that has no control characters.
func Width(text string) (columns int) {
	for _, r := range text {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth returns how many columns a character takes: 0, 1 or 2.
func runeWidth(r rune) int {
	switch {
	case r < 0x300, r >= 0x2500 && r < 0x25a0: // boxes and blocks
		return 1
	case r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4:
		return 2
	case r >= 0x1160 && r < 0x1200, r >= 0xd7b0 && r < 0xd800, r >= 0xe0000 && r < 0xe0080:
		return 0 // vowels and ends of Hangul syllables; tags, which say whose flag it is
	}
	return widths.RuneWidth(r)
}
