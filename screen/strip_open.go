package screen

import (
	"bytes"
	"unicode/utf8"
)

// Open is the unfinished character, sequence or string at the end of a piece of output: an ESC would abort it. The zero
// value is nothing. A [Scanner] reads sequences in the same way.
type Open struct {
	state state
	str   stringKind
	tail  [utf8.UTFMax - 1]byte // of plain text: it may end within a character
	n     int
	c1    bool // that text may have a C1, which many terminals take for an ESC and a letter
}

// After returns what is open after p.
func (o Open) After(p []byte) Open {
	if i := lastBegun(p); i >= 0 {
		o, p = Open{state: inEscape}, p[i+1:]
	}
	for i := 0; i < len(p); {
		if o.state != ground {
			if o.step(p[i]) {
				i++
			}
			continue
		}
		end := find(p, i, esc)
		o.text(p[i:end])
		if i = end; i < len(p) {
			o = Open{state: inEscape}
			i++
		}
	}
	return o
}

// lastBegun returns the index of the last ESC that certainly ends or aborts an open sequence, or -1.
func lastBegun(p []byte) int {
	for end := len(p); ; {
		i := bytes.LastIndexByte(p[:end], esc)
		if i < 0 || i+1 < len(p) && p[i+1] >= 0x20 && p[i+1] != del {
			return i
		}
		end = i
	}
}

// text takes plain text.
func (o *Open) text(p []byte) {
	if keep := len(o.tail); len(p) < keep {
		p = append(o.tail[:o.n:o.n], p...)
	} else if o.n > 0 && o.tail[o.n-1] == beforeC1 {
		o.c1 = o.c1 || isC1(p[0])
	}
	for rest := p; !o.c1; {
		i := bytes.IndexByte(rest, beforeC1)
		if i < 0 || i+1 == len(rest) {
			break
		}
		rest = rest[i+1:]
		o.c1 = isC1(rest[0])
	}
	o.n = copy(o.tail[:], p[max(len(p)-len(o.tail), 0):])
}

// beforeC1 is the first byte of a control of eight bits in UTF-8.
const beforeC1 = 0xc2

// isC1 reports whether c is the second byte of such a control that may begin something: SS2 is the first.
func isC1(c byte) bool { return c >= 0x8e && c <= 0x9f }

// aborted reports whether an ESC that comes now aborts anything.
func (o Open) aborted() bool {
	if o.state != ground || o.c1 {
		return true
	}
	for i := o.n - 1; i >= 0; i-- {
		if utf8.RuneStart(o.tail[i]) {
			return !utf8.FullRune(o.tail[i:o.n])
		}
	}
	return false
}

// step takes a byte of an open sequence. It returns false if the sequence ended before that byte.
func (o *Open) step(c byte) bool {
	switch {
	case o.state == inEscape && o.str != noString && (c == '\\' || c == bel):
		if c == bel && o.str != oscString {
			o.str = otherString
		} else {
			*o = Open{}
		}
	case c == esc:
		o.state = inEscape
	case c == can, c == sub, o.state == inString && c == bel && o.str == oscString:
		*o = Open{}
	case o.state == inString, c < 0x20, c == del:
	case c > del:
		*o = Open{}
		return false // a character
	case o.state == inEscape:
		o.begin(c)
	case o.state == inControl && c >= 0x40, o.state == inSelect && c > 0x2f:
		*o = Open{}
	}
	return true
}

// begin takes the byte after an ESC.
func (o *Open) begin(c byte) {
	*o = Open{}
	switch c {
	case '[':
		o.state = inControl
	case ']':
		o.state, o.str = inString, oscString
	case 'P', 'X', '^', '_':
		o.state, o.str = inString, otherString
	default:
		if c <= 0x2f {
			o.state = inSelect
		}
	}
}
