package screen

import "bytes"

// Told is the information that a program has sent its terminal besides the text to show.
type Told struct {
	Title     string // of the window; at most titleBytes, one line of UTF-8
	Directory string // the program's working directory as reported by the program: an absolute path, or ""
	Bells     int64  // number of bells so far
	Modes     Modes
}

// A Scanner reads a terminal's output as it comes, and keeps the information and the queries that the program sends the
// terminal in between. It draws nothing, so it costs next to nothing: it skips output up to the next control that may
// matter. The result does not depend on how the output was cut, and the amount of memory kept is bounded for any
// output.
//
// It reads sequences as xterm does with UTF-8: a string ends with BEL or ESC \, any other sequence, CAN and SUB abort
// it, and bytes from 0x80 to 0x9f are not controls. Of the C1 controls, which are characters of two bytes, it takes
// only ST, if it ends a string; a [Terminal] takes them all. A search for them in all output would cost half as much
// again.
//
// It is not safe for use by several goroutines. Make one with [NewScanner].
type Scanner struct {
	// Clean, if set, receives each decoded title and directory, and returns the text to keep. Set it before the first
	// Scan.
	Clean func(string) string

	host   string
	told   Told
	titles titles

	state state
	str   stringKind // the open string, also while an ESC may be about to end it
	text  []byte     // of an OSC, or a DCS that may be a query; at most stringBytes
	cut   bool       // it was longer
	seq   sequence
	last  byte // of the open string

	off    int64 // bytes scanned before this piece
	pos    int64 // of the current byte, in all scanned output
	escape int64 // of the last ESC, whose purpose is not known yet
	begun  int64 // of the open sequence

	// For queries (queries.go):
	private, ansi settings
	xtsaved       savedModes
	saved         [2]savedCursor // by DECSC, for each screen
	cursor        cursorStyle
	protects      bool     // DECSCA: characters are protected from being erased
	palette       *Palette // nil: all colours are unchanged
	asked         []Query
	askedSize     int
	dropped       int
}

// NewScanner returns a scanner on the machine with this name, which distinguishes the directories of this machine from
// those of others.
func NewScanner(host string) *Scanner { return &Scanner{host: host} }

// Told returns the information received so far.
func (s *Scanner) Told() Told { return s.told }

// Bounds of a scanner's memory.
const (
	titleBytes  = 4 << 10
	titleStack  = 10       // the same as in xterm
	stringBytes = 16 << 10 // a path of 4 KiB, each byte as %xx, and a host
	csiParams   = 30       // the same as in xterm
)

// A state is the position of the output in a sequence.
type state uint8

const (
	ground    state = iota
	inEscape        // after ESC
	inSelect        // after ESC and an intermediate, such as ESC (
	inControl       // after ESC [
	inString        // in an OSC, DCS, SOS, PM or APC
)

// A stringKind is the kind of the open string.
type stringKind uint8

const (
	noString stringKind = iota
	oscString
	deviceString // a DCS that may be a query
	otherString  // all other strings, which are ignored
)

// A sequence is a control sequence so far.
type sequence struct {
	started bool // a byte has come after ESC [
	wrong   bool // the sequence is unknown
	private byte // < = > ? before the parameters
	inter   byte // an intermediate after them
	n       int  // number of params begun; those beyond csiParams are ignored
	params  [csiParams]uint16
}

const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	del = 0x7f
	st  = 0x9c // its second byte
)

// Scan reads the next piece of output.
func (s *Scanner) Scan(p []byte) {
	bell := -1 // position of the next BEL; if less than i, it must be searched again
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

// find returns the index of the first c from i on, or len(p).
func find(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}

// begin continues at i, after an ESC. Nearly all sequences set colours or move the cursor: those end here if they are
// complete.
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

// matters reports whether a control sequence with this final byte may be one that the scanner handles.
func matters(final byte) bool { return mattering>>(final&0x3f)&1 != 0 }

// mattering are those final bytes, from '@' to '~', a bit each: modes and titles, their saving, and queries.
const mattering uint64 = 1<<('h'&0x3f) | 1<<('l'&0x3f) | 1<<('p'&0x3f) | 1<<('t'&0x3f) | 1<<('c'&0x3f) | 1<<('n'&0x3f) | 1<<('q'&0x3f) |
	1<<('r'&0x3f) | 1<<('s'&0x3f) | 1<<('u'&0x3f)

// step takes at least one byte that is not plain output, and returns the next position.
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

// isControl performs a control inside of a sequence that is not a string, and reports whether c is one.
func (s *Scanner) isControl(c byte) bool {
	switch {
	case c == esc:
		s.state, s.escape = inEscape, s.pos
	case c == can, c == sub:
		s.state = ground
	case c == bel:
		s.told.Bells++
	default:
		return c < 0x20 || c == del // the sequence continues
	}
	return true
}

// readEscape takes the byte after an ESC. It ends an open string: normally with ESC \, otherwise by aborting it.
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
	case 'Z': // DECID, the older form of DA1
		s.answer(primaryAttributes)
	case '7':
		s.saveCursor()
	case '8':
		s.restoreCursor()
	case 'V', 'W': // SPA, EPA: the ISO's protection, which replaces DEC's
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

// abortString drops the open string, if any.
func (s *Scanner) abortString() {
	s.state, s.str, s.cut, s.last = ground, noString, false, 0
	if s.text = s.text[:0]; cap(s.text) > 512 {
		s.text = nil // with thousands of terminals, do not keep each one's longest string
	}
}

// endString processes the open string; end is its terminator.
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

// stringEnd returns the end of the part of a string that begins at i, behind the byte last, and the last byte of that
// part. The control ST has two bytes; the end is the second of them.
func stringEnd(p []byte, i int, last byte) (end int, behind byte) {
	end = c0InString(p, i)
	for at := i; at < end; at++ {
		if at = find(p[:end], at, st); at == end {
			break
		}
		if at == i && last == 0xc2 || at > i && p[at-1] == 0xc2 {
			end = at
		} // otherwise it is a part of a character
	}
	if end > i {
		last = p[end-1]
	}
	return end, last
}

// c0InString returns the index of the first C0 control from i on that may end a string.
func c0InString(p []byte, i int) int {
	for i < len(p) && (p[i] >= 0x20 || stringEnds>>p[i]&1 == 0) {
		i++
	}
	return i
}

// readString takes the available part of the open string.
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
			s.text = s.text[:n-1] // its first byte
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

// keep stores a part of the open string, if the string may matter.
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

// keepNothing skips to the end of a string that does not matter.
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
		s.state = ground // a character: xterm abandons the sequence
	default:
		q.wrong = true // a colon, or a byte out of order
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

// given returns the parameters, at least one; a missing one is 0.
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
