package spool

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// This file handles a file that cannot be created now, or cannot become a ring, but may be soon: if descriptors or
// memory are short, which is temporary. New output is in memory until then, and is stored as soon as there is a file,
// or until memory has no more space for it. A failed write is different: it is unknown how much of it is in the file.

// lateTime is the interval between retries if nothing is appended: there is no notification when descriptors become
// available.
const lateTime = 250 * time.Millisecond

// A notYet is an error of a step before the write, after which the step may be retried.
type notYet struct{ error }

func (e notYet) Unwrap() error { return e.error }

// orNotYet returns err, as a notYet if it is a lack of something that other code may release.
func orNotYet(err error) error {
	if slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}, func(e error) bool { return errors.Is(err, e) }) {
		return notYet{err}
	}
	return err
}

// await schedules a retry if err is a notYet, and then returns nil. The caller holds appending.
func (s *Spool) await(err error) error {
	late, ok := errors.AsType[notYet](err)
	if !ok {
		s.late = nil
		return err
	}
	s.late = late.error
	if s.again == nil {
		s.again = time.AfterFunc(lateTime, s.tryAgain)
	} else {
		s.again.Reset(lateTime)
	}
	return nil
}

// tryAgain stores the late bytes if no Append has done so, unless the spool was finished or closed.
func (s *Spool) tryAgain() {
	s.appending.Lock()
	defer s.appending.Unlock()
	if s.late != nil && !s.over.Load() {
		s.append(nil)
	}
}

// ready creates the file the first time, and stores the bytes before off that it lacks. It returns the offset after the
// stored bytes. A spool without a file needs none.
func (s *Spool) ready(off int64) (stored int64, err error) {
	if !s.begun {
		s.ending.Lock()
		err = s.begin()
		s.ending.Unlock()
		s.begun = err == nil
	}
	if err != nil || s.file == nil {
		return s.disk.end, err
	}
	return s.catchUp(off)
}

// begin creates the file, unless the spool was closed before its first byte. The caller holds ending.
func (s *Spool) begin() error {
	if s.create == nil {
		return nil
	}
	f, err := s.create()
	if err != nil {
		return orNotYet(err)
	}
	s.create = nil
	s.use(f)
	return nil
}

// catchUp stores the bytes before off that are only in memory.
func (s *Spool) catchUp(off int64) (stored int64, err error) {
	var buf []byte
	for stored = s.disk.end; stored < off && err == nil; {
		if buf == nil {
			buf = make([]byte, min(segmentSize, off-stored))
		}
		n := s.mem.read(buf[:min(int64(len(buf)), off-stored)], stored)
		stored, err = s.storePieces(buf[:n], stored, stored+int64(n))
	}
	return stored, err
}

// isTooLate reports whether memory no longer has all bytes that the file lacks: the file would have a hole.
func (s *Spool) isTooLate() bool { return s.late != nil && s.mem.start > s.disk.end }

// settleLate creates the file for the bytes that are only in memory. They are then written to it as in any file that is
// not in order. It is called after the last Append. The caller holds appending and ending.
func (s *Spool) settleLate() error {
	if s.late == nil || s.failed != nil {
		return nil
	}
	if err := s.begin(); err != nil {
		return err
	}
	if s.isTooLate() {
		return s.late
	}
	return nil
}
