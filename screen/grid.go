package screen

// A grid is one of a terminal's two screens.
type grid struct {
	cols  int
	lines []*line
}

// A line is a row of a grid and as wide as the grid, or a line of history, cut after its last written cell.
type line struct {
	cells   []cell
	wrapped bool // it continues in the next line
	even    bool // all cells are the same, and not empty
	stale   bool // output that may belong here was not drawn
	used    int  // all cells from here on are empty: most lines are short, and need not be cleared to their ends
}

func newGrid(cols, rows int) grid {
	g := grid{cols: cols, lines: make([]*line, rows)}
	for i := range g.lines {
		g.lines[i] = newLine(cols, cell{})
	}
	return g
}

func newLine(cols int, blank cell) *line {
	l := &line{cells: make([]cell, cols)}
	l.fill(blank)
	return l
}

// fill makes all cells the same. If they already are, that costs next to nothing. It returns the work done.
func (l *line) fill(blank cell) (work int) {
	if blank != (cell{}) {
		return l.fillWith(blank)
	}
	return l.empty()
}

func (l *line) empty() (work int) {
	work = l.used + lineWork
	clear(l.cells[:l.used])
	l.used, l.even, l.wrapped, l.stale = 0, false, false, false
	return work
}

func (l *line) fillWith(blank cell) (work int) {
	l.wrapped, l.stale = false, false
	if l.even && l.cells[0] == blank {
		return lineWork
	}
	fillCells(l.cells, blank)
	l.used, l.even = len(l.cells), true
	return len(l.cells) + lineWork
}

// fillCells sets all cells to c; many of them as fast as memory is copied.
func fillCells(cells []cell, c cell) {
	for i := range cells[:min(len(cells), 16)] {
		cells[i] = c
	}
	for n := 16; n < len(cells); n *= 2 {
		copy(cells[n:], cells[:n])
	}
}

// use records that cells before end have changed and may no longer be empty.
func (l *line) use(end int) { l.used, l.even = max(l.used, end), false }

// written returns the number of cells up to the last that is not empty.
func (l *line) written() int {
	n := l.used
	for n > 0 && l.cells[n-1] == (cell{}) {
		n--
	}
	return n
}

// mend blanks both halves of a wide character that an edge at col cuts in two.
func (l *line) mend(col int) {
	if col <= 0 || col >= len(l.cells) || l.cells[col].flags&wideTail == 0 {
		return
	}
	l.cells[col].becomeBlank()
	l.cells[col-1].becomeBlank()
}

// becomeBlank keeps the style, as xterm does with the other half of an overwritten character.
func (c *cell) becomeBlank() {
	c.char, c.flags = ' ', c.flags&^(wideHead|wideTail)
}

func (g *grid) clear(blank cell) (work int) {
	for _, l := range g.lines {
		work += l.fill(blank)
	}
	return work
}

// rotate moves the lines from top to bottom up by n, or down by -n, and returns those that leave. They are already in
// the places that became free; the caller has to fill them.
func (g *grid) rotate(top, bottom, n int) []*line {
	region := g.lines[top : bottom+1]
	if n > 0 {
		n = min(n, len(region))
		if n == 1 { // nearly always
			first := region[0]
			copy(region, region[1:])
			region[len(region)-1] = first
			return region[len(region)-1:]
		}
		out := append([]*line(nil), region[:n]...)
		copy(region, region[n:])
		copy(region[len(region)-n:], out)
		return region[len(region)-n:]
	}
	n = min(-n, len(region))
	out := append([]*line(nil), region[len(region)-n:]...)
	copy(region[n:], region[:len(region)-n])
	copy(region, out)
	return region[:n]
}

func (g *grid) copyLines(t *tables) []Line {
	cells := make([]cell, 0, g.cols*len(g.lines))
	lines := make([]Line, len(g.lines))
	for i, l := range g.lines {
		from := len(cells)
		cells = append(cells, l.cells...)
		lines[i] = Line{Wrapped: l.wrapped, cells: cells[from:len(cells):len(cells)], tables: t}
	}
	return lines
}

// A history keeps the lines that have left the screen, the oldest first.
type history struct {
	most  int
	lines []*line // a ring once it is full
	first int
}

func (h *history) len() int { return len(h.lines) }

func (h *history) at(i int) *line { return h.lines[(h.first+i)%len(h.lines)] }

// push keeps a copy of a line.
func (h *history) push(l *line) (work int) {
	if h.most == 0 {
		return 0
	}
	var slot *line
	if len(h.lines) < h.most {
		slot = new(line)
		h.lines = append(h.lines, slot)
	} else {
		slot = h.lines[h.first]
		if h.first++; h.first == len(h.lines) {
			h.first = 0
		}
	}
	n := l.written()
	if l.wrapped {
		n = len(l.cells) // a line that continues in the next one is kept whole
	}
	if cap(slot.cells) < n || cap(slot.cells) > 2*n+16 {
		slot.cells = make([]cell, 0, n)
	}
	slot.cells = append(slot.cells[:0], l.cells[:n]...)
	slot.wrapped, slot.used = l.wrapped, n
	return n + lineWork
}

// takeAll returns all lines and empties the history.
func (h *history) takeAll() []*line {
	all := make([]*line, 0, len(h.lines))
	for i := range h.lines {
		all = append(all, h.at(i))
	}
	h.lines, h.first = nil, 0
	return all
}

func (h *history) clear() { h.lines, h.first = nil, 0 }

func (h *history) copyLines(most int, t *tables) []Line {
	most = min(max(most, 0), h.len())
	lines := make([]Line, most)
	for i := range lines {
		l := h.at(h.len() - most + i)
		lines[i] = Line{Wrapped: l.wrapped, cells: append([]cell(nil), l.cells...), tables: t}
	}
	return lines
}
