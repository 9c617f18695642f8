package plain

import (
	"bytes"
	"unicode/utf8"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/spool"
)

// VisibleRange is the range that is shown for another one where output is plain, so that pieces show what the whole shows: a
// character stands in the piece in which it ends, and the rest of an escape sequence that begins before a piece in
// none. closed says that nothing follows.
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

// LeadIn returns what plain text from an offset on begins with before that: the bytes of a character that is not
// whole; or else how many bytes from there on, of those before to, are the rest of an escape sequence, as [Text] takes
// one.
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

// PartialRune is the end of b where it is the beginning of a character, and not the whole.
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

// begunSequence is what stands before an offset from the last escape character on; nil: there is none
// that matters. It is mostly near.
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

// sequenceLength is how many bytes Text takes for the sequence that b begins with.
func sequenceLength(b []byte) int {
	f := pager{lines: [][]rune{nil}}
	return f.escape(b)
}

// WholeRunes returns how much of b ends with a whole character: a read that stops
// inside one would make text of it that neither half can be. A piece that is
// nothing but the beginning of one stays whole.
func WholeRunes(b []byte) int {
	if n := len(b) - len(PartialRune(b)); n > 0 {
		return n
	}
	return len(b)
}
