package spool

// ReadBefore returns up to n of the bytes right before an offset: as many as are kept without a gap. If the last of
// them is in memory, it reads no disk, and returns only bytes from memory.
func (s *Spool) ReadBefore(n int, off int64) []byte {
	low := max(off-int64(n), 0)
	if low == off {
		return nil
	}
	if b, ok := s.inMemoryBefore(low, off); ok {
		return b
	}
	b, gaps, err := s.TryReadRange(low, off)
	switch {
	case err != nil:
		return nil
	case len(gaps) > 0:
		return b[int64(len(b))-max(off-gaps[len(gaps)-1].To, 0):]
	}
	return b
}

// inMemoryBefore returns false if the byte before off is not in memory.
func (s *Spool) inMemoryBefore(low, off int64) (b []byte, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if at, ok := s.mem.next(off - 1); !ok || at != off-1 {
		return nil, false
	}
	if head := int64(len(s.mem.head)); off > head && s.mem.start > head { // after the dropped bytes
		low = max(low, s.mem.start)
	}
	b = make([]byte, off-low)
	return b[:s.mem.read(b, low)], true
}
