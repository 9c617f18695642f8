package plain

import (
	"bytes"
	"unicode/utf8"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/spool"
)

// VisibleRange widens or narrows r to whole characters and escape sequences, so that consecutive plain pieces join
// without loss: a character belongs to the piece in which it ends, and the rest of an escape sequence that begins
// before a piece is not shown. closed reports whether the stream is complete.
func VisibleRange(s *spool.Spool, r spool.Range, closed bool) spool.Range {
	if r.From >= r.To {
		return r
	}
	lead, inside := LeadIn(s, r.From, r.To)
	from, to := r.From-int64(len(lead))+inside, r.To
	if !closed || to < s.End() {
		to -= int64(len(PartialRune(s.ReadBefore(utf8.UTFMax-1, to))))
	}
	return spool.Range{From: from, To: max(from, to)}
}

// LeadIn returns how plain text of [off, to) begins: lead is the part before off of a character that ends behind it,
// and inside is the number of bytes from off on that complete an escape sequence (see [Text]) begun before off. At most
// one of the two is set.
func LeadIn(s *spool.Spool, off, to int64) (lead []byte, inside int64) {
	begun := begunSequence(s, off)
	if begun == nil || sequenceLength(begun) < len(begun) {
		return PartialRune(s.ReadBefore(utf8.UTFMax-1, off)), 0
	}
	rest := make([]byte, min(match.MaxSequence-int64(len(begun)), to-off))
	n, at, err := s.TryRead(rest, off)
	if err != nil || at != off {
		return nil, 0
	}
	return nil, int64(sequenceLength(append(begun, rest[:n]...)) - len(begun))
}

// PartialRune returns the incomplete character at the end of b, or nil if b ends with a complete one.
func PartialRune(b []byte) []byte {
	for i := len(b) - 1; i >= max(len(b)-utf8.UTFMax+1, 0); i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				break
			}
			return b[i:]
		}
	}
	return nil
}

// begunSequence returns the bytes from the last escape character before off up to off, or nil if there is none near
// enough for its sequence to reach off. It reads a small window first, since the character is usually near.
func begunSequence(s *spool.Spool, off int64) []byte {
	for n := 256; n <= match.MaxSequence; n *= 16 {
		b := s.ReadBefore(n, off)
		if i := bytes.LastIndexByte(b, 0x1b); i >= 0 {
			return b[i:]
		}
		if len(b) < n {
			break
		}
	}
	return nil
}

// sequenceLength returns the length of the escape sequence at the beginning of b, as Text parses it.
func sequenceLength(b []byte) int {
	p := pager{lines: [][]rune{nil}}
	return p.escape(b)
}

// WholeRunes returns the length of b without an incomplete character at its end, of which neither half would be valid
// text. If b is nothing but an incomplete character, it returns len(b), so that a reader gets on.
func WholeRunes(b []byte) int {
	if n := len(b) - len(PartialRune(b)); n > 0 {
		return n
	}
	return len(b)
}
