package screen

import (
	"slices"
	"strings"
	"unicode"
)

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// pasteMarks removes the marks around a paste, in both notations: ESC [ can be one character. It also replaces line
// ends.
var pasteMarks = strings.NewReplacer(
	pasteBegin, "", pasteEnd, "", "\u009b200~", "", "\u009b201~", "",
	"\r\n", "\r", "\n", "\r",
)

// Paste returns the bytes that a terminal in these modes sends for a pasted text: with marks around it if the program
// has asked for them, and with carriage returns for line ends, as from the Enter key.
//
// A text must not be able to end its own paste and be taken for typed input from there on. So the marks themselves are
// removed, and so is every other control character except tabs and line ends: the kernel and programs act on them (an
// interrupt, an end of file, an escape sequence), with marks around them or not. Without an escape character the rest
// cannot form a new mark.
func Paste(text string, m Modes) []byte {
	text = pasteMarks.Replace(strings.ToValidUTF8(text, ""))
	body := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\r' {
			return -1
		}
		return r
	}, text)
	if !m.BracketedPaste {
		return []byte(body)
	}
	return slices.Concat([]byte(pasteBegin), []byte(body), []byte(pasteEnd))
}
