package spool

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// failAfter makes the writes to the file fail after n more bytes. The last ones are a part of a write.
func failAfter(s *subject, n int) {
	write := s.writeAt
	s.writeAt = func(p []byte, pos int64) (int, error) {
		k := min(n, len(p))
		n -= k
		if k, err := write(p[:k], pos); err != nil || k == len(p) {
			return k, err
		}
		return k, syscall.ENOSPC
	}
}

func TestFileFails(t *testing.T) {
	for after := range 130 {
		var told []error
		s := newSubject(t, Options{Memory: 16, DiskHead: 20, DiskTail: 50, Failed: func(err error) { told = append(told, err) }}, uint64(after))
		failAfter(s, after)
		for range 30 {
			s.append(t, s.rnd.IntN(12))
			s.verify(t)
		}
		if len(told) != 1 || !errors.Is(told[0], syscall.ENOSPC) {
			t.Fatalf("after %d bytes: told %v", after, told)
		}
		least := int64(min(after, 20))
		if after <= 70-12 { // otherwise the failed write was about to overwrite older bytes
			least = int64(after)
		}
		if k := s.Stored(); after > 0 && (k[0].From != 0 || k[0].To < least) {
			t.Fatalf("after %d bytes: stored %v, want all up to %d", after, k, least)
		}
		kept := s.Kept()
		if err := s.Finish(); err != nil { // the disk has room again
			t.Fatal(err)
		}
		s.checkFile(t, finished(s.all, kept))
		if got := s.Stored(); !slices.Equal(got, kept) {
			t.Fatalf("after %d bytes: finished with %v in the file, not %v", after, got, kept)
		}
		s.verify(t)
	}
}

// A real device that is always full.
func TestFullDevice(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	var told error
	s := &subject{Spool: Open(Options{File: f, Memory: 100, DiskTail: 1000, Failed: func(err error) { told = err }})}
	s.Append([]byte("hello"))
	if data, gaps := s.ReadRange(0, 5); string(data) != "hello" || gaps != nil || !errors.Is(told, syscall.ENOSPC) {
		t.Errorf("%q, gaps %v, told %v", data, gaps, told)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestDeletedWhileOpen(t *testing.T) {
	s := newSubject(t, Options{Memory: 10, DiskHead: 20, DiskTail: 50}, 0)
	s.append(t, 100)
	if err := os.RemoveAll(filepath.Dir(s.path)); err != nil {
		t.Fatal(err)
	}
	s.append(t, 100)
	kept := s.Kept()
	if err := s.Finish(); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errGone) {
		t.Errorf("Finish: %v", err)
	}
	if !slices.Equal(s.Kept(), kept) {
		t.Errorf("kept %v, not %v: readers lost what the descriptor still has", s.Kept(), kept)
	}
	s.verify(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if k := s.Kept(); len(k) != 1 || k[0].To != 200 || k[0].From < 190 {
		t.Errorf("closed: kept %v, not the memory alone", k)
	}
	s.verify(t)
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
}

func TestGoneAfterFinish(t *testing.T) {
	swap := map[string]func(t *testing.T, path string){
		"deleted": func(t *testing.T, path string) {},
		"another": func(t *testing.T, path string) {
			if err := os.WriteFile(path, make([]byte, 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"link": func(t *testing.T, path string) {
			if err := os.Symlink(path+".moved", path); err != nil {
				t.Skip(err)
			}
		},
	}
	for name, put := range swap {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t, Options{Memory: 10, DiskHead: 20, DiskTail: 50}, 0)
			s.append(t, 100)
			if err := s.Finish(); err != nil {
				t.Fatal(err)
			}
			s.verify(t)
			if err := os.Rename(s.path, s.path+".moved"); err != nil {
				t.Fatal(err)
			}
			put(t, s.path)
			if data, gaps := s.ReadRange(0, 100); len(data) != 0 || !slices.Equal(gaps, []Range{{0, 100}}) {
				t.Errorf("%q, gaps %v", data, gaps)
			}
			if n, at := s.Read(make([]byte, 10), 30); n != 0 || at != 100 {
				t.Errorf("%d bytes at %d", n, at)
			}
			if k := s.Kept(); len(k) != 0 {
				t.Errorf("kept %v", k)
			}
			if err := s.Remove(); (err == nil) != (name == "deleted") {
				t.Errorf("Remove: %v", err)
			}
			if _, err := os.Lstat(s.path); (err == nil) != (name != "deleted") {
				t.Errorf("what is in the file's place: %v", err)
			}
		})
	}
}

// Bytes that may still exist yield an error in TryRead, not a gap. They can be read after the error has gone.
func TestUnreadable(t *testing.T) {
	var past []Range
	s := newSubject(t, Options{Memory: 10, DiskHead: 200, DiskTail: 50, Unread: func(r Range, err error) {
		if !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("gone past %v: %v", r, err)
		}
		past = append(past, r)
	}}, 0)
	s.append(t, 100)
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(s.path)
	if err := errors.Join(os.Rename(dir, dir+".moved"), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if n, at, err := s.TryRead(make([]byte, 10), 30); n != 0 || at != 30 || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%d bytes at %d, %v", n, at, err)
	}
	if data, gaps, err := s.TryReadRange(20, 60); len(data) != 0 || !slices.Equal(gaps, []Range{{20, 60}}) || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%q, gaps %v, %v", data, gaps, err)
	}
	if past != nil {
		t.Errorf("%v was refused, and is told as gone past", past)
	}
	if n, at := s.Read(make([]byte, 10), 30); n != 0 || at != 100 || !slices.Equal(past, []Range{{30, 100}}) {
		t.Errorf("who cannot tell it has %d bytes at %d, and has gone past %v", n, at, past)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".moved", dir)); err != nil {
		t.Fatal(err)
	}
	s.verify(t)
	if data, gaps, err := s.TryReadRange(20, 60); string(data) != string(s.all[20:60]) || gaps != nil || err != nil {
		t.Errorf("%q, gaps %v, %v", data, gaps, err)
	}
	// Truncated bytes are gone; that is not an error.
	if err := os.Truncate(s.path, 30); err != nil {
		t.Fatal(err)
	}
	if n, at, err := s.TryRead(make([]byte, 10), 40); n != 0 || at != 100 || err != nil {
		t.Errorf("of what was cut: %d bytes at %d, %v", n, at, err)
	}
	if n, at := s.Read(make([]byte, 10), 40); n != 0 || at != 100 || len(past) != 1 {
		t.Errorf("of what was cut: %d bytes at %d, gone past %v", n, at, past)
	}
}

