package screen

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
)

// resume is the state, beside the visible screen, that another terminal needs in order to continue as this one would.
type resume struct {
	hidden   []Line // the screen that is not shown
	saved    [2]cursor
	cursor   cursor
	margins  margins
	switches switches
	tabs     []bool
	tables   *tables
	titles   []string // pushed
	protects protection
	open     []byte // the unfinished character or sequence
}

func (t *Terminal) resume(tables *tables) resume {
	r := resume{
		saved: t.saved, cursor: t.cursor, margins: t.margins, switches: t.switches,
		tabs: slices.Clone(t.tabs), tables: tables, titles: slices.Clone(t.titles), protects: t.protects,
		open: t.parser.appendOpen(nil),
	}
	if t.modes.AlternateScreen {
		r.hidden = t.screens[0].copyLines(tables)
	}
	return r
}

// AppendANSI appends output that makes a fresh terminal of the same size show the same and continue as this one would:
// both screens, the history before the normal one if history is set, cursor, colours, margins and modes.
func (s *Snapshot) AppendANSI(b []byte, history bool) []byte {
	for piece := range s.ANSI(history) {
		b = append(b, piece...)
	}
	return b
}

// ANSI returns the output of AppendANSI in pieces of about a row each. A piece may be long if each of its cells has a
// link of its own. No character is cut in two. A piece is valid until the next one is requested.
func (s *Snapshot) ANSI(history bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		b := s.appendHead(nil)
		normal := s.Lines
		if s.Modes.AlternateScreen {
			normal = s.resume.hidden
		}
		if history {
			for i, l := range s.History {
				b = s.appendLine(b, l)
				next := normal[0]
				if i+1 < len(s.History) {
					next = s.History[i+1]
				}
				if b = s.appendBreak(b, l, next); !yield(b) {
					return
				}
				b = b[:0]
			}
		}
		if b = s.appendScreen(b, normal, yield); b == nil {
			return
		}
		b = s.appendSaved(b, normal, s.resume.saved[0])
		if s.Modes.AlternateScreen {
			b = append(b, "\x1b[?1047h\x1b[H"...)
			if b = s.appendScreen(b, s.Lines, yield); b == nil {
				return
			}
			b = s.appendSaved(b, s.Lines, s.resume.saved[1])
		}
		b = s.appendTabs(b)
		b = s.appendModes(b)
		b = s.appendCursor(b)
		yield(append(b, s.resume.open...))
	}
}

// appendHead resets the terminal and sets these titles and colours.
func (s *Snapshot) appendHead(b []byte) []byte {
	b = append(b, "\x1bc"...)
	for _, title := range s.resume.titles {
		b = append(appendTitle(b, title), "\x1b[22;2t"...)
	}
	if s.Title != "" || len(s.resume.titles) > 0 {
		b = appendTitle(b, s.Title)
	}
	return s.appendPalette(b)
}

func appendTitle(b []byte, title string) []byte {
	return append(append(append(b, "\x1b]2;"...), title...), "\x1b\\"...)
}

// appendScreen draws all lines and yields the output after each. It returns nil if the consumer wants no more. The
// screen ends up in its place: the lines that the history has pushed down push it up again.
func (s *Snapshot) appendScreen(b []byte, lines []Line, yield func([]byte) bool) []byte {
	for i, l := range lines {
		b = s.appendLine(b, l)
		if i < len(lines)-1 {
			b = s.appendBreak(b, l, lines[i+1])
		}
		if !yield(b) {
			return nil
		}
		b = b[:0]
	}
	return append(b, "\x1b[m"...)
}

// appendBreak goes to the next line: by writing past the end if the line is wrapped.
func (s *Snapshot) appendBreak(b []byte, l, next Line) []byte {
	full := len(l.cells) == s.Cols && (l.cells[s.Cols-1].char != 0 || l.cells[s.Cols-1].flags&wideTail != 0)
	switch {
	case l.Wrapped && full:
		// A plain blank is written first: a new row takes the background of the character that wraps into it.
		b = append(b, " \r"...)
	case l.Wrapped && len(next.cells) > 0 && next.cells[0].flags&wideHead != 0:
		// A wide character does not fit into the last column, so this one goes to the next row.
		b = append(appendCSI(b, s.Cols, 'G'), "\u3000\r"...)
	default:
		return append(b, "\r\n"...)
	}
	if len(next.cells) == 0 || next.cells[0].char == 0 {
		b = append(b, "\x1b[X"...) // the text that it continued with was erased
	}
	return b
}

