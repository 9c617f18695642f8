package screen

// A grid is one of a terminal's two screens.
type grid struct {
	cols  int
	lines []*line
}

// A line is a row of a grid, as wide as that, or a line of history, cut behind what
// was written.
type line struct {
	cells   []cell
	wrapped bool // it goes on in the next one
	even    bool // all cells are the same, and no empty ones
	stale   bool // output that may belong here was not drawn
	used    int  // all cells behind are empty: most lines are short, and need not be cleared to their ends
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

// fill makes all cells the same. What is so already costs next to nothing.
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

// fillCells writes the same into all cells; of many, as fast as memory is copied.
func fillCells(cells []cell, c cell) {
	for i := range cells[:min(len(cells), 16)] {
		cells[i] = c
	}
	for n := 16; n < len(cells); n *= 2 {
		copy(cells[n:], cells[:n])
	}
}

// use says that cells up to an end are changed, and may be no empty ones.
func (l *line) use(end int) { l.used, l.even = max(l.used, end), false }

// written is how many cells there are up to the last that is not an empty one.
func (l *line) written() int {
	n := l.used
	for n > 0 && l.cells[n-1] == (cell{}) {
		n--
	}
	return n
}

// mend takes the halves of wide characters away that an edge at col cuts in two.
func (l *line) mend(col int) {
	if col <= 0 || col >= len(l.cells) || l.cells[col].flags&wideTail == 0 {
		return
	}
	l.cells[col].becomeBlank()
	l.cells[col-1].becomeBlank()
}

// becomeBlank leaves the style, as xterm does with the other half of a character that
// was written over.
func (c *cell) becomeBlank() {
	c.char, c.flags = ' ', c.flags&^(wideHead|wideTail)
}

func (g *grid) clear(blank cell) (work int) {
	for _, l := range g.lines {
		work += l.fill(blank)
	}
	return work
}

// rotate moves the lines from top to bottom up by n, or down by -n, and returns those
// that leave, which are to be filled by the caller: they are in the places that became
// free already.
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

// A history keeps the lines that have left the screen, the oldest at first.
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
		n = len(l.cells) // what goes on in the next one is whole
	}
	if cap(slot.cells) < n || cap(slot.cells) > 2*n+16 {
		slot.cells = make([]cell, 0, n)
	}
	slot.cells = append(slot.cells[:0], l.cells[:n]...)
	slot.wrapped, slot.used = l.wrapped, n
	return n + lineWork
}

// takeAll returns the lines, and is empty then.
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
