package screen

// csi performs the control sequence that has just ended.
func (t *Terminal) csi(final byte) {
	ps := &t.parser
	p := &ps.params
	last := t.last
	t.last = 0 // REP repeats only a character directly before it
	if p.colons && !takesColons(ps.key(final)) {
		return // as in xterm
	}
	if ps.prefix == 0 && ps.inter == 0 {
		if final == 'b' {
			t.repeat(last, p.times(0))
			return
		}
		t.plainCSI(final, p)
		return
	}
	switch ps.key(final) {
	case '?'<<16 | 'J':
		t.eraseDisplay(p.at(0, 0), t.protects == protectDEC)
	case '?'<<16 | 'K':
		t.eraseLine(p.at(0, 0), t.protects == protectDEC)
	case '?'<<16 | 's': // XTSAVE
		t.savePrivateModes(p)
	case '?'<<16 | 'r': // XTRESTORE
		t.restorePrivateModes(p)
	case '?'<<16 | 'h':
		t.setPrivateModes(p, true)
	case '?'<<16 | 'l':
		t.setPrivateModes(p, false)
	case '?'<<16 | 'W': // DECST8C
		if p.at(0, 0) == 5 {
			t.defaultTabs()
		}
	case ' '<<8 | '@', ' '<<8 | 'A', '\''<<8 | '}', '\''<<8 | '~':
		t.columns(ps.key(final), p.times(0))
	case ' '<<8 | 'q':
		t.cursorStyle(p.at(0, 0))
	case '!'<<8 | 'p':
		t.softReset()
	case '"'<<8 | 'q': // DECSCA
		t.protects = protectDEC
		if t.cursor.pen.flags &^= protected; p.at(0, 0) == 1 {
			t.cursor.pen.flags |= protected
		}
	case '$'<<8 | 'x', '$'<<8 | 'z', '$'<<8 | '{', '$'<<8 | 'v', '$'<<8 | 'r', '$'<<8 | 't':
		t.rectangle(final, p)
	case '*'<<8 | 'x': // DECSACE
		t.switches.stream = p.at(0, 0) != 2
	case '?'<<16 | 'n':
		t.cursorReport(p.at(0, 0), "?")
	}
}

// columns moves columns between the margins if the cursor is there.
func (t *Terminal) columns(key uint32, n int) {
	if !t.insideMargins() {
		return
	}
	switch key {
	case ' '<<8 | '@': // SL
		t.shiftColumns(t.margins.left, -n)
	case ' '<<8 | 'A': // SR
		t.shiftColumns(t.margins.left, n)
	case '\''<<8 | '}': // DECIC
		t.shiftColumns(t.cursor.col, n)
	case '\''<<8 | '~': // DECDC
		t.shiftColumns(t.cursor.col, -n)
	}
}

// takesColons reports whether the parameters of a sequence may have parts.
func takesColons(key uint32) bool {
	return key == 'm' || key == '$'<<8|'r' || key == '$'<<8|'t'
}

// plainCSI performs a sequence without a prefix and an intermediate.
func (t *Terminal) plainCSI(final byte, p *params) {
	if t.motion(final, p) {
		return
	}
	switch final {
	case '@':
		t.cursor.pending = false
		t.insertCells(p.times(0))
	case 'J':
		t.eraseDisplay(p.at(0, 0), t.protects == protectISO)
	case 'K':
		t.eraseLine(p.at(0, 0), t.protects == protectISO)
	case 'L':
		t.insertLines(p.times(0))
	case 'M':
		t.deleteLines(p.times(0))
	case 'P':
		t.cursor.pending = false
		t.deleteCells(p.times(0))
	case 'S':
		t.scrollUp(p.times(0))
	case 'T':
		if p.count() <= 1 { // otherwise it is highlight mouse tracking
			t.scrollDown(t.margins.top, p.times(0))
		}
	case '^':
		t.scrollDown(t.margins.top, p.times(0))
	case 'X':
		t.eraseCells(p.times(0))
	case 'g':
		t.clearTabs(p.at(0, 0))
	case 'h':
		t.setModes(p, true)
	case 'l':
		t.setModes(p, false)
	case 'm':
		t.selectStyle(p)
	case 'n':
		t.cursorReport(p.at(0, 0), "")
	case 'r':
		t.setMargins(p)
	case 's':
		t.sideMargins(p)
	case 't':
		t.titleStack(p.at(0, 0), p.at(1, 0))
	case 'u':
		t.restoreCursor()
	}
}

// motion performs a sequence that moves the cursor, and reports whether it was one.
func (t *Terminal) motion(final byte, p *params) bool {
	row, col := t.place()
	switch n := p.times(0); final {
	case 'A':
		t.up(n)
	case 'B':
		t.down(n)
	case 'C':
		t.forward(n)
	case 'D':
		t.back(n)
	case 'E':
		t.down(n)
		t.carriageReturn()
	case 'F':
		t.up(n)
		t.carriageReturn()
	case 'G', '`':
		t.moveTo(row, n-1)
	case 'H', 'f':
		t.moveTo(n-1, p.times(1)-1)
	case 'I':
		t.tabForward(n)
	case 'Z':
		t.tabBack(n)
	case 'a': // HPR: margins do not stop it
		t.moveTo(row, col+n)
	case 'd':
		t.moveTo(n-1, col)
	case 'e': // VPR
		t.moveTo(row+n, col)
	default:
		return false
	}
	return true
}

// setMargins handles DECSTBM.
func (t *Terminal) setMargins(p *params) {
	top, bottom := p.times(0), p.at(1, 0)
	if bottom == 0 || bottom > t.rows {
		bottom = t.rows
	}
	if top < bottom {
		t.margins.top, t.margins.bottom = top-1, bottom-1
		t.moveTo(0, 0)
	}
}

// sideMargins handles DECSLRM if the program has enabled margins at the sides, and otherwise the SCOSC of other
// systems.
func (t *Terminal) sideMargins(p *params) {
	if !t.switches.leftRight {
		t.saveCursor()
		return
	}
	left, right := p.times(0), p.at(1, 0)
	if right == 0 || right > t.cols {
		right = t.cols
	}
	if left < right {
		t.margins.left, t.margins.right = left-1, right-1
		t.moveTo(0, 0)
	}
}

func (t *Terminal) clearTabs(what int) {
	switch what {
	case 0:
		t.tabs[t.cursor.col] = false
	case 3:
		clear(t.tabs)
		t.did(t.cols / 8)
	}
}

// cursorStyle handles DECSCUSR: odd numbers blink.
func (t *Terminal) cursorStyle(n int) {
	if n > 6 {
		return
	}
	t.shape = CursorShape(max(n-1, 0) / 2)
	t.steady = n > 0 && n%2 == 0
}
