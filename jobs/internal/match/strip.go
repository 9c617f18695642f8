package match

import (
	"encoding/binary"
	"math/bits"
)

// MaxSequence is the maximum number of bytes before a place that can affect a [Stripper] there, not counting the escape
// character itself.
const MaxSequence = maxSequence

// maxSequence bounds an escape sequence, in bytes. A longer sequence was none, or its end was lost: the part so far
// stays removed, and the rest is text again, so that an unfinished one cannot swallow the output.
const maxSequence = 64 << 10

// stripState is a Stripper's position in an escape sequence.
type stripState uint8

const (
	inText        stripState = iota
	inEscape                 // after ESC
	inDesignation            // after ESC and an intermediate byte
	inCSI                    // after ESC [
	inOSC                    // after ESC ], ended also by BEL
	inString                 // after ESC P, _, ^ or X: DCS, APC, PM, SOS
)

// A Stripper turns terminal output into plain text by removing escape sequences and most control characters. The zero
// value is ready; it keeps its state between calls, so that a sequence may be split anywhere.
//
// Removed are
//   - CSI sequences: ESC [ up to the final byte;
//   - OSC, DCS, APC, PM and SOS strings, up to ST (ESC \) or, for OSC, BEL;
//   - other escape sequences: ESC, intermediate bytes, one final byte;
//   - the control characters (C0 and DEL) except tab, LF, CR and backspace.
//
// CAN and SUB abort a sequence. An ESC within one starts another. The four control characters that stay do so within
// CSI and short sequences too, because a terminal acts on them there. A byte from 0x80 ends such a sequence and is
// text: text is UTF-8, and the eight-bit C1 controls are not recognised. A sequence of more than 64 KiB ends there, and
// the rest is text.
type Stripper struct {
	state  stripState
	length int // bytes of the present sequence
}

// Append appends the plain form of src to dst, and returns the result. dst and src may not overlap, except that dst may
// be src[:0].
func (s *Stripper) Append(dst, src []byte) []byte {
	for len(src) > 0 {
		drop, keep := s.next(src)
		dst = append(dst, src[drop:drop+keep]...)
		src = src[drop+keep:]
	}
	return dst
}

// Resume takes the bytes of a sequence from its escape character on, that included, and reports whether the sequence
// has ended. Further calls continue it. The bytes must contain no other escape character.
func (s *Stripper) Resume(b []byte) (over bool) {
	for _, c := range b {
		s.takes(c)
		if s.state == inText {
			return true
		}
	}
	return false
}

// atText reports whether the next byte belongs to no sequence begun before.
func (s *Stripper) atText() bool { return s.state == inText }

// next splits the front of src, which is not empty, into bytes to drop and bytes to keep after them; together they are
// at least one.
func (s *Stripper) next(src []byte) (drop, keep int) {
	for !s.takes(src[drop]) {
		if drop++; drop == len(src) {
			return drop, 0
		}
	}
	keep = 1
	if s.state == inText {
		keep += plainLength(src[drop+keep:])
	}
	return drop, keep
}

// stays marks the bytes of text that are kept.
var stays = func() (t [256]bool) {
	for b := range t {
		t[b] = b >= ' ' && b != 0x7f || b == '\n' || b == '\r' || b == '\t' || b == '\b'
	}
	return t
}()

// plainLength returns the number of bytes at the beginning of b that are kept as text.
func plainLength(b []byte) (n int) {
	for ; len(b)-n >= 32; n += 32 {
		four := b[n : n+32 : n+32]
		suspect := suspects(four[:8]) | suspects(four[8:16]) | suspects(four[16:24]) | suspects(four[24:])
		if suspect != 0 && !allStay(four) {
			break
		}
	}
	for n < len(b) && stays[b[n]] {
		n++
	}
	return n
}

// suspects returns 0 if none of eight bytes is below 0x20 or equal to 0x7f. Otherwise the highest bit of each such byte
// is set, and possibly that of a byte after one.
func suspects(b []byte) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	w := binary.LittleEndian.Uint64(b)
	x := w ^ ones*0x7f
	return ((w-ones*0x20)&^w | (x-ones)&^x) & highs
}

// allStay checks the bytes that suspects may have marked: mostly one, the line feed.
func allStay(b []byte) bool {
	for len(b) >= 8 {
		for mask := suspects(b[:8]); mask != 0; mask &= mask - 1 {
			if !stays[b[bits.TrailingZeros64(mask)/8]] {
				return false
			}
		}
		b = b[8:]
	}
	return true
}

// takes advances by one byte, and reports whether it is text to keep.
func (s *Stripper) takes(b byte) bool {
	if s.state == inText {
		if b == 0x1b {
			s.state, s.length = inEscape, 0
		}
		return stays[b]
	}
	if s.length++; s.length > maxSequence {
		s.state = inText
		return s.takes(b)
	}
	if b == 0x1b { // the end of a string too: ESC \ is then a sequence of its own
		s.state, s.length = inEscape, 0
		return false
	}
	if b == 0x18 || b == 0x1a { // CAN, SUB
		s.state = inText
		return false
	}
	switch s.state {
	case inOSC:
		if b == 0x07 {
			s.state = inText
		}
		return false
	case inString:
		return false
	}
	switch {
	case b >= 0x80:
		s.state = inText
		return true
	case b < ' ':
		return stays[b]
	case s.state == inEscape:
		s.dispatch(b)
	case s.state == inDesignation && b >= '0' && b <= '~', s.state == inCSI && b >= '@' && b <= '~':
		s.state = inText // b is the final byte
	}
	return false
}

// dispatch handles a printable byte after ESC.
func (s *Stripper) dispatch(b byte) {
	switch {
	case b < '0':
		s.state = inDesignation
	case b == '[':
		s.state = inCSI
	case b == ']':
		s.state = inOSC
	case b == 'P', b == '_', b == '^', b == 'X':
		s.state = inString
	case b != 0x7f:
		s.state = inText
	}
}
