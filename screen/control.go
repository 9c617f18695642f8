package screen

const (
	backspace = '\b'
	tab       = '\t'
	lineFeed  = '\n'
	verticalT = '\v'
	formFeed  = '\f'
	carriage  = '\r'
	shiftOut  = 0x0e
	shiftIn   = 0x0f
)

// control performs a C0 control. BEL is left to the Scanner.
func (t *Terminal) control(c byte) {
	t.last = 0
	switch c {
	case backspace:
		t.back(1)
	case tab:
		t.tabForward(1)
	case lineFeed, verticalT, formFeed:
		t.cursor.pending = false
		t.index()
		if t.modes.NewLine {
			t.carriageReturn()
		}
	case carriage:
		t.carriageReturn()
	case shiftOut:
		t.cursor.sets.gl = 1
	case shiftIn:
		t.cursor.sets.gl = 0
	}
}

func (t *Terminal) carriageReturn() {
	t.cursor.pending = false
	if t.cursor.origin {
		t.cursor.col = t.margins.left
		return
	}
	t.cursor.col = t.leftEdge()
}

// escape performs the sequence of ESC and this final byte.
func (t *Terminal) escape(final byte) {
	ps := &t.parser
	t.last = 0
	if ps.inter > 0 {
		t.escapeInter(ps.inters[0], final)
		return
	}
	switch final {
	case '7':
		t.saveCursor()
	case '8':
		t.restoreCursor()
	case '6': // DECBI
		t.backIndex()
	case '9': // DECFI
		t.forwardIndex()
	case '=':
		t.modes.ApplicationKeypad = true
	case '>':
		t.modes.ApplicationKeypad = false
	case 'D':
		t.cursor.pending = false
		t.index()
	case 'E':
		t.cursor.pending = false
		t.index()
		t.carriageReturn()
	case 'H':
		t.tabs[t.cursor.col] = true
	case 'M':
		t.cursor.pending = false
		t.reverseIndex()
	case 'N', 'O': // SS2, SS3
		t.cursor.sets.single = final - 'N' + 2
	case 'V': // SPA
		t.cursor.pen.flags |= protected
		t.protects = protectISO
	case 'W': // EPA
		t.cursor.pen.flags &^= protected
		t.protects = protectISO
	case 'c':
		t.reset()
	case 'n', 'o': // LS2, LS3
		t.cursor.sets.gl = final - 'n' + 2
	}
}

func (t *Terminal) escapeInter(inter, final byte) {
	switch {
	case t.parser.inter > 1:
	case inter == '#' && final == '8':
		t.alignment()
	default:
		t.cursor.sets.designate(inter, final)
	}
}

// alignment handles DECALN: it fills the screen with E.
func (t *Terminal) alignment() {
	t.margins = t.wholeScreen()
	t.cursor.row, t.cursor.col, t.cursor.pending = 0, 0, false
	if t.skims {
		return
	}
	t.unwrapBefore(0)
	t.did(t.grid.clear(cell{char: 'E'}))
	t.changed = true
}

// saveCursor handles DECSC.
func (t *Terminal) saveCursor() { t.saved[t.which()] = t.cursor }

// restoreCursor handles DECRC. The saved cursor may come from a larger screen.
func (t *Terminal) restoreCursor() {
	t.cursor = t.saved[t.which()]
	if t.cursor.col >= t.cols {
		t.cursor.col, t.cursor.pending = t.cols-1, false
	}
	t.cursor.row = min(t.cursor.row, t.rows-1)
	if t.cursor.origin {
		t.cursor.row = min(max(t.cursor.row, t.margins.top), t.margins.bottom)
		t.cursor.col = min(max(t.cursor.col, t.margins.left), t.margins.right)
	}
}

// backIndex handles DECBI.
func (t *Terminal) backIndex() {
	t.cursor.pending = false
	switch {
	case t.cursor.col == t.margins.left && t.insideMargins():
		t.shiftColumns(t.margins.left, 1)
	case t.cursor.col > 0:
		t.cursor.col--
	}
}

