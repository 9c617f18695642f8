package spool

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// openFile creates a file like a caller of the spool.
func openFile(t testing.TB) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "stdout.txt"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // best effort: the spool has usually closed it
	return f
}

// A subject is a spool with a copy of everything that was written to it.
type subject struct {
	*Spool
	all  []byte
	path string
	rnd  *rand.Rand
}

func newSubject(t testing.TB, o Options, seed uint64) *subject {
	o.File = openFile(t)
	return &subject{Spool: Open(o), path: o.File.Name(), rnd: rand.New(rand.NewPCG(seed, 1))}
}

func (s *subject) append(t testing.TB, n int) {
	t.Helper()
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(s.rnd.Uint32())
	}
	s.all = append(s.all, p...)
	if end := s.Append(p); end != int64(len(s.all)) {
		t.Fatalf("end %d, want %d", end, len(s.all))
	}
}

// appendText appends text without NUL bytes, which are holes if they are read from a file.
func (s *subject) appendText(t testing.TB, n int) {
	t.Helper()
	p := make([]byte, n)
	for i := range p {
		p[i] = 'a' + byte(s.rnd.IntN(26))
	}
	s.all = append(s.all, p...)
	if end := s.Append(p); end != int64(len(s.all)) {
		t.Fatalf("end %d, want %d", end, len(s.all))
	}
}

// verify reads everything, and pieces of it, and compares it with Kept.
func (s *subject) verify(t testing.TB) {
	t.Helper()
	kept, end := s.Kept(), int64(len(s.all))
	var want []byte
	var missing []Range
	next := int64(0)
	for _, r := range append(slices.Clone(kept), Range{end, end}) {
		if r.From > next {
			missing = append(missing, Range{next, r.From})
		}
		want = append(want, s.all[r.From:r.To]...)
		next = r.To
	}
	data, gaps := s.ReadRange(0, end)
	if !slices.Equal(gaps, missing) {
		t.Fatalf("read to %d: gaps %v, but kept is %v", end, gaps, kept)
	}
	if !bytes.Equal(data, want) {
		t.Fatalf("read to %d: other bytes than were written in %v", end, kept)
	}
	m := &model{s.all}
	for range 5 {
		m.check(t, s.Spool, s.rnd.Int64N(end+1), s.rnd.IntN(len(s.all)+1)+1)
	}
}

// bounds returns the ranges that must be on disk, computed from the sizes alone.
func bounds(end, head, tail int64) []Range {
	if end <= head+tail {
		return []Range{{0, end}}
	}
	return merge(slices.DeleteFunc([]Range{{0, head}, {end - tail, end}}, func(r Range) bool { return r.From >= r.To }))
}

// finished returns the expected contents of the finished file.
func finished(all []byte, kept []Range) []byte {
	var out []byte
	next, end := int64(0), int64(len(all))
	for _, r := range append(slices.Clone(kept), Range{end, end}) {
		if n := r.From - next; n > 0 {
			out = fmt.Appendf(out, "\n[shelld: %d bytes omitted here, offsets %d to %d]\n", n, next, r.From)
		}
		out = append(out, all[r.From:r.To]...)
		next = r.To
	}
	return out
}

func (s *subject) checkFile(t testing.TB, want []byte) {
	t.Helper()
	got, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("the file has %d bytes, not the %d that it should", len(got), len(want))
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.path), ".spool-*")); left != nil {
		t.Fatalf("left behind: %v", left)
	}
}

func TestFileAgainstPlainSlice(t *testing.T) {
	for _, o := range []Options{
		{Memory: 200, DiskHead: 1000, DiskTail: 3000},
		{Memory: 5000, DiskHead: 100, DiskTail: 700}, // more in memory than on disk
		{Memory: 0, DiskHead: 0, DiskTail: 1},
		{Memory: 64, DiskHead: 777, DiskTail: 0},
		{Memory: 64, DiskHead: 0, DiskTail: 4096},
		{Memory: 100, DiskHead: 0, DiskTail: 0},
		{Memory: 1 << 10, DiskHead: 8 << 10, DiskTail: 1 << 30}, // never wraps
	} {
		for _, largest := range []int{3, 500, 8000} {
			name := fmt.Sprintf("%d,%d,%d by %d", o.Memory, o.DiskHead, o.DiskTail, largest)
			t.Run(name, func(t *testing.T) { againstSlice(t, newSubject(t, o, uint64(largest)), o, largest) })
		}
	}
}

func againstSlice(t *testing.T, s *subject, o Options, largest int) {
	for range 120 {
		s.append(t, s.rnd.IntN(largest+1))
		s.verify(t)
		if got, want := s.Stored(), bounds(s.End(), o.DiskHead, o.DiskTail); len(s.all) > 0 && !slices.Equal(got, want) {
			t.Fatalf("after %d bytes the file has %v, not %v", len(s.all), got, want)
		}
		if n := Length(s.Spool.mem.ranges(nil)); n > int64(max(o.Memory, 8)) || n < min(int64(o.Memory)*3/4, s.End()) {
			t.Fatalf("%d bytes in memory", n)
		}
	}
	info, err := os.Stat(s.path)
	if err != nil || info.Size() > o.DiskHead+o.DiskTail {
		t.Fatalf("the file has grown to %d bytes, %v", info.Size(), err)
	}
	kept := s.Kept()
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	s.checkFile(t, finished(s.all, kept))
	if got := s.Stored(); !slices.Equal(got, kept) || !slices.Equal(s.Kept(), kept) {
		t.Fatalf("finished: stored %v, kept %v, not %v", got, s.Kept(), kept)
	}
	if n := Length(s.Spool.mem.ranges(nil)); n != 0 {
		t.Errorf("finished: %d bytes are still in memory", n)
	}
	s.verify(t)
}

