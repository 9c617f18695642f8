package spool

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// This file is about a file that cannot be made now, or become a ring, and may be soon: where descriptors
// or memory are short, which passes. What comes meanwhile is in memory, and follows when there is a
// file, or until memory has no room for it. A write that fails is no such case: nobody knows how much of
// it is there.

// lateTime is how long after a try there is another one where nothing is appended: nobody tells when there
// are descriptors again.
const lateTime = 250 * time.Millisecond

// A notYet is the error of a step before the first byte that needs it, which may be tried again.
type notYet struct{ error }

func (e notYet) Unwrap() error { return e.error }

// orNotYet is err, as a notYet where something is short which others may give back.
func orNotYet(err error) error {
	if slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}, func(e error) bool { return errors.Is(err, e) }) {
		return notYet{err}
	}
	return err
}

// await has what could not be done for now tried again, and takes it for no error. The caller holds appending.
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

// tryAgain stores what is late where nobody appends, unless the spool was finished or closed.
func (s *Spool) tryAgain() {
	s.appending.Lock()
	defer s.appending.Unlock()
	if s.late != nil && !s.over.Load() {
		s.append(nil)
	}
}

// ready makes the file, the first time, and stores what it lacks before off. It returns the
// offset behind what is stored. Without a file there is none to be made.
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

// begin makes the file, unless the spool was closed before its first byte. The caller holds ending.
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

// catchUp stores what is in memory alone before off.
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

// isTooLate says whether memory has no longer what the file lacks: it would have a hole.
func (s *Spool) isTooLate() bool { return s.late != nil && s.mem.start > s.disk.end }

// settleLate makes the file for what is in memory alone, which is put into it as all that is not in
// order. Nothing will be appended. The caller holds appending and ending.
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
