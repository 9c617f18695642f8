package screen

import (
	"unicode"
	"unicode/utf8"
)

// joiner makes one sign of several; other format characters act on the text around them.
const joiner = '\u200d'

// AppendRow appends what any terminal has to be sent to show a row of the snapshot, from its left edge
// on and at most cols columns of it: characters and their styles alone, so that nothing of a program's
// output acts on that terminal: no links, no colours that it has redefined, nothing that turns text
// round. The style is plain
// before and behind. Columns that are left are not erased.
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

// dropFormats takes format characters out of b from an offset on.
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
