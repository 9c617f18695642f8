package screen

import (
	"fmt"
	"strings"
)

// An emulator is a terminal under test: ours, or the reference that ours is compared with.
type emulator interface {
	Write(p []byte)
	Resize(cols, rows int)
	Replies() []byte // since the last call
	look() *view
}

// A view is the state that an emulator shows, in terms that all emulators and corpora share.
type view struct {
	cols, rows int
	cells      [][]viewCell // by row and column
	history    []string     // without blanks at the ends, oldest first
	row, col   int
	pending    bool // the cursor is behind the last column
	visible    bool
	title      string
}

// A viewCell is a place on the screen. The text of an unwritten one is "", and so is that of the place behind a wide
// character, with a width of 0.
type viewCell struct {
	text  string
	width int
	style viewStyle
}

// A viewStyle is the part of a style that corpora contain. A colour is "", the number of one of the 256, or "#" and six
// hexadecimal digits.
type viewStyle struct {
	Fg, Bg                                        string
	Bold, Dim, Italic, Underline, Inverse, Strike bool
}

// text returns the text of a row from one column up to another, blanks included.
func (v *view) text(row, from, to int) string {
	var b strings.Builder
	for _, c := range v.cells[row][from:to] {
		b.WriteString(c.text)
		if c.text == "" && c.width == 1 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// line returns the text of a row, without the blanks at its end.
func (v *view) line(row int) string {
	return strings.TrimRight(v.text(row, 0, len(v.cells[row])), " ")
}

// ours is a Terminal as the tests see one, with the scanner that answers the queries that need no screen.
type ours struct {
	*Terminal
	scanner *Scanner
	read    int64 // by both
	history int
	sent    []byte
}

func newOurs(cols, rows, history int) emulator {
	return &ours{Terminal: NewTerminal(cols, rows, history), scanner: NewScanner(""), history: history}
}

// Write takes output as a job does: the terminal's answers count only for queries that the scanner leaves to it.
func (o *ours) Write(p []byte) {
	o.scanner.Scan(p)
	asked, _ := o.scanner.Queries()
	for _, q := range asked {
		before := min(max(int(q.From-o.read), 0), len(p)) // it may have begun in an earlier piece
		o.Terminal.Write(p[:before])
		o.Terminal.Replies()
		o.Terminal.Write(p[before : q.To-o.read])
		p, o.read = p[q.To-o.read:], q.To
		if answer := o.Terminal.Replies(); q.Screen {
			o.sent = append(o.sent, answer...)
		}
		o.sent = append(o.sent, q.Answer(Display{Cols: o.cols, Rows: o.rows})...)
	}
	o.Terminal.Write(p)
	o.read += int64(len(p))
}

func (o *ours) Replies() []byte {
	sent := o.sent
	o.sent = nil
	return sent
}

func (o *ours) look() *view {
	s := o.Snapshot(o.history)
	v := &view{
		cols: s.Cols, rows: s.Rows, row: s.Cursor.Row, col: s.Cursor.Col,
		pending: s.Cursor.Pending, visible: s.Cursor.Visible, title: s.Title,
	}
	for _, line := range s.Lines {
		cells := make([]viewCell, line.Len())
		for col := range cells {
			c := line.Cell(col)
			cells[col] = viewCell{text: c.Text, width: c.Width, style: styleOf(c.Style)}
			if s.reverse {
				cells[col].style.Inverse = !cells[col].style.Inverse
			}
		}
		v.cells = append(v.cells, cells)
	}
	for _, line := range s.History {
		v.history = append(v.history, line.Text())
	}
	return v
}

func styleOf(s Style) viewStyle {
	has := func(a Attribute) bool { return s.Attributes&a != 0 }
	return viewStyle{
		Fg: colorName(s.Foreground), Bg: colorName(s.Background),
		Bold: has(Bold), Dim: has(Faint), Italic: has(Italic), Inverse: has(Inverse), Strike: has(Strike),
		Underline: s.Underline != NoUnderline,
	}
}

func colorName(c Color) string {
	if c.IsDefault() {
		return ""
	}
	if n, ok := c.Index(); ok {
		return fmt.Sprint(n)
	}
	r, g, b, _ := c.RGB()
	return fmt.Sprintf("#%02x%02x%02x", r, g, b)
}