func (s *Snapshot) appendLine(b []byte, l Line) []byte {
	end := len(l.cells)
	for end > 0 && l.cells[end-1] == (cell{}) {
		end--
	}
	last := cell{}
	b = append(b, "\x1b[m"...)
	for col := 0; col < end; col++ {
		c := l.cells[col]
		if c.flags&wideTail != 0 {
			continue
		}
		if !looksSame(c, last) || (c.flags^last.flags)&protected != 0 {
			b = l.tables.appendStyle(b, c, last)
			last = c
		}
		if c.char != 0 {
			b = l.tables.appendText(b, c)
			continue
		}
		n := 1
		for col+n < end && l.cells[col+n].char == 0 && looksSame(l.cells[col+n], c) {
			n++
		}
		b = appendCSI(b, n, 'X')
		if b = appendCSI(b, n, 'C'); col+n == s.Cols {
			break
		}
		col += n - 1
	}
	return l.tables.appendStyle(b, cell{}, last)
}

func appendCSI(b []byte, n int, final byte) []byte {
	return append(strconv.AppendInt(append(b, "\x1b["...), int64(n), 10), final)
}

// appendStyle changes the style from that of last to that of c.
func (t *tables) appendStyle(b []byte, c, last cell) []byte {
	if t.extras[c.extra].link != t.extras[last.extra].link || t.extras[c.extra].id != t.extras[last.extra].id {
		b = append(b, "\x1b]8;"...)
		if id := t.extras[c.extra].id; id != "" {
			b = append(append(b, "id="...), id...)
		}
		b = append(append(append(b, ';'), t.extras[c.extra].link...), "\x1b\\"...)
	}
	b = append(append(append(b, "\x1b["...), t.sgr(c)...), 'm')
	if (c.flags^last.flags)&protected != 0 {
		if c.flags&protected != 0 {
			return append(b, "\x1b[1\"q"...)
		}
		return append(b, "\x1b[0\"q"...)
	}
	return b
}

// sgr returns the SGR numbers of a style, starting from a plain one.
func (t *tables) sgr(c cell) string {
	b := []byte{'0'}
	for _, a := range []struct {
		bit    Attribute
		number int
	}{{Bold, 1}, {Faint, 2}, {Italic, 3}, {Blink, 5}, {Inverse, 7}, {Invisible, 8}, {Strike, 9}, {Overline, 53}} {
		if Attribute(c.flags&attributeBits)&a.bit != 0 {
			b = fmt.Appendf(b, ";%d", a.number)
		}
	}
	switch u := Underline(c.flags & underlineBits >> underlineShift); u {
	case NoUnderline:
	case SingleUnderline:
		b = append(b, ";4"...)
	default:
		b = fmt.Appendf(b, ";4:%d", u)
	}
	b = appendColor(b, c.fg, 30)
	b = appendColor(b, c.bg, 40)
	if c.extra != 0 {
		b = appendColor(b, t.extras[c.extra].underline, 50)
	}
	return string(b)
}

// appendColor appends the numbers of a colour; base is 30, 40, or 50 for the colour of underlines.
func appendColor(b []byte, c Color, base int) []byte {
	if n, ok := c.Index(); ok {
		switch {
		case n < 8 && base < 50:
			return fmt.Appendf(b, ";%d", base+int(n))
		case n < 16 && base < 50:
			return fmt.Appendf(b, ";%d", base+60+int(n)-8)
		case base == 50:
			return fmt.Appendf(b, ";58:5:%d", n)
		}
		return fmt.Appendf(b, ";%d;5;%d", base+8, n)
	}
	if red, green, blue, ok := c.RGB(); ok {
		if base == 50 {
			return fmt.Appendf(b, ";58:2::%d:%d:%d", red, green, blue)
		}
		return fmt.Appendf(b, ";%d;2;%d;%d;%d", base+8, red, green, blue)
	}
	return b
}

func (s *Snapshot) appendPalette(b []byte) []byte {
	standard := standardPalette()
	if s.Palette == nil || *s.Palette == *standard {
		return b
	}
	for n, c := range s.Palette.Colors {
		if c != standard.Colors[n] {
			b = fmt.Appendf(b, "\x1b]4;%d;%s\x1b\\", n, c.spec())
		}
	}
	for n := 10; n <= 12; n++ {
		if c := *s.Palette.special(n); c != *standard.special(n) {
			b = fmt.Appendf(b, "\x1b]%d;%s\x1b\\", n, c.spec())
		}
	}
	return b
}

// appendSaved makes the terminal save a cursor, on a screen with these lines.
func (s *Snapshot) appendSaved(b []byte, lines []Line, c cursor) []byte {
	if (c == cursor{sets: newCharsets()}) {
		return b
	}
	if c.origin {
		b = append(b, "\x1b[?6h"...) // there are no margins yet
	}
	b = fmt.Appendf(b, "\x1b[%d;%dH", c.row+1, c.col+1)
	if c.pending {
		b = appendPending(b, lines[c.row], c.col)
	}
	b = s.appendPen(b, c)
	return append(b, "\x1b7\x1b[?6l\x1b[m\x1b]8;;\x1b\\\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[0\"q"...)
}

