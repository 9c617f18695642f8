package screen

import (
	"strings"
	"unicode/utf8"
)

// printASCII draws printable ASCII until t.stop, and returns the number of bytes drawn. Nearly all output passes
// through here.
func (t *Terminal) printASCII(p []byte) (n int) {
	if t.switches.insert || !t.cursor.sets.plain() {
		for n < len(p) && (n == 0 || t.work < t.stop) {
			t.print(rune(p[n]))
			n++
		}
		return n
	}
	t.changed = true
	for c := t.cursor.pen; n < len(p) && (n == 0 || t.work < t.stop); {
		cells := t.nextCells(len(p) - n)
		for i, char := range p[n : n+len(cells)] {
			c.char = uint32(char)
			cells[i] = c
		}
		n += len(cells)
	}
	t.last = rune(p[n-1])
	return n
}

// nextCells moves the cursor over at most n cells in one row, and returns them to be written.
func (t *Terminal) nextCells(n int) []cell {
	if t.cursor.pending {
		t.wrapPending()
	}
	from, right := t.cursor.col, t.rightEdge()
	n = min(n, right+1-from)
	l := t.grid.lines[t.cursor.row]
	l.mend(from)
	l.mend(from + n)
	l.use(from + n)
	t.cursor.col += n
	if t.cursor.col > right {
		t.cursor.col, t.cursor.pending = right, true
	}
	return l.cells[from : from+n]
}

// print draws a character at the cursor.
func (t *Terminal) print(r rune) {
	if t.skims {
		t.cursor.sets.single = 0
		return
	}
	t.changed = true
	r = t.cursor.sets.translate(r)
	width := runeWidth(r)
	if width == 0 {
		t.combine(r)
		return
	}
	t.last = r
	if t.cursor.pending {
		t.wrapPending()
	}
	right := t.rightEdge()
	if t.cursor.col+width-1 > right {
		if t.switches.noWrap || width > right-t.leftEdge()+1 {
			return // there is no room for it
		}
		t.wrapLine()
		right = t.rightEdge()
	}
	if t.switches.insert {
		t.insertCells(width)
	}
	l, col := t.grid.lines[t.cursor.row], t.cursor.col
	l.mend(col)
	l.mend(col + width)
	l.use(col + width)
	c := t.cursor.pen
	c.char = uint32(r)
	if width == 2 {
		c.flags |= wideHead
		l.cells[col+1] = t.cursor.pen
		l.cells[col+1].flags |= wideTail
	}
	l.cells[col] = c
	t.cursor.col += width
	if t.cursor.col > right {
		t.cursor.col, t.cursor.pending = right, true
	}
}

// wrapPending wraps before a character behind the last column, if wrapping is on.
func (t *Terminal) wrapPending() {
	t.cursor.pending = false
	if !t.switches.noWrap {
		t.wrapLine()
	}
}

func (t *Terminal) wrapLine() {
	// A line that wraps at side margins cannot be joined by a larger screen, and below the bottom margin the last row
	// is overwritten.
	row := t.cursor.row
	t.grid.lines[row].wrapped = t.fullWidth() && (row == t.margins.bottom || row < t.rows-1)
	t.cursor.col = t.leftEdge()
	t.index()
}

// rightEdge returns the last column before a character wraps: the margin, unless the cursor is behind it.
func (t *Terminal) rightEdge() int {
	if t.cursor.col <= t.margins.right {
		return t.margins.right
	}
	return t.cols - 1
}

// leftEdge returns the column where a line begins.
func (t *Terminal) leftEdge() int {
	if t.cursor.col >= t.margins.left {
		return t.margins.left
	}
	return 0
}

// clusterRunes is the maximum number of runes in a character. Families of emoji have seven; more is a joke.
const clusterRunes = 8

// combine adds a mark to the character before the cursor.
func (t *Terminal) combine(r rune) {
	col := t.cursor.col
	if !t.cursor.pending {
		col--
	}
	if col < 0 {
		return
	}
	l := t.grid.lines[t.cursor.row]
	l.use(col + 1)
	cells := l.cells
	if cells[col].flags&wideTail != 0 {
		col--
	}
	c := &cells[col]
	if c.char == 0 {
		c.char = ' '
	}
	text := t.tables.text(*c)
	if utf8.RuneCountInString(text) < clusterRunes {
		if i, ok := t.cluster(text + string(r)); ok {
			c.char = i
		}
	}
}

// A lookup finds entries that are in the tables already. Its maps are made on first use.
type lookup struct {
	clusters map[string]uint32
	extras   map[extra]uint16
	tidyAt   int // number of clusters at which the tables are tidied

	// How many more are refused before the tables are tidied again:
	refused, refusedClusters int
}

const (
	fewClusters = 4 << 10
	// maxClusters is the maximum number of clusters: more than any language has. If as many are in use on the screens
	// and in the history, further characters lose their marks.
	maxClusters = 32 << 10
)

// cluster returns the number of a cluster, and false if there are too many.
func (t *Terminal) cluster(text string) (i uint32, ok bool) {
	if i, ok := t.lookup.clusters[text]; ok {
		return i, true
	}
	if len(t.tables.clusters) >= max(t.lookup.tidyAt, fewClusters) && !t.makeRoomForCluster() {
		return 0, false
	}
	if t.lookup.clusters == nil {
		t.lookup.clusters = map[string]uint32{}
	}
	i = inTable | uint32(len(t.tables.clusters))
	t.tables.clusters = append(t.tables.clusters, strings.Clone(text))
	t.lookup.clusters[text] = i
	return i, true
}

