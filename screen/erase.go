package screen

// erase makes a part of a row empty. With spare, it keeps protected characters.
func (t *Terminal) erase(row, from, to int, spare bool) {
	from, to = max(from, 0), min(to, t.cols)
	if t.skims || from >= to {
		return
	}
	t.changed = true
	l, blank := t.grid.lines[row], t.blank()
	if from == 0 && to == t.cols && !spare {
		t.did(l.fill(blank))
		return
	}
	l.even = false
	l.mend(from)
	l.mend(to)
	if to == t.cols {
		l.wrapped = false
	}
	l.stale = l.stale && (from > 0 || to < t.cols)
	if blank == (cell{}) {
		to = min(to, l.used) // everything behind is empty
	} else {
		l.use(to)
	}
	t.did(max(to-from, 0) + lineWork)
	if spare {
		for i := from; i < to; i++ {
			if l.cells[i].flags&protected == 0 {
				l.cells[i] = blank
			}
		}
		t.did(l.repair())
		return
	}
	if from >= to {
		return
	}
	fillCells(l.cells[from:to], blank)
	if to == l.used && blank == (cell{}) {
		l.used = from
	}
}

// unwrapBefore marks a row as no longer the continuation of the line above it.
func (t *Terminal) unwrapBefore(row int) {
	var above *line
	switch n := t.history.len(); {
	case row > 0:
		above = t.grid.lines[row-1]
	case n > 0 && !t.modes.AlternateScreen:
		above = t.history.at(n - 1)
	}
	if above != nil && above.wrapped && !t.skims {
		above.wrapped, t.changed = false, true
	}
}

// repair blanks halves of wide characters that stand alone.
func (l *line) repair() (work int) {
	for i := range l.cells {
		c := &l.cells[i]
		switch {
		case c.flags&wideHead != 0 && (i+1 == len(l.cells) || l.cells[i+1].flags&wideTail == 0):
			c.becomeBlank()
		case c.flags&wideTail != 0 && (i == 0 || l.cells[i-1].flags&wideHead == 0):
			c.becomeBlank()
		}
	}
	return len(l.cells)
}

// eraseLine handles EL. If the row is full and a wrap is pending, nothing is to the right of the cursor: xterm erases
// the last character, other terminals do not, and programs rely on the latter. Top writes rows as wide as the screen
// and then EL, and so does grep if a match ends with the row.
func (t *Terminal) eraseLine(what int, spare bool) {
	c := &t.cursor
	if what == 0 && c.pending {
		return
	}
	c.pending = false
	if what == 1 || what == 2 || what == 0 && c.col == 0 {
		t.unwrapBefore(c.row)
	}
	switch what {
	case 0:
		t.erase(c.row, c.col, t.cols, spare)
	case 1:
		t.erase(c.row, 0, c.col+1, spare)
	case 2:
		t.erase(c.row, 0, t.cols, spare)
	}
}

// eraseDisplay handles ED.
func (t *Terminal) eraseDisplay(what int, spare bool) {
	c := &t.cursor
	from, to := 0, t.rows
	switch what {
	case 0:
		from = c.row + 1
		t.eraseLine(0, spare)
	case 1:
		to = c.row
		t.eraseLine(1, spare)
	case 2:
	case 3:
		if !t.modes.AlternateScreen && !t.skims {
			t.history.clear()
			t.changed = true
		}
		return
	default:
		return
	}
	c.pending = c.pending && what == 0
	if t.skims {
		return
	}
	for row := from; row < to; row++ {
		t.unwrapBefore(row)
		t.erase(row, 0, t.cols, spare)
	}
}

// eraseCells handles ECH.
func (t *Terminal) eraseCells(n int) {
	t.cursor.pending = false
	t.erase(t.cursor.row, t.cursor.col, t.cursor.col+n, t.protects == protectISO)
}
