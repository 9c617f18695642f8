package spool

import (
	"bytes"
	"testing"
)

// Pinned bytes are kept beyond the limit, and dropped after Unpin.
func TestPin(t *testing.T) {
	const bound = 256 << 10
	s, all := New(bound), []byte(nil)
	add := func(n int) {
		p := bytes.Repeat([]byte{byte(len(all) / 1000)}, n)
		all = append(all, p...)
		s.Append(p)
	}
	kept := func(from int64) {
		t.Helper()
		data, gaps := s.ReadRange(from, int64(len(all)))
		if len(gaps) > 0 || !bytes.Equal(data, all[from:]) {
			t.Fatalf("from %d on %d bytes of %d, gaps %v", from, len(data), int64(len(all))-from, gaps)
		}
	}
	add(bound)
	s.Pin(100_000)
	for range 300 {
		add(5000)
	}
	kept(100_000)
	s.Pin(1_000_000)
	for range 300 {
		add(5000)
	}
	kept(1_000_000)
	if s.Usage().Dropped == 0 {
		t.Error("what is before the pin is kept as well")
	}
	s.Unpin()
	add(segmentSize)
	kept(int64(len(all)) - s.Newest())
	if u := s.Usage(); u.Memory > bound+segmentSize {
		t.Errorf("%d bytes of memory, though nothing is pinned", u.Memory)
	}
}

// Newest is a guarantee, regardless of the sizes of the pieces.
func TestNewest(t *testing.T) {
	for _, max := range []int{0, 100_000, 128 << 10, 256 << 10, 300_000, 1 << 20} {
		beside := &Spool{mem: newMemory(0, max, min(max/4+1, segmentSize))} // a spool with a file
		beside.Unpin()
		for name, s := range map[string]*Spool{"alone": New(max), "beside a file": beside} {
			for i := range 2000 {
				s.Append(make([]byte, 1+i*37%9000))
				kept := s.Kept()
				newest := kept[len(kept)-1].To - kept[len(kept)-1].From
				if whole := len(kept) == 1 && kept[0].From == 0; newest < s.Newest() && !whole {
					t.Fatalf("%s, bound %d: of %d bytes the newest %d are kept, %d are promised", name, max, s.End(), newest, s.Newest())
				}
			}
		}
	}
}
