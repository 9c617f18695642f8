package screen

import (
	"bytes"
	"math"
	"slices"
)

// The limits of the largest screen: the length of a side, and the number of cells. They bound the memory of a terminal,
// and the work that a program can cause with one sequence.
const (
	maxSide  = 1000
	maxCells = 1 << 18
)

// FitSize returns the nearest size that a terminal can have.
func FitSize(cols, rows int) (int, int) {
	cols, rows = min(max(cols, 1), maxSide), min(max(rows, 1), maxSide)
	return cols, min(rows, maxCells/cols)
}

// A Terminal draws the output of a program, as xterm does with UTF-8. Its memory is bounded by its size and its history
// for any output, and the result does not depend on how the output was cut.
//
// It is not safe for use by several goroutines. Make one with [NewTerminal].
type Terminal struct {
	// Clean, if set, receives each title, and returns the text to keep. Set it before the first Write.
	Clean func(string) string

	cols, rows int

	parser   parser
	tables   tables
	lookup   lookup
	screens  [2]grid // the normal one and the alternate one
	grid     *grid   // the one that is shown
	history  history // of the normal one
	scrolled int     // number of lines that have left it at its top

	cursor     cursor
	saved      [2]cursor // by DECSC, a place for each screen
	margins    margins
	tabs       []bool
	modes      Modes
	switches   switches
	protects   protection
	palette    *Palette
	title      string
	titles     titles
	shape      CursorShape
	steady     bool       // the cursor does not blink
	last       rune       // the character drawn directly before, for REP
	savedModes savedModes // by XTSAVE

	replies  []byte
	revision uint64
	changed  bool // the picture has changed, apart from the fields of a glance
	skims    bool
	left     cursor // of the normal screen, as it was when the alternate one was shown
	unsure   bool   // output is missing, and with it settings that it may have changed
	assumed  bool   // the choice of the screen that is shown is only an assumption

	work int64 // done so far; see WriteSome
	stop int64 // the amount of work at which the write ends
}

// A cursor is the place and the appearance of the next character.
type cursor struct {
	row, col int
	pending  bool // see [Cursor]
	origin   bool // DECOM: rows and columns count from the margins
	pen      cell // without a character
	sets     charsets
}

// margins are the region that scrolls, ends included.
type margins struct{ top, bottom, left, right int }

// switches are the modes that matter only for drawing. The zero value is a terminal that was just switched on.
type switches struct {
	insert          bool // IRM
	noWrap          bool // DECAWM is off
	reverseWrap     bool // ?45
	reverseWrapMore bool // ?1045
	moreFix         bool // ?41: a tab behind the last column wraps first
	reverse         bool // DECSCNM
	hidden          bool // DECTCEM is off
	leftRight       bool // DECLRMM: there may be margins at the sides
	allowColumns    bool // ?40: DECCOLM may be used
	columns132      bool // DECCOLM
	keepOnColumns   bool // DECNCSM: DECCOLM does not clear
	synchronized    bool // ?2026
	stream          bool // DECSACE: attribute changes go line by line from place to place, not over a rectangle
}

// protection is the kind of sequences that spare protected characters.
type protection uint8

const (
	unprotected protection = iota
	protectISO             // SPA and EPA: all erasing spares them
	protectDEC             // DECSCA: only selective erasing spares them
)

// NewTerminal returns a terminal of this size that keeps at most history lines of those that have left its normal
// screen at the top. An impossible size is replaced by the nearest possible one.
func NewTerminal(cols, rows, history int) *Terminal {
	t := &Terminal{palette: standardPalette()}
	t.cols, t.rows = FitSize(cols, rows)
	t.history.most = max(history, 0)
	t.tables.extras = make([]extra, 1)
	for i := range t.screens {
		t.screens[i] = newGrid(t.cols, t.rows)
	}
	t.reset()
	t.changed = false
	return t
}

// reset handles RIS, except that the history stays. The title stays too, as in xterm.
func (t *Terminal) reset() {
	if t.grid != nil {
		t.modes.AlternateScreen = false
		t.unwrapBefore(0)
	}
	for i := range t.screens {
		t.did(t.screens[i].clear(cell{}))
	}
	t.grid = &t.screens[0]
	t.cursor = cursor{sets: newCharsets()}
	t.saved = [2]cursor{t.cursor, t.cursor}
	t.margins = t.wholeScreen()
	t.defaultTabs()
	t.modes, t.switches, t.protects = Modes{}, switches{}, unprotected
	t.palette = standardPalette()
	t.shape, t.steady, t.last, t.savedModes = BlockCursor, false, 0, nil
	t.left, t.unsure, t.assumed, t.changed = t.cursor, false, false, true
}

