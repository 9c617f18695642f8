package screen

import "github.com/mattn/go-runewidth"

// widths are the widths that programs count with (wcwidth): characters that are wide only in East Asian contexts are
// narrow, and a flag is two letters.
var widths = runewidth.Condition{StrictEmojiNeutral: true}

// Width returns the number of columns of a text without control characters.
func Width(text string) (columns int) {
	for _, r := range text {
		columns += runeWidth(r)
	}
	return columns
}

// runeWidth returns the number of columns of a character: 0, 1 or 2.
func runeWidth(r rune) int {
	switch {
	case r < 0x300, r >= 0x2500 && r < 0x25a0: // boxes and blocks
		return 1
	case r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4:
		return 2
	case r >= 0x1160 && r < 0x1200, r >= 0xd7b0 && r < 0xd800, r >= 0xe0000 && r < 0xe0080:
		return 0 // vowels and ends of Hangul syllables; tags, which select the country of a flag
	}
	return widths.RuneWidth(r)
}
