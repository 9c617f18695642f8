package view

import (
	"math"
	"sync"
)

// maxSizes is the number of sizes that are remembered. If there are more, the oldest are forgotten: their output is
// drawn in the size that followed.
const maxSizes = 64

// Sizes records the sizes of a terminal by output offset, for drawing later. Its zero value is ready for use. Any
// goroutine may call its methods.
type Sizes struct {
	mu    sync.Mutex
	marks []sizeMark
	count int
	lossy bool // sizes are missing in which something may have been drawn
}

// A sizeMark is a size and the output offset from which on it applies.
type sizeMark struct {
	off        int64
	cols, rows int
	number     int // counts the calls of Note
}

// Note records the size that applies from an offset on. Offsets must not decrease; the first one is 0.
func (s *Sizes) Note(off int64, cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	m := sizeMark{off, cols, rows, s.count}
	if n := len(s.marks); n > 0 && s.marks[n-1].off == off {
		s.marks[n-1], s.lossy = m, s.lossy || off > 0
		return
	}
	if len(s.marks) == maxSizes {
		s.marks = s.marks[:copy(s.marks, s.marks[1:])]
		s.marks[0].off, s.lossy = 0, true
	}
	s.marks = append(s.marks, m)
}

// Count returns the number of sizes that were noted.
func (s *Sizes) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// at returns the size that applies at an offset, and the offset of the next one.
func (s *Sizes) at(off int64) (m sizeMark, next int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m = s.marks[0]
	for _, later := range s.marks[1:] {
		if later.off > off {
			return m, later.off
		}
		m = later
	}
	return m, math.MaxInt64
}

// complete reports whether no size is missing.
func (s *Sizes) complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.lossy
}
