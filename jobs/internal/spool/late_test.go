package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// shortOf returns a spool that cannot create its file while isShort returns true, and the errors reported to Failed.
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
	s.quiet()
	return s, told
}

// quiet disables the timer, so that only Append retries.
func (s *subject) quiet() { s.again = time.AfterFunc(0, func() {}) }

// A file that cannot be created for lack of descriptors is created when some are free, with all output since then, at
// the end at the latest.
func TestMadeWhenThereAreDescriptors(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		for pieces := range 6 { // number of failures; after 5 the stream has ended
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

// If memory no longer has all bytes that the file lacks, the file is not created: it would have a hole.
func TestNoFileWithHole(t *testing.T) {
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

// If there is no descriptor until the end, Finish returns the error.
func TestFinishWithoutDescriptor(t *testing.T) {
	s, told := shortOf(t, 1000, syscall.EMFILE, func() bool { return true })
	s.append(t, 100)
	if err := s.Finish(); !errors.Is(err, syscall.EMFILE) || *told != nil {
		t.Errorf("told %v at the end, and before that %v", err, *told)
	}
	s.append(t, 100) // by a loop that does not know of the error yet
	s.verify(t)
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
}

// If the future ring cannot be recorded for lack of descriptors, the file also waits for them.
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
			s.quiet()
			for range 60 {
				s.append(t, 100)
				s.verify(t)
			}
			over := times == 1000 // before that, memory has dropped bytes that are still to be stored
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

// Late bytes are stored even if nothing more is appended.
func TestMadeWhileNothingComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 3
		s, told := shortOf(t, 1000, syscall.EMFILE, func() bool { left--; return left >= 0 })
		s.again = nil
		s.append(t, 100)
		if stored := s.Stored(); len(stored) != 0 {
			t.Fatalf("stored %v", stored)
		}
		time.Sleep(3 * lateTime) // on the bubble's clock
		synctest.Wait()
		if stored := s.Stored(); !slices.Equal(stored, []Range{{0, 100}}) || *told != nil || left != -1 {
			t.Errorf("stored %v, told %v, %d tries left", stored, *told, left)
		}
		s.checkFile(t, s.all)
		s.append(t, 100)
		if err := s.Finish(); err != nil {
			t.Error(err)
		}
		s.checkFile(t, s.all)
	})
}

// There is no retry after the end.
func TestNotMadeAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*Spool) error{"Close": (*Spool).Close, "Remove": (*Spool).Remove, "Finish": (*Spool).Finish} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				s, told := shortOf(t, 1000, syscall.EMFILE, func() bool { tries++; return true })
				s.again = nil
				s.append(t, 100)
				_ = end(s.Spool) // Finish returns the error that the file could not be created.
				before := tries
				time.Sleep(time.Hour)
				synctest.Wait()
				if tries != before || *told != nil {
					t.Errorf("%d tries after the end, told %v", tries-before, *told)
				}
			})
		})
	}
}

// A write that fails for lack of memory ends the storing like any other: it is unknown how much of it is in the file.
// Kept is correct wherever it fails, and unused space is not charged.
func TestWriteWithoutMemory(t *testing.T) {
	for fails := range 60 {
		budget := NewBudget(1 << 20)
		var told []error
		s := newSubject(t, Options{
			Memory: 2000, DiskHead: 1000, DiskTail: 2000, Tag: testTag, Total: budget, Failed: func(err error) { told = append(told, err) },
		}, uint64(fails))
		writes, write := 0, s.writeAt
		s.writeAt = func(p []byte, pos int64) (int, error) {
			if writes++; writes == fails+1 {
				return 0, syscall.ENOMEM
			}
			return write(p, pos)
		}
		for range 60 {
			s.append(t, 100)
			s.verify(t)
		}
		if len(told) != 1 || !errors.Is(told[0], syscall.ENOMEM) {
			t.Fatalf("write %d: told %v", fails, told)
		}
		if err := s.Finish(); err != nil {
			t.Error(err)
		}
		s.verify(t)
		s.checkFile(t, finished(s.all, s.Kept()))
		if info, err := os.Stat(s.path); err != nil || budget.Used() != info.Size() {
			t.Errorf("write %d: %d bytes are counted of %d, %v", fails, budget.Used(), info.Size(), err)
		}
	}
}

// If the future ring cannot be recorded, the file stays as it is, and so do its ranges.
func TestRingThatIsNotWrittenDown(t *testing.T) {
	budget := NewBudget(1 << 20)
	var told []error
	s := newSubject(t, Options{
		Memory: 200, DiskHead: 1000, DiskTail: 2000, Tag: testTag, Total: budget,
		Failed: func(err error) { told = append(told, err) }, Wraps: func() error { return syscall.ENOSPC },
	}, 7)
	for range 60 {
		s.append(t, 150)
		s.verify(t)
	}
	if stored := s.Stored(); len(told) != 1 || !slices.Equal(stored, []Range{{0, 3000}}) || budget.Used() != 3000 {
		t.Errorf("told %v, stored %v, %d bytes are counted", told, stored, budget.Used())
	}
}

// A ring that is still waiting at the end is not begun: the file is rewritten in order, and no mark needs to be
// distinguished from output.
func TestRingIsNotBegunAtTheEnd(t *testing.T) {
	asked, recorded := 0, 0
	s := newSubject(t, Options{
		Memory: 4000, DiskHead: 1000, DiskTail: 2000, Tag: testTag,
		Wraps:  func() error { asked++; return syscall.EMFILE },
		Record: func([]Range) error { recorded++; return nil },
	}, 8)
	s.quiet()
	for range 40 {
		s.append(t, 100)
	}
	before := asked
	if err := s.Finish(); err != nil {
		t.Error(err)
	}
	if asked != before || before == 0 || recorded != 1 {
		t.Errorf("it was asked %d times before the end, and then %d times; recorded %d times", before, asked-before, recorded)
	}
	s.verify(t)
	s.checkFile(t, finished(s.all, s.Kept()))
}