// A read that fails once is retried.
func TestReadAgain(t *testing.T) {
	s := newSubject(t, Options{Memory: 10, DiskHead: 200, DiskTail: 50, Unread: func(r Range, err error) { t.Errorf("gone past %v: %v", r, err) }}, 0)
	s.append(t, 100)
	fails := &failingOnce{ReaderAt: s.file}
	s.src.open = fails
	if n, at := s.Read(make([]byte, 10), 30); n != 10 || at != 30 || fails.reads != 2 {
		t.Errorf("%d bytes at %d, after %d reads", n, at, fails.reads)
	}
}

type failingOnce struct {
	io.ReaderAt
	reads int
}

func (f *failingOnce) ReadAt(p []byte, off int64) (int, error) {
	if f.reads++; f.reads == 1 {
		return 0, syscall.EIO
	}
	return f.ReaderAt.ReadAt(p, off)
}

// A truncated file is reported as a gap, not as silence or zeros.
func TestCutByOthers(t *testing.T) {
	s := newSubject(t, Options{Memory: 10, DiskHead: 20, DiskTail: 5000}, 0)
	s.append(t, 100)
	if err := os.Truncate(s.path, 30); err != nil {
		t.Fatal(err)
	}
	data, gaps := s.ReadRange(0, 100)
	if len(gaps) != 1 || gaps[0].From != 30 || gaps[0].To < 90 || string(data[:30]) != string(s.all[:30]) {
		t.Errorf("%d bytes, gaps %v", len(data), gaps)
	}
	if err := s.Finish(); !errors.Is(err, errCut) {
		t.Errorf("finished: %v", err)
	}
	data, gaps = s.ReadRange(0, 100)
	if len(gaps) != 1 || gaps[0].From != 30 || gaps[0].To > 90 || string(data) != string(s.all[:30])+string(s.all[gaps[0].To:]) {
		t.Errorf("finished: %d bytes, gaps %v", len(data), gaps)
	}
	s.checkFile(t, finished(s.all, s.Kept()))
}

