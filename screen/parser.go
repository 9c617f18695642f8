package screen

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// A parser cuts a terminal's output into characters, controls and sequences, as xterm does with UTF-8: characters are
// decoded first, so that a C1 control is a character of two bytes, a byte from 0x80 to 0x9f alone is an error, and no
// byte within a character ends a string. (A [Scanner] takes no C1 control but ST: a mode that is set with another one
// affects drawing here, but not the encoding of keys.) CAN, SUB and an ESC abort an open sequence; a string counts if
// ST or BEL has ended it. The memory that the parser uses is bounded for any output.
//
// It is not x/ansi's parser: that one takes single bytes for C1 controls and ends strings within a character, returns
// aborted strings, and lets parameters overflow into the bits that mark them.
type parser struct {
	state parserState

	char  [utf8.UTFMax]byte // the beginning of a character
	chars int               // number of its bytes so far

	prefix byte    // < = > ? before the parameters
	inters [2]byte // intermediates
	inter  int     // number of intermediates, including those not kept
	broken bool    // the sequence is not a valid one

	params params

	kind  byte   // of the open string: ] P X ^ _
	final byte   // of a DCS
	data  []byte // of a string, at most stringBytes
	cut   bool   // it was longer
	last  byte   // its last byte so far
}

type parserState uint8

const (
	atGround parserState = iota
	atEscape             // after ESC
	atEscapeInter
	atControl // after CSI
	atDevice  // after DCS, before its final byte
	atString
	atStringEscape // after an ESC in a string
)

// maxParams is the same as in xterm.
const maxParams = 30

// params are the numbers of a control sequence.
type params struct {
	values [maxParams]int32 // absent: left out
	subs   uint32           // a bit for each parameter that came after a colon
	colons bool             // there was one
	n      int              // number of parameters begun; those beyond maxParams are ignored
}

// absent stands for a parameter that was left out, and maxParam is the highest value: a screen has fewer rows and
// columns.
const (
	absent   = -1
	maxParam = 1<<16 - 1
)

func (p *params) reset() { p.n, p.subs, p.colons = 0, 0, false }

func (p *params) digit(d byte) {
	if p.n == 0 {
		p.begin(false)
	}
	if i := p.n - 1; i < maxParams {
		v := max(p.values[i], 0)
		p.values[i] = min(v*10+int32(d), maxParam)
	}
}

// next ends a parameter with a semicolon or a colon.
func (p *params) next(sub bool) {
	if p.n == 0 {
		p.begin(false)
	}
	p.colons = p.colons || sub
	p.begin(sub)
}

func (p *params) begin(sub bool) {
	if p.n < maxParams {
		p.values[p.n] = absent
		if sub {
			p.subs |= 1 << p.n
		}
	}
	p.n = min(p.n+1, maxParams+1)
}

// count returns the number of parameters that are kept.
func (p *params) count() int { return min(p.n, maxParams) }

// at returns a parameter, or byDefault if it was left out.
func (p *params) at(i, byDefault int) int {
	if i >= p.count() || p.values[i] == absent {
		return byDefault
	}
	return int(p.values[i])
}

// isSub reports whether a parameter belongs to the one before.
func (p *params) isSub(i int) bool { return i < maxParams && p.subs>>i&1 != 0 }

// times returns a parameter that is a count: 0 and a missing one stand for 1.
func (p *params) times(i int) int { return max(p.at(i, 1), 1) }

// Write draws all of p, whatever it contains.
func (t *Terminal) Write(p []byte) { t.WriteSome(p, math.MaxInt64) }

// take draws p until t.stop, and returns how many bytes it has taken: at least one.
func (t *Terminal) take(p []byte) (i int) {
	for i < len(p) && (t.work < t.stop || i == 0) {
		if t.parser.state != atGround {
			i = t.sequence(p, i)
			continue
		}
		if t.parser.chars == 0 {
			if i = t.plain(p, i); i == len(p) {
				break
			}
		}
		if c := p[i]; c < utf8.RuneSelf {
			t.endChar()
			t.groundByte(c)
			i++
		} else {
			i = t.character(p, i)
		}
	}
	return i
}

// plain draws the printable ASCII at i, and returns its end.
func (t *Terminal) plain(p []byte, i int) int {
	if t.skims {
		return t.skimPlain(p, i)
	}
	end := i
	for end < len(p) && p[end]-0x20 < 0x5f {
		end++
	}
	if end > i {
		end = i + t.printASCII(p[i:end])
	}
	return end
}

