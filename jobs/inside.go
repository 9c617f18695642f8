package jobs

import (
	"bytes"

	"shelld/jobs/internal/spool"
)

// maxInside is how long an escape sequence may be of which the rest is told from text: as for patterns.
const maxInside = 64 << 10

// inside returns how many bytes from an offset on, of those before to, are the rest of an escape sequence that begins
// before it, as [Plain] takes one: where the whole is shown they do not stand there, and so they are not
// shown where only what comes from the offset on is.
func inside(s *spool.Spool, off, to int64) int64 {
	begun := begunSequence(s, off)
	if begun == nil || sequenceLength(begun) < len(begun) {
		return 0
	}
	rest := make([]byte, min(maxInside-int64(len(begun)), to-off))
	n, at, err := s.TryRead(rest, off)
	if err != nil || at != off {
		return 0
	}
	return int64(sequenceLength(append(begun, rest[:n]...)) - len(begun))
}

// begunSequence is what stands before an offset from the last escape character on; nil: there is none
// that matters. It is mostly near.
func begunSequence(s *spool.Spool, off int64) []byte {
	for n := 256; n <= maxInside; n *= 16 {
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

// sequenceLength is how many bytes Plain takes for the sequence that b begins with.
func sequenceLength(b []byte) int {
	f := folder{lines: [][]rune{nil}}
	return f.escape(b)
}
