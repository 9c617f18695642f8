package screen

import "bytes"

// Told is what a program has told its terminal beside what is to be shown.
type Told struct {
	Title     string // of the window; at most titleBytes, one line of UTF-8
	Directory string // where the program says that it is: an absolute path, or ""
	Bells     int64  // how often it rang
	Modes     Modes
}

// A Scanner reads a terminal's output as it comes and keeps what the program tells
// the terminal in between, and asks it. It draws nothing, so it costs next to nothing: output is
// skipped to the next control that may matter. The result does not depend on how the
// output was cut, and what is kept of it is bounded, whatever the output is.
//
// It reads sequences as xterm does with UTF-8: a string ends with BEL or ESC \, any
// other sequence, CAN and SUB abort it, and bytes from 0x80 to 0x9f are no controls. Of the
// C1 controls, which are characters of two bytes, it takes ST alone, where it ends a string;
// a [Terminal] takes them all. To look for them in all output would cost half as much again.
//
// It is not safe for use by several goroutines. Make one with [NewScanner].
type Scanner struct {
	// Clean, if set, is given each title and directory once it is decoded, and returns what is kept
	// of it. Set it before the first Scan.
	Clean func(string) string

	host   string
	told   Told
	titles titles

	state state
	str   stringKind // what is open, also while an ESC may be about to end it
	text  []byte     // of an OSC, or a DCS that may be a query; at most stringBytes
	cut   bool       // it was longer
	seq   sequence
	last  byte // of the string that is open

	off    int64 // how much was scanned before this piece
	pos    int64 // of the byte that is being taken, in all that was scanned
	escape int64 // of the last ESC; what it was for is not known yet
	begun  int64 // of the sequence that is open

	// For those who ask (queries.go):
	private, ansi settings
	xtsaved       savedModes
	saved         [2]savedCursor // by DECSC, for each screen
	cursor        cursorStyle
	protects      bool     // DECSCA: characters are protected from being erased
	palette       *Palette // nil: nobody has changed a colour
	asked         []Query
	askedSize     int
	dropped       int
}

// NewScanner returns a scanner on the machine with this name, which tells the
// directories of this machine from those of others.
func NewScanner(host string) *Scanner { return &Scanner{host: host} }

// Told returns what the program has told so far.
func (s *Scanner) Told() Told { return s.told }

// What a scanner keeps is bounded by these.
const (
	titleBytes  = 4 << 10
	titleStack  = 10       // as many as xterm has
	stringBytes = 16 << 10 // a path of 4 KiB, each byte as %xx, and a host
	csiParams   = 30       // as many as xterm has
)

// A state is where in a sequence the output is.
type state uint8

const (
	ground    state = iota
	inEscape        // after ESC
	inSelect        // after ESC and an intermediate, such as ESC (
	inControl       // after ESC [
	inString        // in an OSC, DCS, SOS, PM or APC
)

// A stringKind says which string is open.
type stringKind uint8

const (
	noString stringKind = iota
	oscString
	deviceString // a DCS that may be a query
	otherString  // nothing in it is for us
)

// A sequence is a control sequence so far.
type sequence struct {
	started bool // something came after ESC [
	wrong   bool // it is none that we know
	private byte // < = > ? before the parameters
	inter   byte // an intermediate after them
	n       int  // of params that are begun; beyond csiParams they are ignored
	params  [csiParams]uint16
}

const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	del = 0x7f
	st  = 0x9c // the second byte of it
)

// Scan reads on.
func (s *Scanner) Scan(p []byte) {
	bell := -1 // where the next BEL is; behind i it has to be looked for anew
	for i := 0; i < len(p); {
		if s.state != ground {
			i = s.step(p, i)
			continue
		}
		end := find(p, i, esc)
		if bell < i {
			bell = find(p, i, bel)
		}
		if bell < end {
			s.told.Bells += int64(bytes.Count(p[bell:end], []byte{bel}))
			bell = -1
		}
		if i = end; i < len(p) {
			i = s.begin(p, i+1)
		}
	}
	s.off += int64(len(p))
}

// find returns the place of the first c from i on, or len(p).
func find(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}

// begin goes on at i, after an ESC. Nearly all sequences set colours or move the
// cursor: those are over here, if they are whole.
func (s *Scanner) begin(p []byte, i int) int {
	if i < len(p) && p[i] == '[' {
		j := i + 1
		for j < len(p) && p[j]&0xe0 == 0x20 { // parameters and intermediates
			j++
		}
		if j < len(p) && p[j] >= 0x40 && p[j] < del && !matters(p[j]) {
			return j + 1
		}
	}
	s.state, s.escape = inEscape, s.off+int64(i)-1
	return i
}

