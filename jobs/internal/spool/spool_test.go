package spool

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// model is the spool as a plain slice: everything ever written.
type model struct{ all []byte }

func (m *model) check(t testing.TB, s *Spool, off int64, size int) {
	t.Helper()
	p := make([]byte, size)
	n, at := s.Read(p, off)
	if n == 0 {
		if at < int64(len(m.all)) && size > 0 {
			t.Fatalf("Read(%d bytes at %d) of %d found nothing at %d", size, off, len(m.all), at)
		}
		return
	}
	if !bytes.Equal(p[:n], m.all[at:at+int64(n)]) {
		t.Fatalf("Read(%d at %d) gave other bytes than were written at %d", size, off, at)
	}
	if at != off && kept(s, off) {
		t.Fatalf("Read at %d skipped to %d, though Kept has it", off, at)
	}
}

func kept(s *Spool, off int64) bool {
	for _, r := range s.Kept() {
		if off >= r.From && off < r.To {
			return true
		}
	}
	return false
}

func TestAgainstPlainSlice(t *testing.T) {
	for _, bound := range []int{0, 1000, 200 << 10, 1 << 20} {
		rnd := rand.New(rand.NewPCG(1, uint64(bound)))
		s, m := New(bound), &model{}
		for range 400 {
			p := make([]byte, rnd.IntN(20000))
			for i := range p {
				p[i] = byte(rnd.Uint32())
			}
			m.all = append(m.all, p...)
			if end := s.Append(p); end != int64(len(m.all)) {
				t.Fatalf("end %d, want %d", end, len(m.all))
			}
			m.check(t, s, rnd.Int64N(int64(len(m.all)+1)), rnd.IntN(200000)+1)
		}
		total := 0
		for _, r := range s.Kept() {
			total += int(r.To - r.From)
		}
		if limit := max(bound, 2*segmentSize+bound/8) + segmentSize; total > limit {
			t.Errorf("bound %d: %d bytes kept", bound, total)
		}
		if total < min(bound, len(m.all))-segmentSize {
			t.Errorf("bound %d: only %d of %d bytes kept", bound, total, len(m.all))
		}
	}
}

func TestReadRangeTellsTheGap(t *testing.T) {
	s := New(256 << 10)
	all := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	s.Append(all)
	data, gaps := s.ReadRange(0, s.End())
	if len(gaps) != 1 || gaps[0].From != 32<<10 {
		t.Fatalf("gaps %v, want one from the end of the head, %d", gaps, 32<<10)
	}
	if got, want := int64(len(data)), s.End()-(gaps[0].To-gaps[0].From); got != want {
		t.Fatalf("%d bytes, want %d", got, want)
	}
	want := append(append([]byte{}, all[:gaps[0].From]...), all[gaps[0].To:]...)
	if !bytes.Equal(data, want) {
		t.Fatal("the bytes on both sides of the gap are not what was written")
	}
	if data, gaps := s.ReadRange(10, 20); string(data) != "abcdef0123" || gaps != nil {
		t.Fatalf("[10, 20) is %q, gaps %v", data, gaps)
	}
	if _, gaps := s.ReadRange(100<<10, 101<<10); len(gaps) != 1 || gaps[0] != (Range{100 << 10, 101 << 10}) {
		t.Fatalf("a range inside the gap: %v", gaps)
	}
}

func TestEmpty(t *testing.T) {
	s := New(1 << 20)
	if n, at := s.Read(make([]byte, 10), 5); n != 0 || at != 5 {
		t.Errorf("Read of an empty spool: %d bytes at %d", n, at)
	}
	if k := s.Kept(); k != nil {
		t.Errorf("Kept %v", k)
	}
}

// One appender and many readers run concurrently, for the race detector.
func TestReadersBesideTheAppender(t *testing.T) {
	s := New(512 << 10)
	const total = 8 << 20
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			p := make([]byte, 10000)
			for off := int64(0); off < total; {
				n, at := s.Read(p, off)
				for i := range n {
					if p[i] != byte((at+int64(i))*7) {
						t.Errorf("byte %d is %d", at+int64(i), p[i])
						return
					}
				}
				off = at + int64(n)
			}
		})
	}
	chunk := make([]byte, 5000)
	for off := int64(0); off < total; {
		n := int(min(int64(len(chunk)), total-off))
		for i := range n {
			chunk[i] = byte((off + int64(i)) * 7)
		}
		off = s.Append(chunk[:n])
	}
	wg.Wait()
}

func FuzzAgainstPlainSlice(f *testing.F) {
	f.Add([]byte("some seed of sizes"), 70000, int64(3))
	f.Fuzz(func(t *testing.T, sizes []byte, bound int, off int64) {
		if bound < 0 || bound > 1<<20 {
			return
		}
		s, m := New(bound), &model{}
		for i, b := range sizes {
			p := bytes.Repeat([]byte{byte(i)}, int(b)*37)
			m.all = append(m.all, p...)
			s.Append(p)
		}
		if off >= 0 {
			m.check(t, s, off, 4096)
		}
	})
}

// ReadNow reads bytes from memory, and reports if more could be read from a disk.
func TestReadNow(t *testing.T) {
	s := Open(Options{Memory: 4, Create: func() (*os.File, error) { return os.Create(filepath.Join(t.TempDir(), "out")) }, DiskHead: 100, DiskTail: 100})
	defer func() { _ = s.Close() }()
	s.Append([]byte("0123456789"))
	buf := make([]byte, 10)
	if n, at, ok := s.ReadNow(buf, 6); !ok || at != 6 || string(buf[:n]) != "6789" {
		t.Errorf("from memory: %q at %d, %t", buf[:n], at, ok)
	}
	if n, at, ok := s.ReadNow(buf, 10); !ok || n != 0 || at != 10 {
		t.Errorf("at the end: %d at %d, %t", n, at, ok)
	}
	if n, _, ok := s.ReadNow(buf, 2); ok || n != 0 {
		t.Errorf("from the disk: %q, %t", buf[:n], ok)
	}
	s.mu.Lock()
	if _, _, ok := s.ReadNow(buf, 6); ok {
		t.Error("it has not waited for who has the spool, and says it has read")
	}
	s.mu.Unlock()
}
