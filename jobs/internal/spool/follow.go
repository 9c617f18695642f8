package spool

import (
	"bytes"
	"errors"
	"io"
)

// This file reads a file that another, living server still writes to. The reader does not block that server's appender,
// and must not mistake bytes that are being overwritten for the old ones.

// A Watch returns the current state of the file of a living server.
type Watch struct {
	Size   func() (int64, error)  // of the file
	Record func() (Record, error) // what is written down about it
}

// Watch makes [Stored.Read] check after each piece whether it was overwritten during the read. It is for files without
// a final record.
func (s *Stored) Watch(w Watch) { s.watch = &w }

// Read copies bytes of the stream into p, from the first offset at or after off that the file still has, and returns
// their number and the offset of the first one. at > off means that [off, at) is missing, or no longer there; n == 0
// means that there is nothing from off on. It never reads across a missing range.
//
// It reads only bytes that existed when ReadStored examined the file, not later ones.
func (s *Stored) Read(p []byte, off int64) (n int, at int64, err error) {
	n, at, err = s.readPiece(p, max(off, 0))
	for n > 0 && n < len(p) {
		next := at + int64(n)
		more, from, _ := s.readPiece(p[n:], next) // The next call returns the error.
		if more == 0 || from != next {
			break
		}
		n += more
	}
	return n, at, err
}

// Now returns the ranges that Read can still find, according to its last check of the file.
func (s *Stored) Now() []Range { return merge(s.places.ranges(nil)) }

// readPiece reads from one extent of the file.
func (s *Stored) readPiece(p []byte, off int64) (n int, at int64, err error) {
	for len(p) > 0 {
		e, ok := s.places.next(off)
		if !ok {
			return 0, max(off, s.end), nil
		}
		want := min(int64(len(p)), e.To-e.From)
		n, err := s.file.ReadAt(p[:want], e.pos)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, off, err
		}
		if int64(n) < want {
			return 0, off, io.ErrUnexpectedEOF // the file was truncated during the read
		}
		if err := s.review(); err != nil {
			return 0, off, err
		}
		if run, ok := s.places.still(Range{e.From, e.From + want}); ok {
			copy(p, p[run.From-e.From:run.To-e.From])
			return int(run.To - run.From), run.From, nil
		}
	}
	return 0, off, nil
}

// review withdraws the bytes that the server may have overwritten by now, or may be overwriting: bytes that are kept
// both before the read and after it are intact. The server writes the mark after each piece, before the next one, so
// that it is never more than a piece ahead of its mark; and it marks the file as a ring before it overwrites anything.
func (s *Stored) review() error {
	if s.watch == nil {
		return nil
	}
	size, err := s.watch.Size()
	if err != nil || size == s.found && !s.isRing {
		return err
	}
	now, isMarked, err := readMark(s.file, size, s.tag)
	switch {
	case err != nil:
		return err
	case s.isRing && !isMarked:
		return errors.New("the line that marks the end of the newest output is gone: another program changed the file")
	case s.isRing:
		s.places.start = max(s.places.start, now.start)
		return nil
	case !isMarked:
		return nil
	}
	record, err := s.watch.Record()
	if err == nil && record.tellsOf(&now, size) { // else the line is output of the job
		now.end = s.end
		s.isRing, s.places = true, now
	}
	return err
}

// readWhole reads a line that the server may be replacing by one of the same length. Two equal reads in a row mean that
// the line is intact.
func readWhole(file io.ReaderAt, pos int64, length int) ([]byte, error) {
	const most = 10_000 // far more than needed: the server writes a piece between two marks
	var last []byte
	for range most {
		line := make([]byte, length)
		if _, err := file.ReadAt(line, pos); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if bytes.Equal(line, last) {
			return line, nil
		}
		last = line
	}
	return nil, errors.New("the end of the file is replaced faster than it can be read; try again")
}