func (t *Terminal) groundByte(c byte) {
	switch {
	case c == esc:
		t.beginEscape()
	case c < 0x20:
		t.control(c)
	case c != del:
		t.print(rune(c))
	}
}

// character consumes one byte of a character that is not ASCII, or all of them, and returns the index after it.
func (t *Terminal) character(p []byte, i int) int {
	ps := &t.parser
	if ps.chars == 0 {
		if r, size := utf8.DecodeRune(p[i:]); size > 1 {
			t.rune(r)
			return i + size
		}
	}
	if ps.chars > 0 && utf8.RuneStart(p[i]) {
		t.endChar()
		return i
	}
	ps.char[ps.chars] = p[i]
	ps.chars++
	if utf8.FullRune(ps.char[:ps.chars]) {
		r, size := utf8.DecodeRune(ps.char[:ps.chars])
		if r == utf8.RuneError && size < ps.chars {
			// The new byte does not continue the bytes before it: together they are one error, and the byte is read
			// again.
			ps.chars = 0
			t.rune(utf8.RuneError)
			return i
		}
		ps.chars = 0
		t.rune(r)
	}
	return i + 1
}

// endChar ends a character that cannot continue.
func (t *Terminal) endChar() {
	if t.parser.chars > 0 {
		t.parser.chars = 0
		t.rune(utf8.RuneError)
	}
}

func (t *Terminal) rune(r rune) {
	if r >= 0x80 && r < 0xa0 {
		t.c1(byte(r))
		return
	}
	if !IsControl(r) { // characters that would reorder the text around them are not drawn
		t.print(r)
	}
}

// c1 performs a C1 control, which ESC and a letter stand for as well.
func (t *Terminal) c1(c byte) {
	t.beginEscape()
	t.escapeByte(c - 0x40)
}

func (t *Terminal) beginEscape() {
	ps := &t.parser
	ps.state, ps.prefix, ps.inter, ps.broken = atEscape, 0, 0, false
	ps.params.reset()
}

// sequence takes at least one byte of an open sequence, and returns the next position.
func (t *Terminal) sequence(p []byte, i int) int {
	ps := &t.parser
	if ps.state == atString {
		return t.stringBytes(p, i)
	}
	c := p[i]
	if ps.state == atStringEscape {
		switch {
		case c == '\\', c == bel && ps.kind == ']':
			t.endString()
			return i + 1
		case c == esc, c == del, c < 0x20 && c != can && c != sub:
			if c != esc && c != del {
				t.control(c)
			}
			return i + 1 // the string may still be ended, as in xterm
		}
		ps.dropString()
		t.beginEscape()
	}
	switch {
	case c == esc:
		t.beginEscape()
	case c == can, c == sub:
		ps.state = atGround
	case c == del:
	case c < 0x20:
		if ps.state != atDevice {
			t.control(c)
		}
	case c >= utf8.RuneSelf:
		ps.state = atGround // a character: xterm abandons the sequence
		return i
	default:
		t.sequenceByte(c)
	}
	return i + 1
}

func (t *Terminal) sequenceByte(c byte) {
	switch t.parser.state {
	case atEscape:
		t.escapeByte(c)
	case atEscapeInter:
		if c < 0x30 {
			t.parser.intermediate(c)
			return
		}
		t.parser.state = atGround
		if !t.parser.broken {
			t.escape(c)
		}
	case atControl, atDevice:
		t.paramByte(c)
	}
}

func (t *Terminal) escapeByte(c byte) {
	ps := &t.parser
	switch {
	case c < 0x30:
		ps.state = atEscapeInter
		ps.intermediate(c)
	case c == '[':
		ps.state = atControl
	case c == 'P':
		ps.state = atDevice
	case c == ']', c == 'X', c == '^', c == '_':
		ps.beginString(c)
	default:
		ps.state = atGround
		t.escape(c)
	}
}

func (ps *parser) intermediate(c byte) {
	if ps.inter < len(ps.inters) {
		ps.inters[ps.inter] = c
	} else {
		ps.broken = true
	}
	ps.inter = min(ps.inter+1, len(ps.inters)+1)
}

