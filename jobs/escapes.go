package jobs

import (
	"bytes"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/spool"
)

// An escapes tells of a stream in which escape sequence an offset of it lies, if in any.
type escapes struct {
	clean Range // has no escape character
}

// A rangeReader reads the stored bytes of [from, to), and returns which of them are not kept.
type rangeReader func(from, to int64) (b []byte, gaps []spool.Range)

// stripperAt is what has seen all before an offset.
func (e *escapes) stripperAt(off int64, read rangeReader) (s match.Stripper) {
	at := e.last(off, read)
	for size := int64(256); at >= 0 && at < off; size *= 256 {
		b, gaps := read(at, min(at+size, off))
		if len(gaps) > 0 || len(b) == 0 {
			return match.Stripper{}
		}
		if s.Resume(b) { // no other sequence begins before off
			return match.Stripper{}
		}
		at += int64(len(b))
	}
	return s
}

// last is where the last escape character stands before an offset from which a sequence
// may reach that far; -1: there is none. What was found to be without one is looked at once.
func (e *escapes) last(off int64, read rangeReader) int64 {
	low := max(off-match.MaxSequence-1, 0)
	if off < e.clean.From || low > e.clean.To {
		e.clean = Range{off, off}
	}
	for _, part := range []Range{{max(e.clean.To, low), off}, {low, min(e.clean.From, off)}} {
		if part.From >= part.To {
			continue
		}
		b, gaps := read(part.From, part.To)
		if len(gaps) > 0 { // a sequence ends where something is gone
			part.From = max(gaps[len(gaps)-1].To, part.From)
			b = b[int64(len(b))-max(part.To-part.From, 0):]
		}
		if i := bytes.LastIndexByte(b, 0x1b); i >= 0 {
			at := part.From + int64(i)
			e.clean = Range{at + 1, max(off, at+1)}
			return at
		}
	}
	e.clean = Range{min(e.clean.From, low), max(e.clean.To, off)}
	return -1
}
