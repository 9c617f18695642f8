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

// pasteMarks are what begins and ends a paste, in both ways to write them: ESC [
// can be one character.
var pasteMarks = strings.NewReplacer(
	pasteBegin, "", pasteEnd, "", "\u009b200~", "", "\u009b201~", "",
	"\r\n", "\r", "\n", "\r",
)

// Paste returns what a terminal in these modes sends for a pasted text: with marks
// around it where the program has asked for them, and with carriage returns for
// line ends, as the Enter key has them.
//
// A text must not be able to end its own paste, and be taken for typing from there
// on. So the marks themselves are removed, and so is every other control character
// but tabs and line ends: they are what the kernel and programs act upon (an
// interrupt, an end of file, an escape sequence), with marks around them or not.
// Without an escape character no mark can come together of what is left.
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
