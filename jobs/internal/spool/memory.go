package spool

import (
	"math"
	"sync/atomic"
)

// segmentSize is the unit in which the tail in memory is dropped. It is the size of one read for the wire, so that a
// reader rarely crosses more than one edge.
const segmentSize = 64 << 10

// A memory holds the first bytes of a stream and its newest ones. It does no locking.
type memory struct {
	headMax int
	tailMax int // at least two segments
	segment int

	head  []byte   // [0, len(head))
	tail  [][]byte // segments from start on; all except the last are full
	start int64
	size  int // of the tail

	pin atomic.Int64 // nothing is dropped from here on; setting it needs no lock
}

// newMemory returns a memory that keeps the first headMax bytes and about tailMax of the newest bytes.
func newMemory(headMax, tailMax, segment int) memory {
	return memory{headMax: headMax, tailMax: max(tailMax, 2*segment), segment: segment}
}

func (m *memory) append(p []byte) {
	if room := m.headMax - len(m.head); room > 0 {
		n := min(room, len(p))
		m.head = append(m.head, p[:n]...)
		p = p[n:]
		m.start = int64(len(m.head))
	}
	for len(p) > 0 {
		p = p[m.fill(p):]
	}
}

// fill copies as much of p as fits into the last segment and returns the number of bytes. If that segment is full, it
// adds one, and drops the oldest if there are too many.
func (m *memory) fill(p []byte) int {
	if last := len(m.tail) - 1; last < 0 || len(m.tail[last]) == m.segment {
		fresh := m.fresh() // may drop the first segment: it is called before append reads m.tail
		m.tail = append(m.tail, fresh)
	}
	seg := &m.tail[len(m.tail)-1]
	n := min(m.segment-len(*seg), len(p))
	if need := len(*seg) + n; need > cap(*seg) { // append alone could exceed the segment
		bigger := make([]byte, 0, min(max(need, 2*cap(*seg)), m.segment))
		*seg = append(bigger, *seg...)
	}
	*seg = append(*seg, p[:n]...)
	m.size += n
	return n
}

// noPin means that nothing is pinned.
const noPin = int64(math.MaxInt64)

// fresh drops the oldest segments if the tail is full, except pinned ones, and returns the last of them for reuse.
func (m *memory) fresh() (reused []byte) {
	for m.size+m.segment > m.tailMax && m.start+int64(len(m.tail[0])) <= m.pin.Load() {
		oldest := m.tail[0]
		m.tail = append(m.tail[:0], m.tail[1:]...)
		m.start += int64(len(oldest))
		m.size -= len(oldest)
		reused = oldest[:0]
	}
	return reused // nil: grown as needed, so that a short output does not cost a whole segment
}

// next returns the first kept offset at or after off.
func (m *memory) next(off int64) (at int64, ok bool) {
	if off < int64(len(m.head)) {
		return off, true
	}
	at = max(off, m.start)
	return at, at < m.start+int64(m.size)
}

// read copies from off, which next has returned, up to the next gap.
func (m *memory) read(p []byte, off int64) (n int) {
	if off < int64(len(m.head)) {
		n = copy(p, m.head[off:])
		if off += int64(n); off < m.start {
			return n
		}
	}
	rel := int(off - m.start)
	for i := rel / m.segment; i < len(m.tail) && n < len(p); i++ {
		n += copy(p[n:], m.tail[i][rel-i*m.segment:])
		rel = (i + 1) * m.segment
	}
	return n
}

// ranges appends the kept ranges, in order.
func (m *memory) ranges(to []Range) []Range {
	if len(m.head) > 0 {
		to = append(to, Range{0, int64(len(m.head))})
	}
	if m.size > 0 {
		to = append(to, Range{m.start, m.start + int64(m.size)})
	}
	return to
}

// taken returns the number of allocated bytes.
func (m *memory) taken() int64 {
	n := cap(m.head)
	for _, seg := range m.tail {
		n += cap(seg)
	}
	return int64(n)
}

// drop drops all kept bytes. Bytes appended later are kept again.
func (m *memory) drop() {
	m.start += int64(m.size)
	m.head, m.tail, m.size = nil, nil, 0
}