// appendPen selects the style and the character sets of a cursor.
func (s *Snapshot) appendPen(b []byte, c cursor) []byte {
	b = s.resume.tables.appendStyle(b, c.pen, cell{})
	for i, set := range c.sets.g {
		if set != ascii {
			b = append(b, esc, "()*+"[i], byte(set))
		}
	}
	switch c.sets.gl {
	case 1:
		b = append(b, shiftOut)
	case 2:
		b = append(b, "\x1bn"...)
	case 3:
		b = append(b, "\x1bo"...)
	}
	return b
}

func (s *Snapshot) appendTabs(b []byte) []byte {
	usual := true
	for i, set := range s.resume.tabs {
		usual = usual && set == (i%8 == 0)
	}
	if usual {
		return b
	}
	b = append(b, "\x1b[3g"...)
	for i, set := range s.resume.tabs {
		if set {
			b = fmt.Appendf(b, "\x1b[%dG\x1bH", i+1)
		}
	}
	return b
}

// appendModes sets margins and modes. The modes that affect where text goes come last.
func (s *Snapshot) appendModes(b []byte) []byte {
	r := &s.resume
	private := func(on bool, n int) {
		if on {
			b = fmt.Appendf(b, "\x1b[?%dh", n)
		}
	}
	private(s.Modes.ApplicationCursor, 1)
	private(s.Modes.ApplicationKeypad, 66)
	private(s.Modes.BackarrowKey, 67)
	private(s.Modes.BracketedPaste, 2004)
	private(s.Modes.FocusEvents, 1004)
	for n, mode := range mouseModes {
		private(s.Modes.Mouse == mode, int(n))
	}
	for n, enc := range mouseEncodings {
		private(s.Modes.MouseEncoding == enc, int(n))
	}
	private(r.switches.reverse, 5)
	private(r.switches.allowColumns, 40)
	private(r.switches.keepOnColumns, 95)
	private(r.switches.moreFix, 41)
	private(r.switches.reverseWrap, 45)
	private(r.switches.reverseWrapMore, 1045)
	private(r.switches.leftRight, 69)
	if r.switches.insert {
		b = append(b, "\x1b[4h"...)
	}
	if s.Modes.NewLine {
		b = append(b, "\x1b[20h"...)
	}
	if r.margins.top != 0 || r.margins.bottom != s.Rows-1 {
		b = fmt.Appendf(b, "\x1b[%d;%dr", r.margins.top+1, r.margins.bottom+1)
	}
	if r.margins.left != 0 || r.margins.right != s.Cols-1 {
		b = fmt.Appendf(b, "\x1b[%d;%ds", r.margins.left+1, r.margins.right+1)
	}
	return b
}

// appendCursor comes last: it moves the cursor to its place, also behind the last column.
func (s *Snapshot) appendCursor(b []byte) []byte {
	c := s.resume.cursor
	row, col := c.row, c.col
	if c.origin {
		b = append(b, "\x1b[?6h"...)
		row, col = row-s.resume.margins.top, col-s.resume.margins.left
	}
	if shape := 2*int(s.Cursor.Shape) + 1; shape > 1 || !s.Cursor.Blink {
		if !s.Cursor.Blink {
			shape++
		}
		b = fmt.Appendf(b, "\x1b[%d q", shape)
	}
	if !s.Cursor.Visible {
		b = append(b, "\x1b[?25l"...)
	}
	b = fmt.Appendf(b, "\x1b[%d;%dH", row+1, col+1)
	if c.pending {
		b = appendPending(b, s.Lines[c.row], c.col)
	}
	b = s.appendPen(b, c)
	if s.resume.switches.noWrap {
		b = append(b, "\x1b[?7l"...)
	}
	if s.resume.protects == protectISO {
		b = append(b, "\x1bW"...)
		if c.pen.flags&protected != 0 {
			b = append(b, "\x1bV"...)
		}
	}
	return b
}

// appendPending writes the last character of a row again, at the cursor.
func appendPending(b []byte, l Line, col int) []byte {
	at := l.cells[col]
	if at.flags&wideTail != 0 {
		at = l.cells[col-1]
		b = append(b, '\b')
	}
	if at.char == 0 {
		at.char = ' ' // erased since: a blank is nearly the same
	}
	b = l.tables.appendStyle(b, at, cell{})
	b = l.tables.appendText(b, at)
	return l.tables.appendStyle(b, cell{}, at)
}
