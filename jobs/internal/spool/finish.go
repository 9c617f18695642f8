package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// marker is the line that stands in the file where output was dropped.
const marker = "\n[shelld: %d bytes omitted here, offsets %d to %d]\n"

// Marker is the line that stands for the bytes from one offset to another.
func Marker(from, to int64) string { return fmt.Sprintf(marker, to-from, from, to) }

// Finish makes the file what a person reads: what is kept in the order in which it
// was written, with one line wherever something was dropped, as a rule between
// head and tail. It is called once nothing will be appended; reads go on beside it
// and after it. It leaves no descriptor behind, and in memory only what the budget
// had no room for. Where the error says that the file is gone, both stay and serve
// the readers until Close.
//
// A file that is in order already, which most are, is left alone. Any other is
// written anew beside the old one, which is then replaced: a crash leaves the one
// or the other, and Record has told before which lines are ours. Turning the ring in place would need no second copy, but write
// every byte twice, and a crash in the middle would leave shreds.
//
// On any other error the file stays as it is, and is read as before.
func (s *Spool) Finish() error {
	s.over.Store(true)
	s.appending.Lock()
	defer s.appending.Unlock()
	s.ending.Lock()
	defer s.ending.Unlock()
	late := s.settleLate()
	s.create = nil
	if s.file == nil || s.src.open == nil {
		return late
	}
	return errors.Join(late, s.finish())
}

// finish is Finish where there is a file.
func (s *Spool) finish() error {
	info, err := s.file.Stat()
	if err == nil {
		err = identify(s.src.path, info)
	}
	if err != nil {
		return err
	}
	kept := s.claim()
	s.mu.RLock()
	ordered, told := s.disk.like(s.End()), s.failed != nil
	s.mu.RUnlock()
	var holed error
	if info.Size() < s.out.length || s.out.holed.Load() || s.out.hasHole() {
		left := s.printed(kept)
		if !slices.Equal(left, kept) && !told {
			holed = s.out.cut(s.out.length)
		}
		kept, ordered = left, false // What is in memory may not be in the file any more.
		s.noteDamage()
	}
	if !ordered {
		err = s.total.alone(func() error { return s.rewrite(kept, info) })
	} else {
		err = s.detach(info)
	}
	s.settle(s.src.info.Size())
	return errors.Join(holed, err)
}

// printed returns what is left of kept without the holes in the file.
func (s *Spool) printed(kept []Range) (left []Range) {
	buf := make([]byte, 256<<10)
	for _, r := range kept {
		for off := r.From; off < r.To; {
			n, at := s.Read(buf[:min(int64(len(buf)), r.To-off)], off)
			if n == 0 || at >= r.To {
				break
			}
			off = min(at+int64(n), r.To)
			left = append(left, Range{at, off})
		}
	}
	return merge(left)
}

// claim returns what the finished file will hold: what is in it and, where the
// budget lets it, what is in memory alone.
func (s *Spool) claim() []Range {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, stored := s.kept(), merge(s.disk.ranges(nil))
	if extra := Length(kept) - Length(stored); extra > 0 {
		if !s.total.takeAll(extra) {
			return stored
		}
		s.charged += extra
	}
	return kept
}

// settle tells the budget how long the file is in the end.
func (s *Spool) settle(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.charge(size - s.charged)
	s.charged = size
}

// rewrite replaces the file, which old is about, by one with the ranges of kept in
// order. If that fails, the descriptor is closed all the same.
func (s *Spool) rewrite(kept []Range, old fs.FileInfo) error {
	tmp, err := os.CreateTemp(filepath.Dir(s.src.path), ".spool-*") // 0600
	if err != nil {
		return errors.Join(fmt.Errorf("putting output in order: %w", err), s.detach(old))
	}
	packed, err := s.copyTo(tmp, kept)
	if err == nil {
		err = tmp.Sync() // before it replaces the only good copy
	}
	info, statErr := tmp.Stat()
	if err = errors.Join(err, statErr, tmp.Close()); err == nil && s.record != nil {
		err = s.record(kept)
	}
	if err == nil {
		err = s.replace(tmp.Name(), packed, info)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // Best effort: it may be the disk that fails.
		return errors.Join(fmt.Errorf("putting output in order: %w", err), s.detach(old))
	}
	return nil
}

