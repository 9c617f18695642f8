package screen

// A rect is a rectangle of cells, ends excluded.
type rect struct{ top, left, bottom, right int }

// rect reads a rectangle from parameter i on, which counts from the origin.
func (t *Terminal) rect(p *params, i int) (r rect, ok bool) {
	m := t.wholeScreen()
	if t.cursor.origin {
		m = t.margins
	}
	r = rect{
		top: m.top + p.times(i) - 1, left: m.left + p.times(i+1) - 1,
		bottom: m.bottom + 1, right: m.right + 1,
	}
	if n := p.at(i+2, 0); n > 0 {
		r.bottom = min(r.bottom, m.top+n)
	}
	if n := p.at(i+3, 0); n > 0 {
		r.right = min(r.right, m.left+n)
	}
	return r, r.top < r.bottom && r.left < r.right
}

// rectangle does what DEC's operations on rectangles ask for.
func (t *Terminal) rectangle(final byte, p *params) {
	first := 0
	if final == 'x' {
		first = 1
	}
	r, ok := t.rect(p, first)
	if !ok || t.skims {
		return
	}
	t.changed = true
	switch final {
	case 'x':
		t.fillRect(r, p.at(0, 0))
	case 'z': // DECERA
		for row := r.top; row < r.bottom; row++ {
			t.erase(row, r.left, r.right, t.protects == protectISO)
		}
	case '{': // DECSERA
		for row := r.top; row < r.bottom; row++ {
			t.eraseChars(row, r.left, r.right)
		}
	case 'v':
		t.copyRect(r, p)
	case 'r', 't':
		t.changeRect(r, p, final == 't')
	}
}

// eraseChars is selective erasing as DECSERA does it: the style stays.
func (t *Terminal) eraseChars(row, from, to int) {
	l := t.grid.lines[row]
	l.mend(from)
	l.mend(to)
	for i := from; i < to; i++ {
		if c := &l.cells[i]; c.flags&protected == 0 || t.protects != protectDEC {
			c.becomeBlank()
		}
	}
	l.repair()
}

// fillRect is DECFRA.
func (t *Terminal) fillRect(r rect, char int) {
	if char < 0x20 || char == del || char > 0xff || char > 0x7e && char < 0xa0 {
		return
	}
	c := t.cursor.pen
	c.char = uint32(t.cursor.sets.translate(rune(char)))
	for row := r.top; row < r.bottom; row++ {
		l := t.grid.lines[row]
		l.mend(r.left)
		l.mend(r.right)
		for i := r.left; i < r.right; i++ {
			l.cells[i] = c
		}
	}
}

// copyRect is DECCRA. There is one page.
func (t *Terminal) copyRect(r rect, p *params) {
	top, left := p.times(5)-1, p.times(6)-1
	limit := rect{0, 0, t.rows, t.cols}
	if t.cursor.origin {
		top, left = top+t.margins.top, left+t.margins.left
		limit = rect{0, 0, t.margins.bottom + 1, t.margins.right + 1}
	}
	rows, cols := min(r.bottom-r.top, limit.bottom-top), min(r.right-r.left, limit.right-left)
	if rows <= 0 || cols <= 0 {
		return
	}
	copied := make([]cell, 0, rows*cols)
	for row := range rows {
		copied = append(copied, t.grid.lines[r.top+row].cells[r.left:r.left+cols]...)
	}
	for row := range rows {
		l := t.grid.lines[top+row]
		l.mend(left)
		l.mend(left + cols)
		copy(l.cells[left:], copied[row*cols:(row+1)*cols])
		l.repair()
	}
}

// changeRect is DECCARA, or DECRARA, which reverses attributes.
func (t *Terminal) changeRect(r rect, p *params, reverse bool) {
	change := func(c *cell) {
		for i := 4; i < max(p.count(), 5); i++ {
			c.changeAttribute(p.at(i, 0), reverse)
		}
	}
	for row := r.top; row < r.bottom; row++ {
		from, to := r.left, r.right
		if t.switches.stream {
			if row > r.top {
				from = 0
			}
			if row < r.bottom-1 {
				to = t.cols
			}
		}
		cells := t.grid.lines[row].cells
		for i := from; i < to; i++ {
			change(&cells[i])
		}
	}
}

// changeAttribute knows the attributes that these sequences have.
func (c *cell) changeAttribute(n int, reverse bool) {
	flag := map[int]cellFlags{
		1: cellFlags(Bold), 5: cellFlags(Blink), 7: cellFlags(Inverse), 8: cellFlags(Invisible),
		4: cellFlags(SingleUnderline) << underlineShift,
	}
	all := flag[1] | flag[4] | flag[5] | flag[7]
	switch {
	case n == 0 && reverse:
		c.flags ^= all
	case n == 0:
		c.flags &^= all | flag[8]
	case reverse:
		c.flags ^= flag[n]
	case n > 20:
		c.flags &^= flag[n-20]
	default:
		c.flags |= flag[n]
	}
}
