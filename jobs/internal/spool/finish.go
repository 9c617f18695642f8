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

// marker is the line in the file in place of dropped output.
const marker = "\n[shelld: %d bytes omitted here, offsets %d to %d]\n"

// Marker returns the line that stands for the bytes from one offset to another.
func Marker(from, to int64) string { return fmt.Sprintf(marker, to-from, from, to) }

// Finish turns the file into readable text: the kept bytes in the order in which they were written, with a line in
// place of each dropped range, usually one between head and tail. It must be called after the last Append; reads may go
// on during and after it. Afterwards it holds no descriptor, and in memory only the bytes for which the budget had no
// space. If the error says that the file is gone, both are kept for the readers until Close.
//
// A file that is already in order, as most are, is left alone. Any other file is rewritten next to the old one, and
// then replaces it: a crash leaves either of them, and Record has written down before which lines are markers. Rotating
// the ring in place would need no second copy, but would write every byte twice, and a crash in the middle would leave
// fragments.
//
// After any other error the file stays as it is, and is read as before.
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

// finish is Finish if there is a file.
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
		kept, ordered = left, false // Bytes in memory may no longer be in the file.
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

// printed returns kept without the holes in the file.
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

// claim returns the ranges of the finished file: those that are in the file now and, if the budget has space for them,
// those that are only in memory.
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

// settle reports the final size of the file to the budget.
func (s *Spool) settle(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.charge(size - s.charged)
	s.charged = size
}

// rewrite replaces the file, which old describes, by one with the ranges of kept in order. If that fails, the
// descriptor is closed nevertheless.
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

// copyTo writes the finished file and returns the positions of its bytes. It reads like any other reader.
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

// replace moves the file name, which info describes, over the old one. The lock is not held during disk operations,
// because Kept and others must not block.
func (s *Spool) replace(name string, packed []extent, info fs.FileInfo) error {
	if !replacesOpen {
		_ = s.file.Close() // the error is ignored: all that was written can be read
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

// detach closes the descriptor. From then on the file, which info describes, is opened for each read.
func (s *Spool) detach(info fs.FileInfo) error {
	s.mu.Lock()
	s.swap(info)
	s.mu.Unlock()
	err := s.file.Close()             // without the lock, for the same reason as in replace
	if errors.Is(err, os.ErrClosed) { // closed by replace
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

// swap switches to reading by name, and frees the memory of bytes that the file has. The caller holds mu.
func (s *Spool) swap(info fs.FileInfo) {
	s.src = source{path: s.src.path, info: info}
	if !s.damaged && Length(merge(s.disk.ranges(nil))) == Length(s.kept()) {
		s.mem.drop()
	}
}

// forget withdraws all bytes of the file, permanently.
func (s *Spool) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disk.packed = []extent{}
}

// Close closes the descriptor, if Finish has not done so, and leaves the file as it is, for a stream that is not read
// to its end. The stored bytes stay readable as long as the file stays in its place.
func (s *Spool) Close() error {
	s.over.Store(true)
	s.ending.Lock()
	defer s.ending.Unlock()
	return s.close()
}

// close is Close for callers that hold ending.
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

// Remove deletes the file, returns its space to the budget, and closes the descriptor. Bytes that are only in memory
// stay readable. If the file is already gone, that is not an error. If another file is in its place, that is an error,
// and Remove leaves that file alone.
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
