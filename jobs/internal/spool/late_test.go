package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"testing"
)

// shortOf is a spool whose file cannot be made as long as isShort says so, and who was told that the
// storing has ended.
func shortOf(t *testing.T, memory int, errno syscall.Errno, isShort func() bool) (s *subject, told *[]error) {
	t.Helper()
	told = new([]error)
	o := Options{Memory: memory, DiskHead: 2000, DiskTail: 2000, Failed: func(err error) { *told = append(*told, err) }}
	s, _ = lazy(t, o)
	create := s.create
	s.create = func() (*os.File, error) {
		if isShort() {
			return nil, &fs.PathError{Op: "open", Path: s.path, Err: errno}
		}
		return create()
	}
	s.onFail = o.Failed
	return s, told
}

// A file that cannot be made for want of descriptors is made when there are some, with all that came
// meanwhile, be it at the end.
func TestMadeWhenThereAreDescriptors(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		for pieces := range 6 { // after which there are some; after 5 the stream has ended
			left := pieces
			s, told := shortOf(t, 1000, errno, func() bool { left--; return left >= 0 })
			for range 5 {
				s.append(t, 100)
				s.verify(t)
			}
			if err := s.Finish(); err != nil {
				t.Errorf("%v, %d times: %v", errno, pieces, err)
			}
			s.verify(t)
			s.checkFile(t, s.all)
			if *told != nil || !slices.Equal(s.Stored(), []Range{{0, 500}}) {
				t.Errorf("%v, %d times: told %v, stored %v", errno, pieces, *told, s.Stored())
			}
		}
	}
}

// A file that lacks what memory has no longer is not made any more: it would have a hole in it.
func TestNotMadeWithAHole(t *testing.T) {
	isShort := true
	s, told := shortOf(t, 256, syscall.EMFILE, func() bool { return isShort })
	for range 5 {
		s.append(t, 100)
		s.verify(t)
	}
	isShort = false
	s.append(t, 100)
	s.append(t, 100)
	s.verify(t)
	if len(*told) != 1 || !errors.Is((*told)[0], syscall.EMFILE) || !errors.Is(s.Err(), syscall.EMFILE) {
		t.Errorf("told %v, %v", *told, s.Err())
	}
	if err := s.Finish(); err != nil {
		t.Errorf("it is told twice: %v", err)
	}
	if _, err := os.Lstat(s.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was made: %v", err)
	}
	s.verify(t)
}

// Where there are none until the end, that is said then.
func TestNeverMade(t *testing.T) {
	s, told := shortOf(t, 1000, syscall.EMFILE, func() bool { return true })
	s.append(t, 100)
	if err := s.Finish(); !errors.Is(err, syscall.EMFILE) || *told != nil {
		t.Errorf("told %v at the end, and before that %v", err, *told)
	}
	s.append(t, 100) // by a loop that was not told yet
	s.verify(t)
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
}

// A file that is to be a ring, and of which that cannot be written down for want of descriptors, waits
// for them as well.
func TestRingWaitsForDescriptors(t *testing.T) {
	for _, times := range []int{0, 1, 2, 5, 1000} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			left, told := times, []error(nil)
			s := newSubject(t, Options{
				Memory: 2000, DiskHead: 1000, DiskTail: 2000, Tag: testTag, Failed: func(err error) { told = append(told, err) },
				Wraps: func() error {
					if left--; left >= 0 {
						return syscall.EMFILE
					}
					return nil
				},
			}, uint64(times))
			for range 60 {
				s.append(t, 100)
				s.verify(t)
			}
			over := times == 1000 // before there are some memory has let go of what is to be stored
			if (len(told) == 1) != over || len(told) > 1 {
				t.Errorf("told %v", told)
			}
			if stored := s.Stored(); !over && stored[len(stored)-1].To != 6000 {
				t.Errorf("stored %v", stored)
			}
			if err := s.Finish(); err != nil {
				t.Error(err)
			}
			s.verify(t)
			s.checkFile(t, finished(s.all, s.Kept()))
		})
	}
}