func (t *Terminal) paramByte(c byte) {
	ps := &t.parser
	switch {
	case c >= '0' && c <= '9':
		ps.broken = ps.broken || ps.inter > 0
		ps.params.digit(c - '0')
	case c == ';' || c == ':':
		ps.broken = ps.broken || ps.inter > 0
		ps.params.next(c == ':')
	case c >= '<' && c <= '?':
		ps.broken = ps.broken || ps.prefix != 0 || ps.params.n > 0 || ps.inter > 0
		ps.prefix = c
	case c < 0x30:
		ps.intermediate(c)
	case ps.state == atDevice:
		ps.beginString('P')
		ps.final = c
	default:
		ps.state = atGround
		if !ps.broken {
			t.csi(c)
		}
	}
}

// key returns a sequence's prefix, intermediate and final byte as one number, for comparison.
func (ps *parser) key(final byte) uint32 {
	k := uint32(final) | uint32(ps.prefix)<<16
	switch ps.inter {
	case 0:
	case 1:
		k |= uint32(ps.inters[0]) << 8
	default:
		return 0 // no known sequence has more
	}
	return k
}

func (ps *parser) beginString(kind byte) {
	ps.state, ps.kind, ps.data, ps.cut, ps.last = atString, kind, ps.data[:0], false, 0
}

func (ps *parser) dropString() {
	ps.state, ps.data = atGround, ps.data[:0]
	if cap(ps.data) > 512 {
		ps.data = nil // with thousands of terminals, do not keep each one's longest string
	}
}

// stringBytes takes the available part of the open string.
func (t *Terminal) stringBytes(p []byte, i int) int {
	ps := &t.parser
	end, last := stringEnd(p, i, ps.last)
	ps.last = last
	if ps.kind == ']' || ps.kind == 'P' {
		room := stringBytes - len(ps.data)
		ps.cut = ps.cut || end-i > room
		ps.data = append(ps.data, p[i:min(end, i+room)]...)
	}
	if end == len(p) {
		return end
	}
	switch c := p[end]; {
	case c == esc:
		ps.state = atStringEscape
	case c == st:
		if n := len(ps.data); n > 0 && !ps.cut {
			ps.data = ps.data[:n-1] // the first byte of ST
		}
		t.endString()
	case c == bel && ps.kind == ']':
		t.endString()
	case c == bel: // a part of the other strings
		if ps.kind == 'P' && len(ps.data) < stringBytes {
			ps.data = append(ps.data, c)
		}
	default:
		ps.dropString()
	}
	return end + 1
}

func (t *Terminal) endString() {
	ps := &t.parser
	ps.state = atGround
	switch {
	case ps.kind == ']':
		t.osc(ps.data, ps.cut)
	case ps.kind == 'P' && !ps.broken && !ps.cut:
		t.dcs(ps.data)
	}
	ps.dropString()
}

// appendOpen appends the unfinished character or sequence, so that another terminal continues as this one does.
func (ps *parser) appendOpen(b []byte) []byte {
	switch ps.state {
	case atGround:
		return append(b, ps.char[:ps.chars]...)
	case atEscape:
		return append(b, esc)
	case atEscapeInter:
		return ps.appendInters(append(b, esc))
	case atControl:
		return ps.appendHead(append(b, esc, '['))
	case atDevice:
		return ps.appendHead(append(b, esc, 'P'))
	}
	b = append(b, esc, ps.kind)
	if ps.kind == 'P' {
		b = append(ps.appendHead(b), ps.final)
	}
	b = append(b, ps.data...)
	if ps.cut {
		b = append(b, ' ') // it is too long already
	}
	if ps.state == atStringEscape {
		b = append(b, esc)
	}
	return b
}

// appendHead appends the part of a control sequence before its final byte.
func (ps *parser) appendHead(b []byte) []byte {
	if ps.prefix != 0 {
		b = append(b, ps.prefix)
	}
	p := &ps.params
	for i := range p.count() {
		switch {
		case i > 0 && p.isSub(i):
			b = append(b, ':')
		case i > 0:
			b = append(b, ';')
		}
		if p.values[i] != absent {
			b = strconv.AppendInt(b, int64(p.values[i]), 10)
		}
	}
	if p.n > maxParams {
		b = append(b, ';')
	}
	if b = ps.appendInters(b); ps.broken && ps.inter <= len(ps.inters) {
		b = append(b, "!0"...) // a sequence with a number behind an intermediate is not valid
	}
	return b
}

func (ps *parser) appendInters(b []byte) []byte {
	for i := range ps.inter {
		b = append(b, ps.inters[min(i, len(ps.inters)-1)])
	}
	return b
}
