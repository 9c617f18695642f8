package screen

import (
	"unicode"
	"unicode/utf8"
)

// joiner makes one sign of several; other format characters act on the text around them.
const joiner = '\u200d'

// AppendRow appends output that makes any terminal show a row of the snapshot, from its left edge and at most cols
// columns of it: only characters and their styles, so that a program's output cannot act on that terminal: no links, no
// colours that the program has redefined, no characters that reorder text. The style is plain before and after. The
// remaining columns are not erased.
func (s *Snapshot) AppendRow(b []byte, row, cols int) []byte {
	l := s.Lines[row]
	end := min(len(l.cells), cols)
	for end > 0 && l.cells[end-1] == (cell{}) {
		end--
	}
	style := "0"
	for col, c := range l.cells[:end] {
		switch {
		case c.flags&wideTail != 0:
			continue
		case c.flags&wideHead != 0 && col+1 == cols:
			c.char, c.flags = 0, c.flags&^wideHead // There is no room for the other half.
		}
		if sgr := l.tables.sgr(c); sgr != style {
			b = append(append(append(b, "\x1b["...), sgr...), 'm')
			style = sgr
		}
		from := len(b)
		b = l.tables.appendText(b, c)
		if c.char >= utf8.RuneSelf {
			b = dropFormats(b, from)
		}
	}
	if style != "0" {
		b = append(b, "\x1b[m"...)
	}
	return b
}

// dropFormats removes format characters from b from an offset on.
func dropFormats(b []byte, from int) []byte {
	to := from
	for at := from; at < len(b); {
		r, size := utf8.DecodeRune(b[at:])
		if r == joiner || !unicode.Is(unicode.Cf, r) {
			to += copy(b[to:], b[at:at+size])
		}
		at += size
	}
	return b[:to]
}
