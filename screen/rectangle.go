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

// rectangle performs DEC's operations on rectangles.
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

// eraseChars erases selectively as DECSERA does: the style stays.
func (t *Terminal) eraseChars(row, from, to int) {
	l := t.grid.lines[row]
	l.mend(from)
	l.mend(to)
	l.use(to)
	for i := from; i < to; i++ {
		if c := &l.cells[i]; c.flags&protected == 0 || t.protects != protectDEC {
			c.becomeBlank()
		}
	}
	t.did(to - from + l.repair())
}

// fillRect handles DECFRA.
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
		l.use(r.right)
		fillCells(l.cells[r.left:r.right], c)
		t.did(r.right - r.left + lineWork)
	}
}

// copyRect handles DECCRA. There is one page.
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
	for i := range rows {
		row := i
		if top > r.top {
			row = rows - 1 - i // do not overwrite rows that are still to be copied
		}
		from := t.grid.lines[r.top+row].cells[r.left : r.left+cols]
		l := t.grid.lines[top+row]
		l.mend(left)
		l.mend(left + cols)
		l.use(left + cols)
		if left+cols == t.cols {
			l.wrapped = false
		}
		copy(l.cells[left:], from)
		t.did(cols + l.repair())
	}
}

// changeRect handles DECCARA, or DECRARA, which reverses attributes.
func (t *Terminal) changeRect(r rect, p *params, reverse bool) {
	var change attributeChange
	for i := 4; i < max(p.count(), 5); i++ {
		change.add(p.at(i, 0), reverse)
	}
	apply := func(c *cell) {
		c.flags = c.flags&^change.clear ^ change.flip | change.set
		if c.char == 0 && c.flags&wideTail == 0 && c.flags&styled != 0 {
			c.char = ' ' // the cell becomes visible
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
		t.grid.lines[row].use(to)
		cells := t.grid.lines[row].cells
		if cells[from].flags&wideTail != 0 {
			from-- // both halves of a character look the same
		}
		if to < len(cells) && cells[to].flags&wideTail != 0 {
			to++
		}
		for i := from; i < to; i++ {
			apply(&cells[i])
		}
		t.did(2*(to-from) + lineWork)
	}
}

// An attributeChange is a change of a cell's attributes: some are cleared, then some reversed, then some set.
type attributeChange struct{ clear, flip, set cellFlags }

// rectAttributes are the attributes that these sequences can change, by their numbers in SGR.
var rectAttributes = map[int]cellFlags{
	1: cellFlags(Bold), 4: cellFlags(SingleUnderline) << underlineShift, 5: cellFlags(Blink),
	7: cellFlags(Inverse), 8: cellFlags(Invisible),
}

// add adds one more SGR number to the change, after those before it.
func (a *attributeChange) add(n int, reverse bool) {
	flag := rectAttributes[n]
	switch {
	case n == 0 && reverse:
		for _, n := range []int{1, 4, 5, 7} {
			a.flip ^= rectAttributes[n]
		}
	case reverse:
		a.flip ^= flag
	case n == 0:
		for _, flag := range rectAttributes {
			a.unset(flag)
		}
	case n > 20:
		a.unset(rectAttributes[n-20])
	default:
		a.set |= flag
	}
}

func (a *attributeChange) unset(flag cellFlags) {
	a.set &^= flag
	a.clear |= flag
}