// makeRoomForCluster is makeRoom for clusters.
func (t *Terminal) makeRoomForCluster() bool {
	if t.lookup.refusedClusters > 0 {
		t.lookup.refusedClusters--
		return false
	}
	t.tidy()
	if n := len(t.tables.clusters); n > maxClusters/2 && t.lookup.tidyAt-n < maxClusters/4 {
		t.lookup.refusedClusters = maxClusters / 4
		return false
	}
	return true
}

// extraFor returns the number of an extra, or 0 if there are too many.
func (t *Terminal) extraFor(e extra) uint16 {
	if e == (extra{}) {
		return 0
	}
	if i, ok := t.lookup.extras[e]; ok {
		return i
	}
	if len(t.tables.extras) >= maxExtras && !t.makeRoom() {
		return 0
	}
	if t.lookup.extras == nil {
		t.lookup.extras = map[extra]uint16{}
	}
	i := uint16(len(t.tables.extras))
	t.tables.extras = append(t.tables.extras, e)
	t.lookup.extras[e] = i
	return i
}

// maxExtras is the maximum number of extras. If as many are in use on the screen and in its history, further characters
// have none.
const maxExtras = 8 << 10

// makeRoom tidies the tables if that may be worth it: not for each extra of a program that has filled the table with
// extras still in use. It reports whether there is room now.
func (t *Terminal) makeRoom() bool {
	if t.lookup.refused > 0 {
		t.lookup.refused--
		return false
	}
	t.tidy()
	if len(t.tables.extras) > maxExtras/2 {
		t.lookup.refused = maxExtras / 2
		return false
	}
	return true
}

// tidy rebuilds the tables without the entries that no cell uses.
func (t *Terminal) tidy() {
	old := t.tables
	t.did(tidyWork * (len(old.clusters) + len(old.extras)))
	t.tables = tables{extras: make([]extra, 1)}
	t.lookup = lookup{clusters: map[string]uint32{}, extras: map[extra]uint16{}, tidyAt: 1<<31 - 1}
	keep := func(c *cell) {
		if c.char&inTable != 0 {
			c.char, _ = t.cluster(old.clusters[c.char&^inTable])
		}
		if c.extra != 0 {
			e := old.extras[c.extra]
			i, ok := t.lookup.extras[e]
			if !ok {
				i = uint16(len(t.tables.extras))
				t.tables.extras = append(t.tables.extras, e)
				t.lookup.extras[e] = i
			}
			c.extra = i
		}
	}
	keepAll := func(l *line) {
		for k := range l.cells {
			keep(&l.cells[k])
		}
		t.did(2*len(l.cells) + lineWork)
	}
	for i := range t.screens {
		for _, l := range t.screens[i].lines {
			keepAll(l)
		}
	}
	for _, l := range t.history.lines {
		keepAll(l)
	}
	keep(&t.cursor.pen)
	keep(&t.saved[0].pen)
	keep(&t.saved[1].pen)
	t.lookup.tidyAt = min(2*len(t.tables.clusters), maxClusters)
}

// repeat handles REP. It leaves out characters that would be overwritten.
func (t *Terminal) repeat(char rune, n int) {
	if char == 0 || t.skims {
		return
	}
	n = min(n, t.cols*(t.rows+1)/runeWidth(char))
	if t.cursor.sets.single != 0 && n > 0 {
		t.print(char)
		n--
	}
	char = t.cursor.sets.translate(char)
	for width := runeWidth(char); n > 0; {
		right := t.rightEdge()
		if !t.cursor.pending && right+1-t.cursor.col >= width {
			t.changed, t.last = true, char
			n -= t.fillRow(char, width, n)
			continue
		}
		n = t.scrollAhead(n, width)
		t.print(char)
		t.did(2 * lineWork)
		if n--; t.switches.noWrap || width > right+1-t.leftEdge() {
			return // the next character changes nothing more
		}
	}
}

// scrollAhead makes room for n characters that continue behind the last row between side margins: otherwise each new
// row would move all of them. It returns the number of characters left to draw, without those that would leave the
// screen again.
func (t *Terminal) scrollAhead(n, width int) int {
	m := &t.margins
	each := (m.right - m.left + 1) / width
	if t.switches.noWrap || t.fullWidth() || t.cursor.row != m.bottom || t.cursor.col < m.left || each == 0 {
		return n
	}
	rows, most := (n+each-1)/each, m.bottom-m.top+1
	if rows > most {
		n -= (rows - most) * each
		rows = most
	}
	if rows > 1 {
		t.scrollUp(rows - 1)
		t.cursor.row -= rows - 1
	}
	return n
}

// fillRow draws a character up to n times, as far as the row goes. It returns how many it drew.
func (t *Terminal) fillRow(char rune, width, n int) int {
	n = min(n, (t.rightEdge()+1-t.cursor.col)/width)
	if t.switches.insert {
		if before := t.margins.left - t.cursor.col; before > 0 {
			n = min(n, (before+width-1)/width) // these move nothing
		}
		t.insertCells(n * width)
	}
	t.did(n*width + lineWork)
	head, tail := t.cursor.pen, t.cursor.pen
	head.char = uint32(char)
	cells := t.nextCells(n * width)
	if width == 1 {
		fillCells(cells, head)
		return n
	}
	head.flags |= wideHead
	tail.flags |= wideTail
	for i := 0; i < len(cells); i += 2 {
		cells[i], cells[i+1] = head, tail
	}
	return n
}