// copyTo writes the finished file and returns where everything is in it. It reads
// as any reader does.
func (s *Spool) copyTo(w io.Writer, kept []Range) (packed []extent, err error) {
	buf := make([]byte, 256<<10)
	var pos, next int64
	end := s.End()
	for _, r := range append(kept, Range{end, end}) {
		if r.From > next {
			n, err := fmt.Fprintf(w, marker, r.From-next, next, r.From)
			if err != nil {
				return nil, err
			}
			pos += int64(n)
		}
		next = r.To
		packed = add(packed, extent{r, pos})
		for off := r.From; off < r.To; {
			n, at, err := s.TryRead(buf[:min(int64(len(buf)), r.To-off)], off)
			if err != nil {
				return nil, fmt.Errorf("offset %d of %s can't be read: %w", off, s.src.path, err)
			}
			if n == 0 || at != off {
				return nil, fmt.Errorf("offset %d of %s can't be read", off, s.src.path)
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return nil, err
			}
			off += int64(n)
			pos += int64(n)
		}
	}
	if packed == nil {
		packed = []extent{}
	}
	return packed, nil
}

// replace puts the file name, which info is about, into the place of the old one. The
// lock is not held while the disk works: others ask what is kept, and must not wait.
func (s *Spool) replace(name string, packed []extent, info fs.FileInfo) error {
	if !replacesOpen {
		_ = s.file.Close() // nothing is owed: what was written can be read
	}
	if err := os.Rename(name, s.src.path); err != nil {
		return err
	}
	s.mu.Lock()
	s.disk.packed, s.disk.end = packed, s.end.Load()
	s.damaged = false
	s.swap(info)
	s.mu.Unlock()
	_ = s.file.Close() // as above
	return nil
}

// detach closes the descriptor. The file, which info is about, is from then on
// opened for each read.
func (s *Spool) detach(info fs.FileInfo) error {
	s.mu.Lock()
	s.swap(info)
	s.mu.Unlock()
	err := s.file.Close()             // after that, and without the lock, as in replace
	if errors.Is(err, os.ErrClosed) { // by replace
		err = nil
	}
	return err
}

// noteDamage notes that the file lacks bytes that were written to it.
func (s *Spool) noteDamage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged = true
}

// swap goes over to reading by name and gives up the memory of what the file has.
// The caller holds mu.
func (s *Spool) swap(info fs.FileInfo) {
	s.src = source{path: s.src.path, info: info}
	if !s.damaged && Length(merge(s.disk.ranges(nil))) == Length(s.kept()) {
		s.mem.drop()
	}
}

// forget withdraws what was in the file, for good.
func (s *Spool) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk.packed = []extent{}
}

// Close closes the descriptor, if Finish has not, and leaves the file as it is: for
// a stream that nobody sees to its end. What is stored stays readable for as long
// as the file is where it was.
func (s *Spool) Close() error {
	s.over.Store(true)
	s.ending.Lock()
	defer s.ending.Unlock()
	return s.close()
}

// close is Close for those who hold ending.
func (s *Spool) close() error {
	s.create = nil
	if s.file == nil || s.src.open == nil {
		return nil
	}
	info, err := s.file.Stat()
	if err != nil {
		s.forget()
		return errors.Join(err, s.file.Close())
	}
	if identify(s.src.path, info) != nil {
		s.forget()
	}
	return s.detach(info)
}

// Remove deletes the file, gives its room back to the budget, and closes what is
// open. What is in memory alone stays readable. A file that is gone already is no
// error; another one in its place is, and is left alone.
func (s *Spool) Remove() error {
	s.over.Store(true)
	s.ending.Lock()
	defer s.ending.Unlock()
	s.create = nil
	if s.file == nil {
		return nil
	}
	err := s.close()
	s.forget()
	s.settle(0)
	if _, gone := os.Lstat(s.src.path); errors.Is(gone, fs.ErrNotExist) {
		return err
	}
	if other := identify(s.src.path, s.src.info); other != nil {
		return errors.Join(err, other)
	}
	return errors.Join(err, os.Remove(s.src.path))
}
