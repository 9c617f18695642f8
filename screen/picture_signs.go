package screen

import "shelld.dev/shelld/screen/font"

// joins reports whether a character is drawn to meet its neighbours: lines, blocks, dots in a grid. Bold and italic do
// not change it, so that no gaps open.
func joins(r rune) bool {
	switch {
	case r < 0x2500:
		return false
	case r <= 0x259f, // box drawing, block elements
		r >= 0x2800 && r <= 0x28ff,   // Braille
		r >= 0xe0b0 && r <= 0xe0bf,   // Powerline
		r >= 0x1cc00 && r <= 0x1ceb3, // more for old computers
		r >= 0x1fb00 && r <= 0x1fbaf: // symbols for old computers
		return true
	}
	return false
}

func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// drawn returns the picture, 8 pixels wide, of a character that the font lacks, or has in a form unsuitable for a
// terminal.
func drawn(r rune) (m mask, ok bool) {
	switch {
	case r < 0x80:
		return mask{}, false
	case r == 0xad: // a hyphen that is visible only at the end of a line, but terminals show it
		return letter('-'), true
	case isRegional(r):
		return letter('A' + r - 0x1f1e6), true
	case r >= 0x2800 && r <= 0x28ff:
		return braille(byte(r)), true
	case r >= 0xe0a0 && r <= 0xe0a2:
		return powerlineSigns[r-0xe0a0], true
	case r >= 0xe0b0 && r <= 0xe0bf:
		return separator(int(r - 0xe0b0)), true
	}
	return mask{}, false
}

func letter(r rune) mask {
	g, _ := font.Lookup(r)
	return g.Rows
}

// braille draws dots of two pixels in a grid that continues from cell to cell. The font has small dots for the unset
// ones, which spoils graphs made of these characters.
func braille(dots byte) (m mask) {
	for bit, at := range [8]struct{ col, row int }{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}} {
		if dots&(1<<bit) != 0 {
			m[4*at.row+1] |= 0x6000 >> (4 * at.col)
			m[4*at.row+2] |= 0x6000 >> (4 * at.col)
		}
	}
	return m
}

// powerlineSigns are a branch, the letters LN, and a lock.
var powerlineSigns = [...]mask{
	{0, 0x6000, 0x6000, 0x6400, 0x6e00, 0x7f00, 0x6400, 0x6400, 0x6c00, 0x7800, 0x7000, 0x6000, 0x6000, 0x6000, 0x6000, 0},
	{0, 0x8000, 0x8000, 0x8000, 0x8000, 0x8000, 0xf000, 0, 0, 0x1100, 0x1900, 0x1500, 0x1300, 0x1100, 0x1100, 0},
	{0, 0, 0, 0x3c00, 0x6600, 0x6600, 0x6600, 0xff00, 0xff00, 0xe700, 0xe700, 0xff00, 0xff00, 0xff00, 0, 0},
}

// separator draws one of Powerline's separators, which fill the height of a cell: in fours, each a filled one and its
// edge alone, once for either side.
func separator(n int) (m mask) {
	for y := range m {
		switch n / 4 {
		case 0: // triangles that point to the side
			m[y] = edge(min(y, cellHeight-1-y), n%2 == 1)
		case 1: // half circles
			m[y] = edge(circle[min(y, cellHeight-1-y)], n%2 == 1)
		case 2: // the lower corners
			m[y] = edge(y/2, n%2 == 1)
		case 3: // the upper ones
			m[y] = edge((cellHeight-1-y)/2, n%2 == 1)
		}
		if n%4 >= 2 {
			m[y] = mirror(m[y])
		}
	}
	return m
}

// circle is the extent of a half circle in each row of its upper half.
var circle = [cellHeight / 2]int{1, 3, 4, 5, 6, 7, 7, 7}

// edge returns a row that is drawn from the left to a column, or only in that column.
func edge(to int, alone bool) uint16 {
	if alone {
		return 0x8000 >> to
	}
	return 0xff00 << (cellWidth - 1 - to) & 0xff00
}

// mirror exchanges left and right of 8 pixels.
func mirror(row uint16) (m uint16) {
	for x := range cellWidth {
		m |= row >> (15 - x) & 1 << (8 + x)
	}
	return m
}

// numberBox draws the number of a character that has no picture: four digits between two lines in one cell, six in two
// cells; an empty box if they do not fit.
func numberBox(r rune, width int) (m mask) {
	const narrow, wide = 4, 6
	switch {
	case width == 2:
		m[0], m[15] = 0xffff, 0xffff
		for i := range wide {
			m.digit(r>>(4*(wide-1-i))&0xf, 1+i%3*5, 2+i/3*7)
		}
	case r <= 0xffff:
		m[1], m[15] = 0xfe00, 0xfe00
		for i := range narrow {
			m.digit(r>>(4*(narrow-1-i))&0xf, i%2*4, 3+i/2*6)
		}
	default:
		for y := 2; y < 14; y++ {
			m[y] = 0x8200
		}
		m[1], m[14] = 0xfe00, 0xfe00
	}
	return m
}

// digits are the hexadecimal digits, 3 pixels wide and 5 high.
var digits = [16][5]uint16{
	{7, 5, 5, 5, 7}, {2, 6, 2, 2, 7}, {7, 1, 7, 4, 7}, {7, 1, 7, 1, 7},
	{5, 5, 7, 1, 1}, {7, 4, 7, 1, 7}, {7, 4, 7, 5, 7}, {7, 1, 1, 2, 2},
	{7, 5, 7, 5, 7}, {7, 5, 7, 1, 7}, {7, 5, 7, 5, 5}, {6, 5, 6, 5, 6},
	{7, 4, 4, 4, 7}, {6, 5, 5, 5, 6}, {7, 4, 7, 4, 7}, {7, 4, 7, 4, 4},
}

func (m *mask) digit(value rune, x, y int) {
	for i, row := range digits[value] {
		m[y+i] |= row << 13 >> x
	}
}
