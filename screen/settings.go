package screen

// Settings are modes that a scanner follows only to report them to a program that asks (DECRQM); the modes that affect
// typed input are in Modes. A bit is set if a mode differs from that of a terminal that was just switched on, which
// therefore is the zero value.
type settings uint32

// A settable is a mode that has a bit in settings, by its place in its table.
type settable struct {
	number uint16
	on     bool // in a terminal that was just switched on
	soft   bool // DECSTR restores the initial value
}

var privateSettings = [...]settable{
	{number: 25, on: true, soft: true}, // DECTCEM: the cursor is shown
	{number: 7, on: true, soft: true},  // DECAWM: lines wrap
	{number: 12, on: true, soft: true}, // the cursor blinks
	{number: 2026},                     // the picture is held back, then shown at once
	{number: originMode, soft: true},   // DECOM: rows count from the margins
	{number: 5},                        // DECSCNM: all is inverse
	{number: 41},                       // a tab behind the last column wraps first
	{number: cursorSaved},              // the cursor was saved
	{number: 3},                        // DECCOLM: 132 columns
	{number: allowColumns},             // DECCOLM has an effect
	{number: 45, soft: true},           // a move to the left wraps to the line before
	{number: sideMargins, soft: true},  // DECLRMM: there are margins at the sides
	{number: 95},                       // DECNCSM: DECCOLM does not clear
	{number: 1045, soft: true},         // as 45, and to the end of the screen
}

var ansiSettings = [...]settable{
	{number: 4, soft: true}, // IRM: insert
	{number: 2, soft: true}, // KAM: the keyboard is locked
	{number: 12, on: true},  // SRM: the terminal does not echo typed text
}

const (
	columns132   = 3
	allowColumns = 40
	cursorBlinks = 12
	originMode   = 6
	sideMargins  = 69
	cursorSaved  = 1048
)

// placeOf returns the place of a mode in a table, or -1.
func placeOf(table []settable, number uint16) int {
	for i := range table {
		if table[i].number == number {
			return i
		}
	}
	return -1
}

func (s *settings) set(table []settable, number uint16, on bool) {
	if i := placeOf(table, number); i >= 0 {
		*s &^= 1 << i
		if on != table[i].on {
			*s |= 1 << i
		}
	}
}

func (s settings) get(table []settable, number uint16) (on, known bool) {
	i := placeOf(table, number)
	if i < 0 {
		return false, false
	}
	return table[i].on != (s>>i&1 != 0), true
}

func (s *settings) softReset(table []settable) {
	for i := range table {
		if table[i].soft {
			*s &^= 1 << i
		}
	}
}

// setPrivate handles DECSET and DECRST.
func (s *Scanner) setPrivate(n uint16, on bool) {
	if n == columns132 {
		if allowed, _ := s.private.get(privateSettings[:], allowColumns); !allowed {
			return
		}
		s.private.set(privateSettings[:], sideMargins, false)
	}
	switch {
	case n == cursorSaved && on, n == 1049 && on:
		s.saveCursor()
	case n == cursorSaved:
		s.restoreCursor()
	}
	s.private.set(privateSettings[:], n, on)
	s.told.Modes.set(n, on)
	if n == 1049 && !on {
		s.restoreCursor()
	}
}

// A savedCursor is the part of a saved cursor that a program may query.
type savedCursor struct{ origin, protects bool }

// savedHere returns the saved cursor of the current screen.
func (s *Scanner) savedHere() *savedCursor {
	if s.told.Modes.AlternateScreen {
		return &s.saved[1]
	}
	return &s.saved[0]
}

// saveCursor handles DECSC.
func (s *Scanner) saveCursor() {
	origin, _ := s.private.get(privateSettings[:], originMode)
	*s.savedHere() = savedCursor{origin, s.protects}
}

// restoreCursor handles DECRC.
func (s *Scanner) restoreCursor() {
	s.private.set(privateSettings[:], originMode, s.savedHere().origin)
	s.protects = s.savedHere().protects
}

// savePrivate handles XTSAVE.
func (s *Scanner) savePrivate() {
	for _, n := range s.seq.given() {
		if on, known := s.privateState(n); known && n != cursorSaved {
			s.xtsaved.save(int(n), on)
		}
	}
}

// restorePrivate handles XTRESTORE.
func (s *Scanner) restorePrivate() {
	for _, n := range s.seq.given() {
		saved, ok := s.xtsaved[int(n)]
		if on, _ := s.privateState(n); ok && on != saved {
			s.setPrivate(n, saved)
		}
	}
}

// setANSI handles SM and RM.
func (s *Scanner) setANSI(n uint16, on bool) {
	s.ansi.set(ansiSettings[:], n, on)
	if n == 20 {
		s.told.Modes.NewLine = on
	}
}

// The values of DECRPM for the state of a mode.
const (
	modeUnknown  = 0
	modeSet      = 1
	modeReset    = 2
	modeNeverSet = 4 // it is off and stays so
)

func modeValue(on, known bool) int {
	switch {
	case !known:
		return modeUnknown
	case on:
		return modeSet
	}
	return modeReset
}

// ansiMode answers DECRQM.
func (s *Scanner) ansiMode(n uint16) int {
	switch n {
	case 1, 5, 7, 10, 11, 13, 14, 15, 16, 17, 18, 19: // features of block terminals, answered as by xterm
		return modeNeverSet
	case 3: // CRM
		return modeReset
	case 20:
		return modeValue(s.told.Modes.NewLine, true)
	}
	return modeValue(s.ansi.get(ansiSettings[:], n))
}

// privateState reports whether a private mode is set, and whether the mode exists.
func (s *Scanner) privateState(n uint16) (on, known bool) {
	if on, known = s.told.Modes.get(n); known {
		return on, true
	}
	return s.private.get(privateSettings[:], n)
}

// A cursorStyle is a shape set by DECSCUSR. Blinking is a mode of its own.
type cursorStyle uint8

// setCursor handles DECSCUSR.
func (s *Scanner) setCursor(n uint16) {
	if n > 6 {
		return
	}
	n = max(n, 1)
	s.cursor = cursorStyle((n - 1) / 2)
	s.private.set(privateSettings[:], cursorBlinks, n%2 == 1)
}

// cursorNumber returns the parameter of DECSCUSR for the current style.
func (s *Scanner) cursorNumber() int {
	n := 2 * int(s.cursor)
	if blinks, _ := s.private.get(privateSettings[:], cursorBlinks); blinks {
		return n + 1
	}
	return n + 2
}

// hardReset handles RIS. The title stays, as in xterm.
func (s *Scanner) hardReset() {
	s.told.Modes, s.xtsaved, s.saved = Modes{}, nil, [2]savedCursor{}
	s.private, s.ansi, s.cursor, s.protects, s.palette = 0, 0, 0, false, nil
}

// softReset handles DECSTR.
func (s *Scanner) softReset() {
	s.told.Modes.softReset()
	s.private.softReset(privateSettings[:])
	s.ansi.softReset(ansiSettings[:])
	s.cursor, s.protects, *s.savedHere() = 0, false, savedCursor{}
}
