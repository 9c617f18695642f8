package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A corpusExpect is the state of a terminal that a corpus expects after a step. All of it is optional. It does not
// distinguish an unwritten place from a written blank, and neither do these tests.
type corpusExpect struct {
	Lines        []string
	RowText      map[int]string `json:"row_text"`
	Rects        []corpusRect
	Cells        map[place]corpusCell
	Glyphs       map[place]corpusGlyph
	Cursor       []*int // row and column
	CursorHidden *bool  `json:"cursor_hidden"`
	Attrs        *[]corpusAttrs
	Title        *string
	Reply        []byte `json:"reply_base64"`
	Scrollback   *[]string
}

// complaints returns the differences from the expected state.
func (x *corpusExpect) complaints(v *view, reply []byte) []string {
	c := &comparison{view: v}
	if len(v.cells) != v.rows {
		c.add("%d rows of cells for %d rows", len(v.cells), v.rows)
		return c.complaints
	}
	for row, want := range x.Lines {
		c.row(row, want)
	}
	for row, want := range x.RowText {
		c.row(row, want)
	}
	for _, r := range x.Rects {
		c.rect(r)
	}
	for at, want := range x.Cells {
		c.cell(at, want)
	}
	for at, want := range x.Glyphs {
		c.glyph(at, want.text, want.width)
	}
	if x.Cursor != nil {
		c.cursor(x.Cursor)
	}
	if x.CursorHidden != nil && v.visible == *x.CursorHidden {
		c.add("cursor visible is %t", v.visible)
	}
	if x.Attrs != nil {
		c.attrs(*x.Attrs)
	}
	if x.Title != nil && v.title != *x.Title {
		c.add("title %q, want %q", v.title, *x.Title)
	}
	if x.Reply != nil && !bytes.Equal(reply, x.Reply) {
		c.add("reply %q, want %q", reply, x.Reply)
	}
	if x.Scrollback != nil {
		c.history(*x.Scrollback)
	}
	return c.complaints
}

// A corpusRect is rows of text between two columns; the ends are not part of it.
type corpusRect struct {
	top, left, bottom, right int
	text                     []string
}

func (r *corpusRect) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&r.top, &r.left, &r.bottom, &r.right, &r.text})
}

// A corpusCell is a place of libvterm's screen, without its colours.
type corpusCell struct {
	Text  string `json:"t"`
	Width int    `json:"w"`
	Flags viewStyle
}

// A corpusGlyph is the content of a place in libvterm's lower layer.
type corpusGlyph struct {
	text  string
	width int
}

func (g *corpusGlyph) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&g.text, &g.width})
}

// A corpusAttrs is the style of n places. Places that no such list names are plain.
type corpusAttrs struct {
	row, col, n int
	style       viewStyle
}

func (a *corpusAttrs) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&a.row, &a.col, &a.n, &a.style})
}

// A place is a row and a column, from 0.
type place struct{ row, col int }

func (p *place) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "%d,%d", &p.row, &p.col)
	return err
}

// A comparison collects the differences of a view from the expected state.
type comparison struct {
	view       *view
	complaints []string
}

func (c *comparison) add(format string, args ...any) {
	c.complaints = append(c.complaints, fmt.Sprintf(format, args...))
}

func (c *comparison) row(row int, want string) {
	if row >= c.view.rows {
		c.add("no row %d", row)
	} else if got := c.view.line(row); got != strings.TrimRight(want, " ") {
		c.add("row %d %q, want %q", row, got, want)
	}
}

func (c *comparison) rect(r corpusRect) {
	if r.bottom > c.view.rows || r.right > c.view.cols {
		c.add("%d×%d cells have no place %d,%d", c.view.rows, c.view.cols, r.bottom-1, r.right-1)
		return
	}
	for i, want := range r.text {
		got := strings.TrimRight(c.view.text(r.top+i, r.left, r.right), " ")
		if got != strings.TrimRight(want, " ") {
			c.add("row %d col %d to %d %q, want %q", r.top+i, r.left, r.right, got, want)
		}
	}
}

func (c *comparison) cell(at place, want corpusCell) {
	if !c.glyph(at, want.Text, want.Width) {
		return
	}
	got := c.view.cells[at.row][at.col].style
	got.Fg, got.Bg = "", ""
	if got != want.Flags {
		c.add("%v %+v, want %+v", at, got, want.Flags)
	}
}

func (c *comparison) glyph(at place, text string, width int) bool {
	if at.row >= c.view.rows || at.col >= c.view.cols {
		c.add("no place %v", at)
		return false
	}
	got := c.view.cells[at.row][at.col]
	if strings.TrimRight(got.text, " ") != strings.TrimRight(text, " ") || got.width != width {
		c.add("%v %q of width %d, want %q of %d", at, got.text, got.width, text, width)
	}
	return true
}

// cursor compares a position with the cursor's. A column behind the last means that the next character wraps, and is
// reported as the last column. Terminals differ in which sequences cancel that wrap; the place of the next character
// shows it.
func (c *comparison) cursor(want []*int) {
	row, col := c.view.row, c.view.col
	if want[0] != nil {
		row = *want[0]
	}
	if want[1] != nil {
		col = min(*want[1], c.view.cols-1)
	}
	if c.view.row != row || c.view.col != col {
		c.add("cursor %d,%d (pending %t), want %d,%d", c.view.row, c.view.col, c.view.pending, row, col)
	}
}

func (c *comparison) attrs(want []corpusAttrs) {
	styles := map[place]viewStyle{}
	for _, a := range want {
		for i := range a.n {
			styles[place{a.row, a.col + i}] = a.style
		}
	}
	for row, cells := range c.view.cells {
		for col := 0; col < len(cells); col++ {
			at := place{row, col}
			if cells[col].style == styles[at] {
				continue
			}
			from, got, wanted := col, cells[col].style, styles[at]
			for col+1 < len(cells) && cells[col+1].style == got && styles[place{row, col + 1}] == wanted {
				col++
			}
			c.add("row %d col %d to %d %+v, want %+v", row, from, col+1, got, wanted)
		}
	}
}

func (c *comparison) history(want []string) {
	got := c.view.history
	if len(got) != len(want) {
		c.add("%d lines of history, want %d", len(got), len(want))
		return
	}
	for i := range want {
		if got[i] != want[i] {
			c.add("history %d %q, want %q", i, got[i], want[i])
		}
	}
}