// softReset handles DECSTR.
func (t *Terminal) softReset() {
	t.modes.softReset()
	t.switches.insert, t.switches.noWrap, t.switches.hidden = false, false, false
	t.switches.reverseWrap, t.switches.reverseWrapMore, t.switches.leftRight = false, false, false
	t.margins = t.wholeScreen()
	t.cursor.origin, t.cursor.pen, t.cursor.sets, t.cursor.pending = false, cell{}, newCharsets(), false
	t.saved[t.which()] = cursor{sets: newCharsets()}
	t.protects = unprotected
	t.shape, t.steady, t.unsure = BlockCursor, false, false
}

func (t *Terminal) wholeScreen() margins { return margins{0, t.rows - 1, 0, t.cols - 1} }

// which returns the index of the screen that is shown.
func (t *Terminal) which() int {
	if t.modes.AlternateScreen {
		return 1
	}
	return 0
}

// CursorLine returns the line of the cursor, counted over all lines that have ever been on the normal screen: it grows
// when lines leave the screen at its top.
func (t *Terminal) CursorLine() int { return t.scrolled + t.cursor.row }

// Revision returns a number that grows with every change of the picture in a [Snapshot].
func (t *Terminal) Revision() uint64 { return t.revision }

// A glance is the part of the state that is cheap to compare for changes.
type glance struct {
	cursor          Cursor
	modes           Modes
	reverse, isPart bool
}

func (t *Terminal) glance() glance {
	return glance{t.showCursor(), t.modes, t.switches.reverse, t.isApproximate()}
}

func (t *Terminal) noteChange(before glance) {
	if t.changed || t.glance() != before {
		t.revision++
		t.changed = false
	}
}

func (t *Terminal) showCursor() Cursor {
	return Cursor{
		Row: t.cursor.row, Col: t.cursor.col, Visible: !t.switches.hidden,
		Shape: t.shape, Blink: !t.steady, Pending: t.cursor.pending,
	}
}

// Replies returns the terminal's answers since the last call. The terminal keeps at most replyBytes of untaken answers.
func (t *Terminal) Replies() []byte {
	r := t.replies
	t.replies = nil
	return r
}

const replyBytes = 16 << 10

func (t *Terminal) reply(s string) {
	if len(t.replies)+len(s) <= replyBytes {
		t.replies = append(t.replies, s...)
	}
}

// Skim reads output whose characters are no longer visible: it follows modes, colours, margins and the like, and draws
// nothing. Until all of the screen has been redrawn, the picture is approximate. The history is cleared.
func (t *Terminal) Skim(p []byte) { t.SkimSome(p, math.MaxInt64) }

// SkimSome does the same for a limited amount of work, as [Terminal.WriteSome] does.
func (t *Terminal) SkimSome(p []byte, work int64) (n int) {
	t.skims = true
	n = t.WriteSome(p, work)
	t.skims = false
	t.doubt()
	return n
}

// Lost records that output is missing here. It drops an open sequence, and takes over modes, the present ones of the
// Scanner, which may have read further. The screen that they select is an assumption, which the program's next switch
// confirms or corrects. Other settings of the missing output, such as margins, are unknown until the terminal is reset.
func (t *Terminal) Lost(modes Modes) {
	t.parser.dropString()
	t.parser.chars = 0
	t.showAlternate(modes.AlternateScreen)
	t.modes = modes
	t.unsure, t.assumed = true, true
	t.doubt()
}

// doubt marks both screens as possibly wrong, and drops the history.
func (t *Terminal) doubt() {
	for i := range t.screens {
		for _, l := range t.screens[i].lines {
			l.stale = true
		}
		t.did(t.rows)
	}
	t.history.clear()
	t.revision++
}

// isApproximate reports whether the picture may be wrong.
func (t *Terminal) isApproximate() bool {
	return t.unsure || slices.ContainsFunc(t.grid.lines, func(l *line) bool { return l.stale })
}

// skimPlain skips output that does not affect how later output is drawn.
func (t *Terminal) skimPlain(p []byte, i int) int {
	end := find(p, i, esc)
	for _, shift := range []byte{shiftOut, shiftIn} {
		if n := bytes.IndexByte(p[i:end], shift); n >= 0 {
			end = i + n
		}
	}
	if end > i {
		t.cursor.pending = false
	}
	return end
}

// Snapshot returns the present picture, with at most history of the lines that have left the normal screen before;
// while the alternate screen is shown, there is no history.
func (t *Terminal) Snapshot(history int) *Snapshot {
	tables := t.tables // the slices as they are: they only grow
	s := &Snapshot{
		Cols: t.cols, Rows: t.rows, Cursor: t.showCursor(), Title: t.title, Modes: t.modes,
		Palette: t.palette, Revision: t.revision, Approximate: t.isApproximate(),
		reverse: t.switches.reverse,
	}
	s.Lines = t.grid.copyLines(&tables)
	if !t.modes.AlternateScreen {
		s.History = t.history.copyLines(history, &tables)
	}
	s.resume = t.resume(&tables)
	return s
}