func TestMarkerLine(t *testing.T) {
	s := newSubject(t, Options{DiskHead: 4, DiskTail: 6}, 0)
	for _, p := range []string{"abc", "def", "ghijkl", "mno", "pq"} {
		s.Append([]byte(p))
	}
	s.checkFile(t, []byte("abcdqlmnop")) // the ring, before Finish
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	s.checkFile(t, []byte("abcd\n[shelld: 7 bytes omitted here, offsets 4 to 11]\nlmnopq"))
	info, err := os.Stat(s.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := s.Finish(); err != nil {
		t.Errorf("a second Finish: %v", err)
	}
}

// A file that is in order is not rewritten: a person may be following it.
func TestFinishLeavesWhatIsInOrder(t *testing.T) {
	for _, n := range []int{0, 1, 99, 100} {
		s := newSubject(t, Options{Memory: 50, DiskHead: 40, DiskTail: 60}, 0)
		before, err := os.Stat(s.path)
		if err != nil {
			t.Fatal(err)
		}
		s.append(t, n)
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(s.path)
		if err != nil || !os.SameFile(before, after) {
			t.Errorf("%d bytes: it is another file, %v", n, err)
		}
		s.checkFile(t, s.all)
	}
}

// Bytes before End are in the file: a crash at any time loses none of them, except beyond the limits.
func TestStoredBeforeTold(t *testing.T) {
	s := newSubject(t, Options{Memory: 1 << 10, DiskHead: 1 << 10, DiskTail: 3 << 10}, 7)
	write := s.writeAt
	s.writeAt = func(p []byte, pos int64) (int, error) {
		if end := s.End(); end != int64(len(s.all)-len(p)) {
			t.Errorf("End is %d while the bytes from %d on are being written", end, len(s.all)-len(p))
		}
		return write(p, pos)
	}
	for len(s.all) < 4<<10 {
		s.append(t, 64)
		got, err := os.ReadFile(s.path)
		if err != nil || !bytes.Equal(got, s.all) {
			t.Fatalf("after %d bytes the file differs, %v", len(s.all), err)
		}
	}
}

// An append is one write, two if the ring wraps.
func TestOneWriteEach(t *testing.T) {
	s := newSubject(t, Options{DiskHead: 1000, DiskTail: 1000}, 1)
	writes, write := 0, s.writeAt
	s.writeAt = func(p []byte, pos int64) (int, error) { writes++; return write(p, pos) }
	for i := range 100 {
		writes = 0
		s.append(t, 70)
		wraps := 0
		if end := (i + 1) * 70; end > 1000 && (end-1000)%1000 < 70 && (end-1000)%1000 > 0 && end-1000 > 70 {
			wraps = 1
		}
		if writes != 1+wraps {
			t.Fatalf("append %d, to %d: %d writes", i, (i+1)*70, writes)
		}
	}
}

func TestShortStreamIsCheap(t *testing.T) {
	s := newSubject(t, Options{Memory: 256 << 10, DiskHead: 8 << 20, DiskTail: 56 << 20}, 0)
	s.append(t, 10)
	if n := cap(s.Spool.mem.tail[0]); n > 16 {
		t.Errorf("10 bytes take %d of memory", n)
	}
	for range 100 {
		s.append(t, 4000)
	}
	n := 0
	for _, seg := range s.Spool.mem.tail {
		n += cap(seg)
	}
	if n > 256<<10 {
		t.Errorf("a bound of 256 KiB takes %d of memory", n)
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte("some seed of sizes"), uint16(100), uint16(200), uint16(50), uint16(0), uint16(0))
	f.Add([]byte("a budget and a failure"), uint16(100), uint16(2000), uint16(64), uint16(900), uint16(5000))
	f.Add([]byte("0"), uint16(100), uint16(200), uint16(50), uint16(0), uint16(76)) // fails within the head
	f.Add([]byte{255, 0, 255}, uint16(0), uint16(1), uint16(1), uint16(1), uint16(1))
	f.Fuzz(func(t *testing.T, sizes []byte, head, tail, mem, budget, fails uint16) {
		o := Options{Memory: int(mem), DiskHead: int64(head), DiskTail: int64(tail)}
		if budget > 0 {
			o.Total = NewBudget(int64(budget))
		}
		s := newSubject(t, o, uint64(len(sizes)))
		if fails > 0 {
			failAfter(s, int(fails))
		}
		for _, b := range sizes[:min(len(sizes), 50)] {
			s.append(t, int(b)*7)
			s.verify(t)
			if used := o.Total.Used(); used > int64(budget) {
				t.Fatalf("%d of %d used", used, budget)
			}
		}
		kept := s.Kept()
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.Kept(), kept) {
			t.Fatalf("finished: kept %v, not %v", s.Kept(), kept)
		}
		s.checkFile(t, finished(s.all, s.Stored()))
		s.verify(t)
		if err := s.Remove(); err != nil || o.Total.Used() != 0 {
			t.Fatalf("removed: %v, %d bytes used", err, o.Total.Used())
		}
		s.verify(t)
	})
}
