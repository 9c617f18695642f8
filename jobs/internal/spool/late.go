package spool

import (
	"errors"
	"slices"
	"syscall"
)

// This file is about a file that cannot be written now and may be soon: where descriptors or memory are
// short, which passes. What comes meanwhile is in memory, and follows when the file takes it, or
// until memory has no room for it.

// isShort says whether an error is that something is short which others may give back.
func isShort(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}, func(e error) bool { return errors.Is(err, e) })
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
		return err
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

// settleLate stores what the file lacks for the last time: nothing will be appended. The caller holds
// ending.
func (s *Spool) settleLate() error {
	if s.late == nil || s.failed != nil {
		return nil
	}
	stored, err := s.disk.end, s.late
	if !s.isTooLate() {
		if err = s.begin(); err == nil && s.file != nil {
			stored, err = s.catchUp(s.End())
		}
	}
	s.mu.Lock()
	s.disk.end = stored
	s.mu.Unlock()
	return err
}