// Finish writes bytes from memory to the file if they are missing there, because it then frees the memory.
func TestFinishRepairsFromMemory(t *testing.T) {
	const printed = 100_000
	for _, test := range []struct {
		name      string
		cut, size int64
	}{
		{"a hole", 30_001, printed},
		{"a hole and more", 30_001, printed + 20_000},
		{"a cut", 30_001, 30_001},
		{"a cut to nothing", 0, 0},
	} {
		if test.size >= printed && runtime.GOOS != "linux" {
			continue // Only Linux can find a hole at the end.
		}
		t.Run(test.name, func(t *testing.T) {
			s := newSubject(t, Options{Memory: 256 << 10, DiskHead: 200_000, DiskTail: 200_000, Tag: "test"}, 0)
			s.appendText(t, printed)
			if err := errors.Join(os.Truncate(s.path, test.cut), os.Truncate(s.path, test.size)); err != nil {
				t.Fatal(err)
			}
			if err := s.Finish(); err != nil { // Nothing is lost.
				t.Error(err)
			}
			s.verify(t)
			if kept := s.Kept(); !slices.Equal(kept, []Range{{0, printed}}) {
				t.Errorf("kept is %v", kept)
			}
			s.checkFile(t, s.all)
		})
	}
}

// If the file cannot be repaired, memory is not freed.
func TestFinishKeepsMemoryOfCutFile(t *testing.T) {
	full := errors.New("full")
	s := newSubject(t, Options{Memory: 256 << 10, DiskHead: 200_000, DiskTail: 200_000, Tag: "test", Record: func([]Range) error { return full }}, 0)
	s.appendText(t, 100_000)
	if err := os.Truncate(s.path, 30_001); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(); !errors.Is(err, full) {
		t.Error(err)
	}
	s.verify(t)
}

// Bytes truncated from the file are read from memory, if it has them.
func TestMemoryBehindCut(t *testing.T) {
	for name, size := range map[string]int64{"a cut": 30, "a hole": 1000} {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t, Options{Memory: 400, DiskHead: 2000, DiskTail: 2000}, 0)
			s.appendText(t, 1000)
			if err := errors.Join(os.Truncate(s.path, 30), os.Truncate(s.path, size)); err != nil {
				t.Fatal(err)
			}
			begin, _ := s.mem.next(0)
			if data, gaps := s.ReadRange(0, 1000); string(data) != string(s.all[:30])+string(s.all[begin:]) || !slices.Equal(gaps, []Range{{30, begin}}) {
				t.Errorf("%d bytes, gaps %v; memory begins at %d", len(data), gaps, begin)
			}
			if n, at := s.Read(make([]byte, 2000), 40); n != int(1000-begin) || at != begin {
				t.Errorf("%d bytes at %d; memory begins at %d", n, at, begin)
			}
		})
	}
}

// A write after a truncated end must not leave a hole that reads as zeros: storing ends there.
func TestWriteBehindCut(t *testing.T) {
	for _, test := range []struct {
		name              string
		head, tail        int64
		before, cut, kept int64
	}{
		{"to nothing", 2000, 5000, 1000, 0, 0},
		{"in the middle", 2000, 5000, 1000, 300, 300},
		{"of a ring", 200, 300, 1000, 100, 100},
		{"of a ring, to nothing", 200, 300, 1000, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var failed error
			s := newSubject(t, Options{Memory: 64, DiskHead: test.head, DiskTail: test.tail, Tag: "test", Failed: func(err error) { failed = err }}, 0)
			s.append(t, int(test.before))
			if err := os.Truncate(s.path, test.cut); err != nil {
				t.Fatal(err)
			}
			s.append(t, 100)
			s.append(t, 10)
			if !errors.Is(failed, errCut) || !errors.Is(s.Err(), errCut) {
				t.Errorf("the failure is %v, and told was %v", s.Err(), failed)
			}
			if stored := s.Stored(); Length(stored) != test.kept || test.kept > 0 && stored[0].From != 0 {
				t.Errorf("stored is %v", stored)
			}
			s.verify(t)
			if err := s.Finish(); err != nil {
				t.Fatal(err)
			}
			s.verify(t)
			s.checkFile(t, finished(s.all, s.Kept()))
		})
	}
}

