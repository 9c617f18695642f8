package spool

import (
	"sync"
	"sync/atomic"
)

// segmentSize is the unit in which the tail is dropped. It is what one read for
// the wire asks for, so that a reader seldom crosses more than one edge.
const segmentSize = 64 << 10

// A Range is the half-open interval [From, To) of absolute offsets.
type Range struct{ From, To int64 }

// A Spool is the stored output of one stream.
type Spool struct {
	// Immutable:
	headMax int
	tailMax int

	end atomic.Int64 // published after the bytes below it are readable

	mu        sync.RWMutex
	head      []byte   // [0, len(head))
	tail      [][]byte // segments from tailStart on; all but the last are full
	tailStart int64
	tailLen   int
}

// New returns an empty spool that keeps at most about max bytes (at least two
// segments): the first eighth of them and the newest of the rest.
func New(max int) *Spool {
	tail := max - max/8
	if tail < 2*segmentSize {
		tail = 2 * segmentSize
	}
	return &Spool{headMax: max / 8, tailMax: tail}
}

// End returns the offset behind the last byte appended.
func (s *Spool) End() int64 { return s.end.Load() }

// Append stores p behind what is there and returns the new end. Only one
// goroutine may append; p is copied.
func (s *Spool) Append(p []byte) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.end.Load() + int64(len(p))
	if room := s.headMax - len(s.head); room > 0 {
		n := min(room, len(p))
		s.head = append(s.head, p[:n]...)
		p = p[n:]
		s.tailStart = int64(len(s.head))
	}
	for len(p) > 0 {
		p = p[s.fillTail(p):]
	}
	s.end.Store(end)
	return end
}

// fillTail puts what fits of p into the last segment, makes a new one where that
// is full, and drops the oldest when there are too many.
func (s *Spool) fillTail(p []byte) int {
	last := len(s.tail) - 1
	if last < 0 || len(s.tail[last]) == segmentSize {
		seg := s.newSegment() // may drop the first one: before append looks at s.tail
		s.tail = append(s.tail, seg)
		last = len(s.tail) - 1
	}
	n := min(segmentSize-len(s.tail[last]), len(p))
	s.tail[last] = append(s.tail[last], p[:n]...)
	s.tailLen += n
	return n
}

// newSegment reuses the oldest segment once the tail is full.
func (s *Spool) newSegment() []byte {
	if s.tailLen+segmentSize <= s.tailMax {
		return nil // grown by append: a short output does not pay for a segment
	}
	oldest := s.tail[0]
	s.tail = append(s.tail[:0], s.tail[1:]...)
	s.tailStart += int64(len(oldest))
	s.tailLen -= len(oldest)
	return oldest[:0]
}

// Read copies stored bytes into p, from the first kept offset that is not below
// off, and returns how many and where they begin. at > off means that [off, at)
// was dropped; n == 0 means that nothing at or behind off is stored yet. It never
// reads across a dropped range.
func (s *Spool) Read(p []byte, off int64) (n int, at int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	off = max(off, 0)
	if off < int64(len(s.head)) {
		n = copy(p, s.head[off:])
		if off+int64(n) < int64(len(s.head)) || s.tailStart > int64(len(s.head)) {
			return n, off
		}
		return n + s.readTail(p[n:], off+int64(n)), off
	}
	at = max(off, s.tailStart)
	return s.readTail(p, at), at
}

func (s *Spool) readTail(p []byte, off int64) (n int) {
	rel := off - s.tailStart
	if rel < 0 || rel >= int64(s.tailLen) {
		return 0
	}
	for i := int(rel / segmentSize); i < len(s.tail) && n < len(p); i++ {
		n += copy(p[n:], s.tail[i][rel-int64(i)*segmentSize:])
		rel = int64(i+1) * segmentSize
	}
	return n
}

// Kept returns the ranges that can be read, in order: none, one, or the head and
// the tail with a gap between them.
func (s *Spool) Kept() []Range {
	s.mu.RLock()
	defer s.mu.RUnlock()
	head := Range{0, int64(len(s.head))}
	tail := Range{s.tailStart, s.tailStart + int64(s.tailLen)}
	switch {
	case head.To == 0 && s.tailLen == 0:
		return nil
	case s.tailLen == 0:
		return []Range{head}
	case tail.From <= head.To:
		return []Range{{0, tail.To}}
	case head.To == 0:
		return []Range{tail}
	}
	return []Range{head, tail}
}

// ReadRange returns the stored bytes of [from, to) and the ranges in it that were
// dropped.
func (s *Spool) ReadRange(from, to int64) (data []byte, gaps []Range) {
	for from < to {
		buf := make([]byte, to-from)
		n, at := s.Read(buf, from)
		if at > from {
			gaps = append(gaps, Range{from, min(at, to)})
		}
		if n == 0 || at >= to {
			break
		}
		n = int(min(int64(n), to-at))
		data = append(data, buf[:n]...)
		from = at + int64(n)
	}
	return data, gaps
}