// forwardIndex handles DECFI.
func (t *Terminal) forwardIndex() {
	t.cursor.pending = false
	switch {
	case t.cursor.col == t.margins.right && t.insideMargins():
		t.shiftColumns(t.margins.left, -1)
	case t.cursor.col < t.cols-1:
		t.cursor.col++
	}
}

// moveTo moves the cursor to a position that counts from the origin.
func (t *Terminal) moveTo(row, col int) {
	top, bottom, left, right := 0, t.rows-1, 0, t.cols-1
	if t.cursor.origin {
		top, bottom, left, right = t.margins.top, t.margins.bottom, t.margins.left, t.margins.right
	}
	t.cursor.row = min(top+max(row, 0), bottom)
	t.cursor.col = min(left+max(col, 0), right)
	t.cursor.pending = false
}

// place returns the position of the cursor, counted from the origin.
func (t *Terminal) place() (row, col int) {
	if t.cursor.origin {
		return t.cursor.row - t.margins.top, t.cursor.col - t.margins.left
	}
	return t.cursor.row, t.cursor.col
}

func (t *Terminal) up(n int) {
	limit := 0
	if t.cursor.row >= t.margins.top {
		limit = t.margins.top
	}
	t.cursor.row, t.cursor.pending = max(t.cursor.row-n, limit), false
}

func (t *Terminal) down(n int) {
	limit := t.rows - 1
	if t.cursor.row <= t.margins.bottom {
		limit = t.margins.bottom
	}
	t.cursor.row, t.cursor.pending = min(t.cursor.row+n, limit), false
}

func (t *Terminal) forward(n int) {
	t.cursor.col, t.cursor.pending = min(t.cursor.col+n, t.rightEdge()), false
}

// back handles BS and CUB. With reverse wrap (?45) it continues in the row above if that row was wrapped; with ?1045,
// always.
func (t *Terminal) back(n int) {
	c := &t.cursor
	wraps := !t.switches.noWrap && (t.switches.reverseWrap || t.switches.reverseWrapMore)
	if wraps && c.pending {
		n--
	}
	c.pending = false
	left := t.leftEdge()
	if !wraps {
		c.col = max(c.col-n, left)
		return
	}
	for n > 0 {
		if step := min(n, c.col-left); step > 0 {
			c.col -= step
			n -= step
			continue
		}
		if !t.wrapBack() {
			return
		}
		left = t.leftEdge()
		n--
		t.did(lineWork)
	}
}

func (t *Terminal) wrapBack() bool {
	c := &t.cursor
	switch {
	case t.switches.reverseWrapMore:
		if c.row--; c.row < t.margins.top {
			c.row = t.margins.bottom
		}
	case c.row > t.margins.top && t.grid.lines[c.row-1].wrapped:
		c.row--
	default:
		return false
	}
	c.col = t.margins.right
	return true
}

func (t *Terminal) defaultTabs() {
	t.did(t.cols)
	t.tabs = make([]bool, t.cols)
	for i := range t.tabs {
		t.tabs[i] = i%8 == 0
	}
}

func (t *Terminal) tabForward(n int) {
	if t.cursor.pending && t.switches.moreFix {
		t.wrapPending()
	}
	right, from := t.rightEdge(), t.cursor.col
	for ; n > 0 && t.cursor.col < right; n-- {
		for t.cursor.col++; t.cursor.col < right && !t.tabs[t.cursor.col]; t.cursor.col++ {
		}
	}
	t.did(max(t.cursor.col-from, 0))
}

func (t *Terminal) tabBack(n int) {
	left := 0
	if t.cursor.origin {
		left = t.margins.left
	}
	t.cursor.pending = false
	from := t.cursor.col
	for ; n > 0 && t.cursor.col > left; n-- {
		for t.cursor.col--; t.cursor.col > left && !t.tabs[t.cursor.col]; t.cursor.col-- {
		}
	}
	t.did(from - t.cursor.col)
}
