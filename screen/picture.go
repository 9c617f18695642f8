package screen

import (
	"fmt"

	"shelld.dev/shelld/screen/font"
)

// The size of a cell in pixels. A wide character has two cells.
const (
	cellWidth  = 8
	cellHeight = font.Height
)

// maxPictureCells is the size of the largest screen that is drawn: 1000 columns of 262 rows, or 65,535 of 4. The
// picture has 33 million pixels then.
const maxPictureCells = 1 << 18

// PNG returns a picture of the screen with its cursor, 8 pixels for each column and 16 for each row, in the PNG format:
// with a palette if it has at most 256 colours. Blinking text is drawn as steady. A screen of more than 262,144 cells
// is an error. Besides the PNG itself it needs 1 MB, and at most 700 bytes for each column.
func (s *Snapshot) PNG() ([]byte, error) {
	switch {
	case s.Cols < 1 || s.Rows < 1:
		return nil, fmt.Errorf("a screen of %d columns and %d rows has nothing to draw", s.Cols, s.Rows)
	case s.Cols > maxPictureCells/s.Rows:
		return nil, fmt.Errorf("a screen of %d columns and %d rows is too large for a picture (at most %d cells); make the terminal smaller, or ask for text", s.Cols, s.Rows, maxPictureCells)
	}
	p := newPainter(s)
	p.chooseInks()
	return p.encode()
}

// FontLicense returns the license of the font that pictures are drawn with, and the names of its authors. It must be
// available wherever the program is.
func FontLicense() string { return font.License() }

// A painter draws a screen, a row of cells at a time.
type painter struct {
	snapshot *Snapshot
	colors   colors
	inks     inks
	width    int   // in pixels
	row      int   // the row of cells in pixels; -1: none
	pixels   []rgb // of that row, each from inks
}

func newPainter(s *Snapshot) *painter {
	p := &painter{snapshot: s, colors: colorsOf(s), width: s.Cols * cellWidth, row: -1}
	p.pixels = make([]rgb, p.width*cellHeight)
	return p
}

// chooseInks finds the colours of the picture, which precede the pixels in the file. It draws everything once.
func (p *painter) chooseInks() {
	for row := 0; row < p.snapshot.Rows && !p.inks.trueColor; row++ {
		p.paintRow(row)
		p.inks.trueColor = len(p.inks.palette) > paletteColors
	}
	p.row = -1
}

func (p *painter) paintRow(row int) {
	p.row = row
	var line Line
	if row < len(p.snapshot.Lines) {
		line = p.snapshot.Lines[row]
	}
	cursor := p.cursorIn(row)
	for col := 0; col < p.snapshot.Cols; {
		c := cellOf(line, col, p.snapshot.Cols)
		p.paintCell(c, col, cursor >= col && cursor < col+c.Width)
		col += c.Width
	}
}

// cursorIn returns the column of the cursor, -1 if it is in another row or invisible.
func (p *painter) cursorIn(row int) int {
	if c := p.snapshot.Cursor; c.Visible && c.Row == row {
		return c.Col
	}
	return -1
}

// cellOf returns the cell to draw in a column of a screen of cols columns, with a Width of 1 or 2. It is blank if the
// line has no cell there, or only the second half of a wide character that is gone.
func cellOf(line Line, col, cols int) Cell {
	if col >= line.Len() {
		return Cell{Width: 1}
	}
	c := line.Cell(col)
	switch {
	case c.Width == 0:
		c.Text, c.Width = "", 1
	case c.Width == 2 && (col+1 >= cols || col+1 < line.Len() && line.Cell(col+1).Width != 0):
		c.Width = 1
	}
	return c
}

func (p *painter) paintCell(c Cell, col int, cursor bool) {
	shape, look := p.snapshot.Cursor.Shape, p.colors.look(c.Style)
	block := cursor && shape != UnderlineCursor && shape != BarCursor
	if block {
		look = p.colors.underCursor(look)
	}
	a := area{x: col * cellWidth, width: c.Width * cellWidth}
	if c.Style.Attributes&Invisible != 0 {
		p.fill(a, glyph{}, look)
	} else {
		p.fill(a, glyphOf(c.Text, c.Width, c.Style.Attributes), look)
		p.drawLines(a, c.Style, look)
	}
	switch {
	case cursor && shape == UnderlineCursor:
		p.drawMask(a, underlineCursor, p.colors.cursorOn(look))
	case cursor && shape == BarCursor:
		p.drawMask(area{a.x, cellWidth}, barCursor, p.colors.cursorOn(look))
	}
}

// An area is the place of a cell in its row, in pixels.
type area struct{ x, width int }

// fill draws a glyph and its background.
func (p *painter) fill(a area, g glyph, l look) {
	ground := p.inks.of(l.ground)
	text, half := ground, ground
	if g.full != (mask{}) {
		text = p.inks.of(l.text)
	}
	if g.half != (mask{}) {
		half = p.inks.of(mix(l.text, mix(l.text, l.ground))) // A thin line of half the colour is hard to see.
	}
	for y := range cellHeight {
		row := p.pixels[y*p.width+a.x:][:a.width]
		full, part := g.full[y], g.half[y]
		for x := range row {
			switch bit := uint16(1) << 15 >> x; {
			case full&bit != 0:
				row[x] = text
			case part&bit != 0:
				row[x] = half
			default:
				row[x] = ground
			}
		}
	}
}

// drawMask draws over the existing pixels, the same for each cell of an area.
func (p *painter) drawMask(a area, m mask, c rgb) {
	ink := p.inks.of(c)
	for y, bits := range m {
		if bits == 0 {
			continue
		}
		row := p.pixels[y*p.width+a.x:][:a.width]
		for x := range row {
			if bits&(1<<15>>(x%cellWidth)) != 0 {
				row[x] = ink
			}
		}
	}
}
