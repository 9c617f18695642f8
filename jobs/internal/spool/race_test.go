package spool

import (
	"bytes"
	"os"
	"slices"
	"sync"
	"testing"
)

// pattern returns the byte at an offset; its period divides no power of two.
func pattern(off int64) byte { return byte(off % 251) }

func patterned(off int64, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = pattern(off + int64(i))
	}
	return p
}

// follow reads from the start to total and compares every byte with pattern.
func follow(t *testing.T, s *Spool, total int64, size int) (dropped int64) {
	p := make([]byte, size)
	for off := int64(0); off < total; {
		n, at := s.Read(p, off)
		if want := patterned(at, n); !bytes.Equal(p[:n], want) {
			t.Errorf("other bytes than were written in [%d, %d)", at, at+int64(n))
			return dropped
		}
		dropped += at - off
		off = at + int64(n)
	}
	return dropped
}

// The ring is overwritten many times during the reads, and turned into the finished file during some of them.
func TestReadersBesideTheFile(t *testing.T) {
	const total = 4 << 20
	s := Open(Options{File: openFile(t), Memory: 256, DiskHead: 5000, DiskTail: 40000})
	var wg sync.WaitGroup
	for _, size := range []int{1000, 7777, 64 << 10, 100} {
		wg.Go(func() { follow(t, s, total, size) })
	}
	wg.Go(func() {
		for s.End() < total {
			for _, r := range s.Kept() {
				if r.From < 0 || r.From >= r.To || r.To > s.End() {
					t.Errorf("kept %v", r)
				}
			}
		}
	})
	for off := int64(0); off < total; {
		off = s.Append(patterned(off, int(min(977, total-off))))
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 20 {
				if d := follow(t, s, total, 3000); d != total-45000 {
					t.Errorf("%d bytes are missing, not %d", d, total-45000)
				}
			}
		})
	}
	if err := s.Finish(); err != nil {
		t.Error(err)
	}
	readers.Wait()
	wg.Wait()
}

func TestReadersBesideClose(t *testing.T) {
	for range 50 {
		s := Open(Options{File: openFile(t), Memory: 16, DiskHead: 100, DiskTail: 400})
		s.Append(patterned(0, 5000))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if d := follow(t, s, 5000, 70); d != 4500 {
					t.Errorf("%d bytes are missing, not 4500", d)
				}
			})
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

// A reader during Remove gets correct bytes or a gap.
func TestReadersBesideRemove(t *testing.T) {
	for range 50 {
		s := Open(Options{File: openFile(t), Memory: 16, DiskHead: 100, DiskTail: 400})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { follow(t, s, 20000, 70) })
		}
		wg.Go(func() {
			for off := int64(0); off < 20000; {
				off = s.Append(patterned(off, 100))
			}
		})
		wg.Go(func() {
			if err := s.Remove(); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	}
}

// The appender writes between the two lookups of a reader, in every order.
func TestOverwrittenUnderTheReader(t *testing.T) {
	for between := range 60 {
		s := Open(Options{File: openFile(t), Memory: 4, DiskHead: 10, DiskTail: 40})
		s.Append(patterned(0, 100))
		e, _ := s.disk.next(60) // the oldest bytes of the ring
		if e.From != 60 || e.To != 90 {
			t.Fatalf("the first extent is %v", e)
		}
		s.Append(patterned(100, between))
		p := make([]byte, 30)
		s.mu.RLock()
		run, ok, _ := s.readDisk(p, e, false)
		want := Range{60 + int64(between), 90}
		switch {
		case between >= 30 && (ok || run != Range{}):
			t.Errorf("%d appended: %v, %v, where all was overwritten", between, run, ok)
		case between < 30 && (!ok || run != want):
			t.Errorf("%d appended: %v, %v, not %v", between, run, ok, want)
		case ok && !bytes.Equal(p[:run.To-run.From], patterned(run.From, int(run.To-run.From))):
			t.Errorf("%d appended: other bytes than were written", between)
		}
	}
}

// A between runs a function after a reader has looked up a position and before it reads there.
type between struct {
	file *os.File
	do   func()
}

func (b *between) ReadAt(p []byte, pos int64) (int, error) {
	b.do()
	return b.file.ReadAt(p, pos)
}

// A reader that is overtaken repeatedly finally holds the lock, and releases it.
func TestOutrunReader(t *testing.T) {
	s := Open(Options{File: openFile(t), Memory: 4, DiskHead: 10, DiskTail: 40})
	s.Append(patterned(0, 100))
	outrun := 0
	s.src.open = &between{s.file, func() {
		if s.mu.TryLock() {
			s.mu.Unlock()
			outrun++
			s.Append(patterned(s.End(), 20))
		}
	}}
	p := make([]byte, 5)
	n, at := s.Read(p, 10)
	if n != 5 || at != s.End()-40 || !bytes.Equal(p, patterned(at, n)) {
		t.Errorf("%d bytes at %d, and the ring begins at %d", n, at, s.End()-40)
	}
	if outrun != 3 {
		t.Errorf("outrun %d times", outrun)
	}
	if !s.mu.TryLock() {
		t.Error("the lock is still held")
	}
}

// The file is closed, put in order or removed right before it is read.
func TestEndedUnderTheReader(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(s *Spool) error
		n    int
		want int64
	}{
		"close":  {(*Spool).Close, 20, 60},
		"finish": {(*Spool).Finish, 20, 60},
		"remove": {(*Spool).Remove, 0, 100},
	} {
		s := Open(Options{File: openFile(t), DiskHead: 10, DiskTail: 40})
		s.Append(patterned(0, 98))
		s.Append(patterned(98, 2))
		s.mem.drop()
		look := &between{file: s.file}
		look.do = func() {
			look.do = func() {} // Finish reads too
			if err := test.end(s); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.src.open = look
		p := make([]byte, 20)
		if n, at := s.Read(p, 15); n != test.n || at != test.want || !bytes.Equal(p[:n], patterned(at, n)) {
			t.Errorf("%s: %d bytes at %d", name, n, at)
		}
	}
}

// The oldest bytes are withdrawn before they are overwritten: Kept never contains a byte that the file no longer has.
func TestWithdrawnBeforeOverwritten(t *testing.T) {
	s := newSubject(t, Options{Memory: 8, DiskHead: 10, DiskTail: 40}, 0)
	write := s.writeAt
	s.writeAt = func(p []byte, pos int64) (int, error) {
		n, err := write(p, pos) // written, and not published yet
		for _, r := range s.Stored() {
			got, gaps := s.ReadRange(r.From, r.To)
			if gaps != nil || !bytes.Equal(got, s.all[r.From:r.To]) {
				t.Errorf("%v is told of and was overwritten", r)
			}
		}
		return n, err
	}
	for range 100 {
		s.append(t, s.rnd.IntN(60))
	}
}

// A failure of Finish loses nothing.
func TestFinishFails(t *testing.T) {
	s := newSubject(t, Options{Memory: 8, DiskHead: 10, DiskTail: 40}, 0)
	s.append(t, 500)
	before, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	kept := s.Kept()
	old, err := s.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.replace(s.path+".no-such-file", nil, old); err == nil {
		t.Fatal("a file that is not there has replaced ours")
	}
	if err := s.detach(old); err != nil {
		t.Errorf("detach: %v", err)
	}
	if !slices.Equal(s.Kept(), kept) {
		t.Errorf("kept %v, not %v", s.Kept(), kept)
	}
	s.checkFile(t, before)
	s.verify(t)
}