// matters says whether a control sequence with this end may be one of ours.
func matters(final byte) bool { return mattering>>(final&0x3f)&1 != 0 }

// mattering are those ends, from '@' to '~', a bit each: modes and titles, what saves them, and what asks.
const mattering uint64 = 1<<('h'&0x3f) | 1<<('l'&0x3f) | 1<<('p'&0x3f) | 1<<('t'&0x3f) | 1<<('c'&0x3f) | 1<<('n'&0x3f) | 1<<('q'&0x3f) |
	1<<('r'&0x3f) | 1<<('s'&0x3f) | 1<<('u'&0x3f)

// step takes at least one byte that is no plain output, and returns where to go on.
func (s *Scanner) step(p []byte, i int) int {
	s.pos = s.off + int64(i)
	switch s.state {
	case inString:
		return s.readString(p, i)
	case inControl:
		s.readControl(p[i])
	case inSelect:
		if c := p[i]; !s.isControl(c) && c > 0x2f {
			s.state = ground
		}
	default:
		s.readEscape(p[i])
	}
	return i + 1
}

// isControl does what a control does inside of a sequence that is no string, and
// says whether c is one.
func (s *Scanner) isControl(c byte) bool {
	switch {
	case c == esc:
		s.state, s.escape = inEscape, s.pos
	case c == can, c == sub:
		s.state = ground
	case c == bel:
		s.told.Bells++
	default:
		return c < 0x20 || c == del // the sequence goes on
	}
	return true
}

// readEscape takes the byte after an ESC. A string that was open is over: ended by
// ESC \, and else aborted.
func (s *Scanner) readEscape(c byte) {
	switch {
	case s.str != noString && c == '\\':
		s.endString("\x1b\\")
		return
	case s.str == oscString && c == bel:
		s.endString("\a")
		return
	case s.str != noString && c == bel:
		s.str = otherString
		return
	}
	if c != can && c != sub && s.isControl(c) {
		return // an open string may still be ended
	}
	s.abortString()
	s.begun = s.escape
	switch c {
	case '[':
		s.state, s.seq = inControl, sequence{}
	case ']':
		s.state, s.str = inString, oscString
	case 'P':
		s.state, s.str = inString, deviceString
	case 'X', '^', '_':
		s.state, s.str = inString, otherString
	case 'c': // RIS
		s.hardReset()
	case 'Z': // DECID, what DA1 was before
		s.answer(primaryAttributes)
	case '7':
		s.saveCursor()
	case '8':
		s.restoreCursor()
	case 'V', 'W': // SPA, EPA: the ISO's way to protect, and not DEC's
		s.protects = false
	case '=':
		s.told.Modes.ApplicationKeypad = true
	case '>':
		s.told.Modes.ApplicationKeypad = false
	default:
		if c >= 0x20 && c <= 0x2f {
			s.state = inSelect
		}
	}
}

// abortString forgets the string that is open, if any.
func (s *Scanner) abortString() {
	s.state, s.str, s.cut, s.last = ground, noString, false, 0
	if s.text = s.text[:0]; cap(s.text) > 512 {
		s.text = nil // thousands of terminals need not keep their longest one
	}
}

// endString takes the string that is open for what it says, and by what it ended.
func (s *Scanner) endString(end string) {
	switch s.str {
	case oscString:
		s.command(s.text, s.cut, end)
	case deviceString:
		s.device(s.text, s.cut)
	}
	s.abortString()
}

// stringEnds are the C0 controls that may end a string, a bit each.
const stringEnds = 1<<bel | 1<<can | 1<<sub | 1<<esc

// stringEnd returns where a part of a string ends that begins at i, behind the byte last,
// and the last byte of it. The control ST has two bytes, of which it returns the second.
func stringEnd(p []byte, i int, last byte) (end int, behind byte) {
	end = c0InString(p, i)
	for at := i; at < end; at++ {
		if at = find(p[:end], at, st); at == end {
			break
		}
		if at == i && last == 0xc2 || at > i && p[at-1] == 0xc2 {
			end = at
		} // else it is a part of a character
	}
	if end > i {
		last = p[end-1]
	}
	return end, last
}

