package screen

// blank returns the cell that erasing leaves: the background stays (BCE).
func (t *Terminal) blank() cell { return cell{bg: t.cursor.pen.bg} }

// index moves the cursor down a row, and scrolls at the bottom margin.
func (t *Terminal) index() {
	c := &t.cursor
	switch {
	case c.row == t.margins.bottom:
		if c.col >= t.margins.left && c.col <= t.margins.right {
			t.scrollUp(1)
		}
	case c.row < t.rows-1:
		c.row++
	}
}

// reverseIndex moves the cursor up a row, and scrolls at the top margin.
func (t *Terminal) reverseIndex() {
	c := &t.cursor
	switch {
	case c.row == t.margins.top:
		if c.col >= t.margins.left && c.col <= t.margins.right {
			t.scrollDown(t.margins.top, 1)
		}
	case c.row > 0:
		c.row--
	}
}

// fullWidth reports whether no margins are set at the sides.
func (t *Terminal) fullWidth() bool { return t.margins.left == 0 && t.margins.right == t.cols-1 }

// scrollUp moves the lines between the margins up. Lines that leave the screen at its top go into the history.
func (t *Terminal) scrollUp(n int) { t.scrollUpFrom(t.margins.top, n, true) }

// scrollUpFrom does the same from another top. Without keep, no line goes into the history.
func (t *Terminal) scrollUpFrom(top, n int, keep bool) {
	t.changed = true
	bottom := t.margins.bottom
	n = min(n, bottom-top+1)
	if !t.fullWidth() {
		t.shiftRows(top, bottom, n)
		return
	}
	if t.skims {
		return
	}
	work := (bottom - top) / rotateWork
	if keep && top == 0 && !t.modes.AlternateScreen {
		t.scrolled += n
		for _, l := range t.grid.lines[:n] {
			work += t.history.push(l)
		}
	}
	if top > 0 || !keep {
		t.unwrapBefore(top)
	}
	blank := t.blank()
	for _, l := range t.grid.rotate(top, bottom, n) {
		if blank == (cell{}) { // nearly always, and inlined
			work += l.empty()
		} else {
			work += l.fill(blank)
		}
	}
	t.did(work)
}

// scrollDown moves the lines between a row and the bottom margin down.
func (t *Terminal) scrollDown(top, n int) {
	t.changed = true
	bottom := t.margins.bottom
	n = min(n, bottom-top+1)
	if !t.fullWidth() {
		t.shiftRows(top, bottom, -n)
		return
	}
	if t.skims {
		return
	}
	blank, work := t.blank(), (bottom-top)/rotateWork
	for _, l := range t.grid.rotate(top, bottom, -n) {
		work += l.fill(blank)
	}
	t.did(work)
	t.unwrapBefore(top)
	t.grid.lines[bottom].wrapped = false
}

// shiftRows moves the cells between the side margins up by n rows, or down by -n.
func (t *Terminal) shiftRows(top, bottom, n int) {
	if t.skims {
		return
	}
	left, right := t.margins.left, t.margins.right
	t.did((bottom - top + 1) * ((right-left+1)/moveWork + 4*lineWork))
	row := func(i int) []cell {
		l := t.grid.lines[i]
		l.mend(left)
		l.mend(right + 1)
		l.wrapped = false
		l.use(right + 1)
		return l.cells[left : right+1]
	}
	blank := t.blank()
	move := func(i int) {
		to := row(i)
		if from := i + n; from >= top && from <= bottom {
			copy(to, row(from))
			return
		}
		fillCells(to, blank)
	}
	if n > 0 {
		for i := top; i <= bottom; i++ {
			move(i)
		}
	} else {
		for i := bottom; i >= top; i-- {
			move(i)
		}
	}
}

// insideMargins reports whether the cursor is at a place where lines, columns and characters can be inserted and
// deleted.
func (t *Terminal) insideMargins() bool {
	c, m := &t.cursor, &t.margins
	return c.row >= m.top && c.row <= m.bottom && c.col >= m.left && c.col <= m.right
}

// insertLines handles IL, deleteLines DL.
func (t *Terminal) insertLines(n int) {
	if t.insideMargins() {
		t.scrollDown(t.cursor.row, n)
		t.cursor.col, t.cursor.pending = t.margins.left, false
	}
}

func (t *Terminal) deleteLines(n int) {
	if t.insideMargins() {
		t.scrollUpFrom(t.cursor.row, n, false)
		t.cursor.col, t.cursor.pending = t.margins.left, false
	}
}

// insertCells handles ICH: it moves the rest of the row to the right.
func (t *Terminal) insertCells(n int) {
	if c := &t.cursor; c.col >= t.margins.left && c.col <= t.margins.right {
		t.shiftCells(c.row, c.col, n)
	}
}

// deleteCells handles DCH.
func (t *Terminal) deleteCells(n int) {
	if c := &t.cursor; c.col >= t.margins.left && c.col <= t.margins.right {
		t.shiftCells(c.row, c.col, -n)
	}
}

// shiftCells moves the cells between a column and the right margin to the right by n columns, or to the left by -n.
func (t *Terminal) shiftCells(row, col, n int) {
	if t.skims {
		return
	}
	t.changed = true
	l, right := t.grid.lines[row], t.margins.right
	l.mend(col)
	l.mend(right + 1)
	l.use(right + 1)
	cells, blank := l.cells[col:right+1], t.blank()
	free := cells
	if n >= 0 {
		n = min(n, len(cells))
		copy(cells[n:], cells)
		free = cells[:n]
		if last := &cells[len(cells)-1]; last.flags&wideHead != 0 {
			last.becomeBlank() // its other half is behind the margin
		}
	} else {
		n = min(-n, len(cells))
		if n < len(cells) && cells[n].flags&wideTail != 0 {
			cells[n].becomeBlank()
		}
		copy(cells, cells[n:])
		free = cells[len(cells)-n:]
	}
	fillCells(free, blank)
	t.did(len(cells)/moveWork + lineWork)
	l.wrapped = false
}

// shiftColumns handles DECIC, DECDC, SL and SR: all rows between the margins at once.
func (t *Terminal) shiftColumns(col, n int) {
	if t.skims {
		return
	}
	for row := t.margins.top; row <= t.margins.bottom; row++ {
		t.shiftCells(row, col, n)
	}
}