// A file that was truncated and extended to its old length has a hole that its size does not show. The NUL bytes in it
// are not output: neither while the stream goes on, nor after its end, whether they were read before or not.
func TestHoleIsNoOutput(t *testing.T) {
	for _, test := range []struct {
		name      string
		cut, size int64
		read      bool
	}{
		{"all of it", 0, 100_000, true},
		{"in the middle", 30_001, 100_000, true},
		{"less than a block", 99_990, 100_000, true},
		{"not read", 30_001, 100_000, false},
		{"not read, longer than it was", 30_001, 120_000, false},
	} {
		if !test.read && runtime.GOOS != "linux" {
			continue // Only Linux can find a hole at the end.
		}
		t.Run(test.name, func(t *testing.T) {
			budget := NewBudget(1 << 20)
			var failed error
			s := newSubject(t, Options{Memory: 64, DiskHead: 200_000, DiskTail: 200_000, Tag: "test", Total: budget, Failed: func(err error) { failed = err }}, 0)
			print := func(n int) {
				p := bytes.Repeat([]byte("text\n"), n/5)
				s.all = append(s.all, p...)
				s.Append(p)
			}
			print(100_000)
			if err := errors.Join(os.Truncate(s.path, test.cut), os.Truncate(s.path, test.size)); err != nil {
				t.Fatal(err)
			}
			print(1000)
			check := func(when string) {
				data, gaps := s.ReadRange(0, s.End())
				if bytes.IndexByte(data, 0) >= 0 || len(gaps) != 1 || gaps[0].From != test.cut || gaps[0].To > 100_000 {
					t.Errorf("%s: gaps %v, and NUL at %d", when, gaps, bytes.IndexByte(data, 0))
				}
			}
			if test.read {
				check("while it goes on")
				if print(10); !errors.Is(failed, errCut) {
					t.Errorf("the failure is %v", failed)
				}
			}
			if err := s.Finish(); test.read == errors.Is(err, errCut) || test.read && err != nil {
				t.Errorf("finished: %v", err)
			}
			check("finished")
			got, err := os.ReadFile(s.path)
			if err != nil || bytes.IndexByte(got, 0) >= 0 || budget.Used() != int64(len(got)) {
				t.Errorf("the file has %d bytes, NUL at %d, and %d are charged; %v", len(got), bytes.IndexByte(got, 0), budget.Used(), err)
			}
		})
	}
}

// A NUL byte that the job has printed is output, and so are the bytes after it.
func TestPrintedNULIsOutput(t *testing.T) {
	s := newSubject(t, Options{Memory: 64, DiskHead: 200_000, DiskTail: 200_000}, 0)
	p := append(bytes.Repeat([]byte("a"), 1000), make([]byte, 100_000)...)
	s.all = p
	s.Append(p)
	s.verify(t)
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	s.verify(t)
	s.checkFile(t, p)
}

// Space freed by a truncation is returned to the budget.
func TestCutGivesRoomBack(t *testing.T) {
	budget := NewBudget(10_000)
	s := newSubject(t, Options{Memory: 64, DiskHead: 5000, DiskTail: 5000, Total: budget}, 0)
	s.append(t, 1000)
	if err := os.Truncate(s.path, 300); err != nil {
		t.Fatal(err)
	}
	s.append(t, 10)
	if used := budget.Used(); used != 300 {
		t.Errorf("%d bytes are charged, want 300", used)
	}
}

func TestCloseWithoutFinish(t *testing.T) {
	s := newSubject(t, Options{Memory: 10, DiskHead: 20, DiskTail: 50}, 0)
	s.append(t, 500)
	s.append(t, 7)
	kept := s.Kept()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(s.Kept(), kept) {
		t.Errorf("kept %v, not %v", s.Kept(), kept)
	}
	s.verify(t)
	s.append(t, 30) // by a loop that does not know of the end yet; it must not fail
	s.verify(t)
	for range 2 {
		if err := s.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(s.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	s.verify(t)
}

func TestMemoryOnlyHasNothingToEnd(t *testing.T) {
	s := Open(Options{Memory: 1 << 20})
	s.Append([]byte("hello"))
	for name, f := range map[string]func() error{"Finish": s.Finish, "Close": s.Close, "Remove": s.Remove} {
		if err := f(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data, _ := s.ReadRange(0, 5); string(data) != "hello" {
		t.Errorf("%q", data)
	}
}