// c0InString returns where from i on a C0 control stands that may end a string.
func c0InString(p []byte, i int) int {
	for i < len(p) && (p[i] >= 0x20 || stringEnds>>p[i]&1 == 0) {
		i++
	}
	return i
}

// readString takes what there is of the string that is open.
func (s *Scanner) readString(p []byte, i int) int {
	end, last := stringEnd(p, i, s.last)
	s.last = last
	s.keep(p[i:end])
	if end == len(p) {
		return end
	}
	s.pos = s.off + int64(end)
	switch c := p[end]; {
	case c == esc:
		s.state, s.escape = inEscape, s.pos
	case c == st:
		if n := len(s.text); n > 0 && !s.cut {
			s.text = s.text[:n-1] // the first byte of it
		}
		s.endString("\x1b\\")
	case c != bel:
		s.abortString()
	case s.str == oscString:
		s.endString("\a")
	default:
		s.keepNothing()
	}
	return end + 1
}

// keep takes a part of the string that is open, if it may say something.
func (s *Scanner) keep(p []byte) {
	if s.str == deviceString && len(s.text) < 2 {
		n := min(2-len(s.text), len(p))
		s.text = append(s.text, p[:n]...)
		p = p[n:]
		if !isQuery(s.text) {
			s.keepNothing()
		}
	}
	if s.str != otherString {
		room := stringBytes - len(s.text)
		s.cut = s.cut || len(p) > room
		s.text = append(s.text, p[:min(len(p), room)]...)
	}
}

// keepNothing goes on to the end of a string that says nothing to us.
func (s *Scanner) keepNothing() { s.str, s.text = otherString, s.text[:0] }

// readControl takes one byte of a control sequence.
func (s *Scanner) readControl(c byte) {
	q := &s.seq
	switch {
	case s.isControl(c):
		return
	case c >= '0' && c <= '9':
		q.digit(c - '0')
	case c == ';':
		q.n, q.wrong = max(q.n, 1)+1, q.wrong || q.inter != 0
	case c >= '<' && c <= '?' && !q.started:
		q.private = c
	case c >= 0x20 && c <= 0x2f && q.inter == 0:
		q.inter = c
	case c >= 0x40 && c < del:
		s.state = ground
		s.endControl(c)
	case c > del:
		s.state = ground // a character: xterm gives the sequence up
	default:
		q.wrong = true // a colon, or something out of order
	}
	q.started = true
}

func (q *sequence) digit(d byte) {
	q.wrong = q.wrong || q.inter != 0
	q.n = max(q.n, 1)
	if i := q.n - 1; i < csiParams {
		q.params[i] = uint16(min(int(q.params[i])*10+int(d), 0xffff))
	}
}

// given returns the parameters, at least one; what was left out is 0.
func (q *sequence) given() []uint16 { return q.params[:min(max(q.n, 1), csiParams)] }

func (s *Scanner) endControl(final byte) {
	q := &s.seq
	if q.wrong {
		return
	}
	switch key := [3]byte{q.private, q.inter, final}; key {
	case [3]byte{'?', 0, 'h'}, [3]byte{'?', 0, 'l'}:
		for _, n := range q.given() {
			s.setPrivate(n, final == 'h')
		}
	case [3]byte{0, 0, 'h'}, [3]byte{0, 0, 'l'}:
		for _, n := range q.given() {
			s.setANSI(n, final == 'h')
		}
	case [3]byte{'?', 0, 's'}: // XTSAVE
		s.savePrivate()
	case [3]byte{'?', 0, 'r'}: // XTRESTORE
		s.restorePrivate()
	case [3]byte{0, 0, 's'}: // SCOSC, or DECSLRM
		if margins, _ := s.private.get(privateSettings[:], sideMargins); !margins {
			s.saveCursor()
		}
	case [3]byte{0, 0, 'u'}: // SCORC
		s.restoreCursor()
	case [3]byte{0, '!', 'p'}: // DECSTR
		s.softReset()
	case [3]byte{0, ' ', 'q'}: // DECSCUSR
		s.setCursor(q.params[0])
	case [3]byte{0, '"', 'q'}: // DECSCA
		s.protects = q.params[0] == 1
	case [3]byte{0, 0, 't'}:
		if title, ok := s.titles.take(int(q.params[0]), int(q.params[1]), s.told.Title); ok {
			s.told.Title = title
		}
		s.windowQuery(q.params[0])
	default:
		s.endQuery(key)
	}
}
