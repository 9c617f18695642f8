package screen

// Settings are modes that a scanner only follows to tell them to a program that asks
// (DECRQM); those that matter for what is typed are in Modes. A bit is set where a
// mode is not as in a terminal that was just switched on, which so is the zero value.
type settings uint32

// A settable is a mode that has a bit in settings, by its place in its table.
type settable struct {
	number uint16
	on     bool // in a terminal that was just switched on
	soft   bool // DECSTR brings that back
}

var privateSettings = [...]settable{
	{number: 25, on: true, soft: true}, // DECTCEM: the cursor is shown
	{number: 7, on: true, soft: true},  // DECAWM: lines wrap
	{number: 12, on: true, soft: true}, // the cursor blinks
	{number: 2026},                     // what is drawn is shown at once, later
	{number: 6, soft: true},            // DECOM: rows count from the margins
	{number: 5},                        // DECSCNM: all is inverse
	{number: 1048},                     // the cursor was saved
	{number: 3},                        // DECCOLM: 132 columns
	{number: allowColumns},             // DECCOLM does something
	{number: 45, soft: true},           // what goes back wraps to the line before
	{number: 69, soft: true},           // DECLRMM: there are margins at the sides
	{number: 95},                       // DECNCSM: DECCOLM does not clear
	{number: 1045},                     // as 45, and to the end of the screen
}

var ansiSettings = [...]settable{
	{number: 4, soft: true}, // IRM: insert
	{number: 2, soft: true}, // KAM: the keyboard is locked
	{number: 12, on: true},  // SRM: what is typed is not shown by the terminal
}

const (
	columns132   = 3
	allowColumns = 40
	cursorBlinks = 12
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

// setPrivate is DECSET and DECRST.
func (s *Scanner) setPrivate(n uint16, on bool) {
	if n == columns132 {
		if allowed, _ := s.private.get(privateSettings[:], allowColumns); !allowed {
			return
		}
	}
	s.private.set(privateSettings[:], n, on)
	s.told.Modes.set(n, on)
}

// setANSI is SM and RM.
func (s *Scanner) setANSI(n uint16, on bool) {
	s.ansi.set(ansiSettings[:], n, on)
	if n == 20 {
		s.told.Modes.NewLine = on
	}
}

// modeNeverSet is what DECRPM says of a mode that is off and stays so.
const modeNeverSet = 4

func modeValue(on, known bool) int {
	if !known {
		return modeUnknown
	}
	return setOrReset(on)
}

// ansiMode answers DECRQM.
func (s *Scanner) ansiMode(n uint16) int {
	switch n {
	case 1, 5, 7, 10, 11, 13, 14, 15, 16, 17, 18, 19: // what block terminals have, as xterm tells it
		return modeNeverSet
	case 3: // CRM
		return modeReset
	case 20:
		return modeValue(s.told.Modes.NewLine, true)
	}
	return modeValue(s.ansi.get(ansiSettings[:], n))
}

// privateMode answers DECRQM.
func (s *Scanner) privateMode(n uint16) int {
	if on, known := s.told.Modes.get(n); known {
		return modeValue(on, true)
	}
	return modeValue(s.private.get(privateSettings[:], n))
}

// A cursorStyle is what DECSCUSR has set. That it blinks is a mode of its own.
type cursorStyle uint8

// setCursor is DECSCUSR.
func (s *Scanner) setCursor(n uint16) {
	if n > 6 {
		return
	}
	n = max(n, 1)
	s.cursor = cursorStyle((n - 1) / 2)
	s.private.set(privateSettings[:], cursorBlinks, n%2 == 1)
}

// cursorNumber is what DECSCUSR would have to be given.
func (s *Scanner) cursorNumber() int {
	n := 2 * int(s.cursor)
	if blinks, _ := s.private.get(privateSettings[:], cursorBlinks); blinks {
		return n + 1
	}
	return n + 2
}

// hardReset is RIS. The title stays, as in xterm.
func (s *Scanner) hardReset() {
	s.told.Modes = Modes{}
	s.private, s.ansi, s.cursor, s.protects, s.palette = 0, 0, 0, false, nil
}

// softReset is DECSTR.
func (s *Scanner) softReset() {
	s.told.Modes.softReset()
	s.private.softReset(privateSettings[:])
	s.ansi.softReset(ansiSettings[:])
	s.cursor, s.protects = 0, false
}
