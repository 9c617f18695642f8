package screen

import "unicode/utf8"

// A cell is a place on the screen. It is as small as possible, because thousands of lines are kept. The zero value is
// an unwritten place in the default colours.
type cell struct {
	char   uint32 // a rune, or with inTable an index of tables.clusters; 0: unwritten
	fg, bg Color
	flags  cellFlags
	extra  uint16 // an index of tables.extras
}

// cellFlags are the attributes of a style and other properties of a cell.
type cellFlags uint16

const (
	attributeBits  cellFlags = 0xff   // an Attribute
	underlineBits  cellFlags = 7 << 8 // an Underline
	underlineShift           = 8
	protected      cellFlags = 1 << 11 // not to be erased: SPA, DECSCA
	wideHead       cellFlags = 1 << 13 // the character takes the next place, too
	wideTail       cellFlags = 1 << 14 // the second half of the character in the place before
)

// inTable marks a character that is not a single rune.
const inTable = 1 << 31

// tables hold the data that does not fit into a cell. They only grow, so that a copy of the two slices stays valid;
// tidy makes new ones.
type tables struct {
	clusters []string // characters with their combining characters
	extras   []extra  // the first one stands for no extra
}

// An extra is the part of a style that few cells have.
type extra struct {
	underline Color
	link      string
	id        string // the ID of OSC 8, which joins the pieces of a link
}

// text returns the character of a cell; "" if the cell is unwritten.
func (t *tables) text(c cell) string {
	switch {
	case c.char == 0:
		return ""
	case c.char&inTable != 0:
		return t.clusters[c.char&^inTable]
	}
	return string(rune(c.char))
}

// appendText appends the visible text of a cell.
func (t *tables) appendText(b []byte, c cell) []byte {
	switch {
	case c.flags&wideTail != 0:
		return b
	case c.char == 0:
		return append(b, ' ')
	case c.char < utf8.RuneSelf:
		return append(b, byte(c.char))
	case c.char&inTable != 0:
		return append(b, t.clusters[c.char&^inTable]...)
	}
	return utf8.AppendRune(b, rune(c.char))
}

func (t *tables) style(c cell) Style {
	s := Style{
		Foreground: c.fg, Background: c.bg,
		Attributes: Attribute(c.flags & attributeBits),
		Underline:  Underline(c.flags & underlineBits >> underlineShift),
	}
	if c.extra != 0 {
		s.UnderlineColor, s.Link = t.extras[c.extra].underline, t.extras[c.extra].link
	}
	return s
}

// styled are the flags that make a place look different from an empty one.
const styled = attributeBits | underlineBits

// looksSame reports whether two cells are drawn in one style.
func looksSame(a, b cell) bool {
	return a.fg == b.fg && a.bg == b.bg && a.flags&styled == b.flags&styled && a.extra == b.extra
}

// Cell returns the cell in a column from 0 to Len.
func (l Line) Cell(col int) Cell {
	c := l.cells[col]
	width := 1
	switch {
	case c.flags&wideHead != 0:
		width = 2
	case c.flags&wideTail != 0:
		width = 0
	}
	return Cell{Text: l.tables.text(c), Width: width, Style: l.tables.style(c)}
}

// Text returns the text of the line, without the blanks at its end.
func (l Line) Text() string { return string(l.appendText(nil, true)) }

// FullText returns the text of the line, with blanks up to its end.
func (l Line) FullText() string { return string(l.appendText(nil, false)) }

func (l Line) appendText(b []byte, trim bool) []byte {
	begin := len(b)
	for _, c := range l.cells {
		b = l.tables.appendText(b, c)
	}
	if trim {
		for len(b) > begin && b[len(b)-1] == ' ' {
			b = b[:len(b)-1]
		}
	}
	return b
}

// Runs returns the line in pieces of one style. Unwritten places without a style at its end are left out.
func (l Line) Runs() []Run {
	end := len(l.cells)
	for end > 0 && l.cells[end-1].char == 0 && l.cells[end-1].flags&wideTail == 0 && looksSame(l.cells[end-1], cell{}) {
		end--
	}
	var runs []Run
	for col := 0; col < end; {
		from, text := col, []byte(nil)
		for ; col < end && looksSame(l.cells[col], l.cells[from]); col++ {
			text = l.tables.appendText(text, l.cells[col])
		}
		runs = append(runs, Run{Col: from, Width: col - from, Text: string(text), Style: l.tables.style(l.cells[from])})
	}
	return runs
}
