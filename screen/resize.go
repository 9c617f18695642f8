package screen

// Resize changes the size to the nearest possible one. Wrapped lines of the normal screen and its history are wrapped
// anew; the line of the cursor stays visible. The alternate screen is cut or filled: its program draws it again.
func (t *Terminal) Resize(cols, rows int) {
	cols, rows = FitSize(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	t.did(t.resizeWork() + 4*cols*rows)
	normal, other := &t.cursor, &t.saved[1]
	if t.modes.AlternateScreen {
		normal, other = &t.left, &t.cursor
	}
	t.resizeNormal(normal, &t.saved[0], cols, rows)
	t.screens[1].crop(other, cols, rows)
	tabs := t.tabs
	t.cols, t.rows = cols, rows
	t.defaultTabs()
	copy(t.tabs, tabs)
	t.margins = t.wholeScreen()
	for _, c := range []*cursor{&t.cursor, &t.left, &t.saved[0], &t.saved[1]} {
		c.row, c.pending = min(c.row, rows-1), c.pending && c.col == cols-1
		if c.col >= cols {
			c.col = cols - 1
		}
	}
	t.changed = false
	t.revision++
}

// resizeWork estimates the work of a resize, which reads all lines of screen and history, in the unit of Work.
func (t *Terminal) resizeWork() (work int) {
	work = 4 * t.cols * t.rows
	for _, l := range t.history.lines {
		work += 4*len(l.cells) + 16*lineWork
	}
	return work
}

// A mark is a place in lines that are wrapped anew.
type mark struct{ row, col int }

// resizeNormal joins history and screen, and cuts them again. The line of the first cursor stays visible; the other
// cursor follows its character as far as possible.
func (t *Terminal) resizeNormal(c, saved *cursor, cols, rows int) {
	g := &t.screens[0]
	old := t.history.len()
	used := c.row + 1
	for i := used; i < len(g.lines); i++ {
		if g.lines[i].written() > 0 {
			used = i + 1
		}
	}
	full := used == len(g.lines)
	all := append(t.history.takeAll(), g.lines[:used]...)
	at, top := mark{old + c.row, c.col}, mark{old, 0}
	with := mark{old + min(saved.row, used-1), saved.col}
	if c.pending {
		at.col++ // behind the last character, at the place of the next one
		c.pending = false
	}
	if cols != t.cols {
		all = rewrap(all, cols, &at, &top, &with)
	}
	first := max(top.row, len(all)-rows)
	if full {
		first = max(len(all)-rows, 0)
	}
	first = min(first, at.row)
	for _, l := range all[:first] {
		t.history.push(l)
	}
	shown := all[first:min(first+rows, len(all))]
	g.cols, g.lines = cols, make([]*line, rows)
	for i := range g.lines {
		g.lines[i] = newLine(cols, cell{})
		if i < len(shown) {
			copy(g.lines[i].cells, shown[i].cells)
			g.lines[i].wrapped = shown[i].wrapped
			g.lines[i].use(min(cols, len(shown[i].cells)))
			g.lines[i].repair()
		}
	}
	g.lines[rows-1].wrapped = false
	saved.row, saved.col = min(max(with.row-first, 0), rows-1), with.col
	c.row, c.col = at.row-first, at.col
	if c.col >= cols {
		c.col, c.pending = cols-1, g.lines[c.row].written() == cols
	}
}

// rewrap joins wrapped lines, and cuts them to a width. The marks move with their cells.
func rewrap(lines []*line, cols int, marks ...*mark) []*line {
	var out []*line
	moved := make([]mark, len(marks))
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && lines[to-1].wrapped {
			to++
		}
		cells, offsets := join(lines[from:to], from, cols, marks)
		begin := len(out)
		out = appendWrapped(out, cells, cols, lines[to-1].wrapped)
		for i, m := range marks {
			if m.row >= from && m.row < to {
				moved[i] = locate(out, begin, offsets[i])
			}
		}
		from = to
	}
	for i, m := range marks {
		*m = moved[i]
	}
	return out
}

// join returns the cells of one wrapped line, and the offsets of the marks in it.
func join(lines []*line, first, cols int, marks []*mark) (cells []cell, offsets []int) {
	offsets = make([]int, len(marks))
	for i, l := range lines {
		part := l.cells
		if i == len(lines)-1 {
			part = part[:l.worth(len(cells), cols)]
		} else if n := len(part); n > 0 && part[n-1] == (cell{}) && lines[i+1].startsWide() {
			part = part[:n-1] // a wide character did not fit there
		}
		for k, m := range marks {
			if m.row == first+i {
				offsets[k] = len(cells) + m.col
			}
		}
		cells = append(cells, part...)
	}
	return cells, offsets
}

// worth returns the number of cells of a line's last row that are kept; before is the number of cells in front of them.
// Erased places in a colour take no row of their own.
func (l *line) worth(before, cols int) int {
	text := l.written()
	for text > 0 && l.cells[text-1].char == 0 && l.cells[text-1].flags&wideTail == 0 {
		text--
	}
	rows := max((before+text+cols-1)/cols, 1)
	return max(text, min(l.written(), rows*cols-before))
}

func (l *line) startsWide() bool { return len(l.cells) > 0 && l.cells[0].flags&wideHead != 0 }

// appendWrapped cuts cells into lines. It cuts no wide character in two, except on a screen of one column.
func appendWrapped(out []*line, cells []cell, cols int, wrapped bool) []*line {
	keep := func(l *line) {
		l.use(len(l.cells))
		l.repair()
		out = append(out, l)
	}
	for len(cells) > cols {
		n := cols
		if cells[n].flags&wideTail != 0 && n > 1 {
			n--
		}
		piece := append(make([]cell, 0, cols), cells[:n]...)
		keep(&line{cells: piece, wrapped: true})
		cells = cells[n:]
	}
	keep(&line{cells: cells, wrapped: wrapped})
	return out
}

// locate returns the new place of an offset, in the lines from begin on.
func locate(lines []*line, begin, offset int) mark {
	row := begin
	for row < len(lines)-1 && offset >= len(lines[row].cells) {
		offset -= len(lines[row].cells)
		row++
	}
	return mark{row, offset}
}

// crop cuts a grid, or fills it up; it cuts first below the cursor.
func (g *grid) crop(c *cursor, cols, rows int) {
	if cut := len(g.lines) - rows; cut > 0 {
		below := min(cut, len(g.lines)-1-min(c.row, len(g.lines)-1))
		g.lines = g.lines[:len(g.lines)-below]
		above := cut - below
		g.lines = append([]*line(nil), g.lines[above:]...)
		c.row = max(c.row-above, 0)
	}
	for _, l := range g.lines {
		cells := make([]cell, cols)
		copy(cells, l.cells)
		l.cells, l.wrapped, l.even, l.used = cells, false, false, cols
		l.repair()
	}
	for len(g.lines) < rows {
		g.lines = append(g.lines, newLine(cols, cell{}))
	}
	g.cols = cols
}
