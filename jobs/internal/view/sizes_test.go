package view

import "testing"

// Sizes are found by offset; if there are too many, the oldest are forgotten.
func TestSizeMarks(t *testing.T) {
	var s Sizes
	s.Note(0, 80, 24)
	for n := range 2 * maxSizes {
		s.Note(int64(n+1)*10, n+1, 5)
	}
	s.Note(int64(2*maxSizes)*10, 7, 5) // no output since the size before
	if len(s.marks) != maxSizes {
		t.Errorf("%d marks are kept", len(s.marks))
	}
	first := maxSizes + 1 // the first size that is kept, by its number n in the loop
	for _, c := range []struct {
		off, next int64
		cols      int
	}{
		{0, int64(first+1) * 10, first}, {int64(first+1)*10 - 1, int64(first+1) * 10, first},
		{int64(first+1) * 10, int64(first+2) * 10, first + 1}, {int64(2*maxSizes) * 10, 1<<63 - 1, 7},
	} {
		m, next := s.at(c.off)
		if m.cols != c.cols || next != c.next {
			t.Errorf("at %d: %d columns up to %d, want %d up to %d", c.off, m.cols, next, c.cols, c.next)
		}
	}
}
