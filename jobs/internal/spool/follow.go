package spool

import (
	"bytes"
	"errors"
	"io"
)

// This file reads what a living server goes on writing to, from outside of that: nothing
// holds its appender up, and what it overwrites meanwhile must not be taken for what was there.

// A Watch is how who reads the file of a living server sees what becomes of it.
type Watch struct {
	Size   func() (int64, error)  // of the file, now
	Record func() (Record, error) // what is written down of it now
}

// Watch has [Stored.Read] look after each piece whether it was overwritten meanwhile. It is for
// files of which nothing final is written down.
func (s *Stored) Watch(w Watch) { s.watch = &w }

// Read copies bytes of the stream into p, from the first offset that is not below off and of
// which the file still has something, and returns how many and where they begin. at > off means
// that [off, at) is not there, or is not any more; n == 0 that there is nothing behind off. It
// never reads across what is missing.
//
// What was there is what was when the file was looked at; what comes later is not read.
func (s *Stored) Read(p []byte, off int64) (n int, at int64, err error) {
	n, at, err = s.readPiece(p, max(off, 0))
	for n > 0 && n < len(p) {
		next := at + int64(n)
		more, from, _ := s.readPiece(p[n:], next) // An error is for the next call.
		if more == 0 || from != next {
			break
		}
		n += more
	}
	return n, at, err
}

// Now returns the ranges that Read finds, as far as it has seen what became of the file.
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
			return 0, off, io.ErrUnexpectedEOF // somebody has cut it meanwhile
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

// review withdraws what its server may have overwritten before now, or be about to overwrite:
// what was read before and is kept after is whole. The server tells of a piece by the mark before
// it writes the next one, so that it is never further on than a piece from there; and it marks
// the file as a ring before it overwrites anything.
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
		return errors.New("the line behind the newest output is gone that says how far it has come: somebody has changed the file")
	case s.isRing:
		s.places.start = max(s.places.start, now.start)
		return nil
	case !isMarked:
		return nil
	}
	record, err := s.watch.Record()
	if err == nil && record.tellsOf(&now, size) { // else the job has printed that
		now.end = s.end
		s.isRing, s.places = true, now
	}
	return err
}

// readWhole reads a line that its server may be about to replace by one of the same length: it is
// whole where it is the same twice.
func readWhole(file io.ReaderAt, pos int64, length int) ([]byte, error) {
	const most = 10_000 // far more than it takes: the server has a piece to write in between
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
