package view

import (
	"math"
	"sync"
)

// A sizeMark says from which byte of output on a terminal has a size.
type sizeMark struct {
	off        int64
	cols, rows int
	number     int // counts the marks of a job
}

// Sizes are the sizes that a job's terminal has had, for whoever draws its output
// later. The job's turns write them.
type Sizes struct {
	mu    sync.Mutex
	marks []sizeMark
	count int
	lossy bool // there were sizes that no mark tells of, and something may be drawn in them
}

// mostMarks is how many sizes are remembered. Of more the oldest are forgotten: what was
// written then is drawn in the size that came after them.
const mostMarks = 64

// Note adds the size that counts from an offset on.
func (s *Sizes) Note(off int64, cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	m := sizeMark{off, cols, rows, s.count}
	if n := len(s.marks); n > 0 && s.marks[n-1].off == off {
		s.marks[n-1], s.lossy = m, s.lossy || off > 0
		return
	}
	if len(s.marks) == mostMarks {
		s.marks = s.marks[:copy(s.marks, s.marks[1:])]
		s.marks[0].off, s.lossy = 0, true
	}
	s.marks = append(s.marks, m)
}

// at returns the size that holds at an offset, and from where on another one does.
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

// Last returns the number of the last mark.
func (s *Sizes) Last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// exact says whether drawing all output once more goes through all sizes that there were.
func (s *Sizes) exact() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.lossy
}
