package spool

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// inChild runs the test again in a separate process, for limits that would affect other tests, and reports whether this
// is that process.
func inChild(t *testing.T) bool {
	if os.Getenv("SPOOL_TEST_CHILD") == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "SPOOL_TEST_CHILD="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// limit sets a limit, and returns a function that restores it.
func limit(t *testing.T, resource int, to uint64) (undo func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(resource, &old); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: to, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(resource, &old); err != nil {
			t.Fatal(err)
		}
	}
}

// The kernel refuses a write in the middle of a stream.
func TestFileSizeLimit(t *testing.T) {
	if !inChild(t) {
		return
	}
	limit(t, syscall.RLIMIT_FSIZE, 100_000)
	var told []error
	s := newSubject(t, Options{Memory: 20_000, DiskHead: 50_000, DiskTail: 100_000, Failed: func(err error) { told = append(told, err) }}, 1)
	for range 60 {
		s.append(t, 3000)
		s.verify(t)
	}
	if len(told) != 1 || !errors.Is(told[0], syscall.EFBIG) {
		t.Errorf("told %v", told)
	}
	stored := s.Stored() // the kernel decides how much of the write that crosses the limit is written
	if len(stored) != 1 || stored[0].From != 0 || stored[0].To < 99_000 || stored[0].To > 100_000 {
		t.Fatalf("stored %v", stored)
	}
	kept := s.Kept()
	if err := s.Finish(); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("Finish: %v", err)
	}
	if !slices.Equal(s.Kept(), kept) {
		t.Errorf("kept %v, not %v", s.Kept(), kept)
	}
	got, err := os.ReadFile(s.path)
	if err != nil || int64(len(got)) < stored[0].To {
		t.Fatalf("the file has %d bytes, %v", len(got), err)
	}
	s.checkFile(t, s.all[:len(got)])
	s.verify(t)
}

// The ring fits and the marker line does not: the file stays as it was.
func TestFinishHasNoRoom(t *testing.T) {
	if !inChild(t) {
		return
	}
	limit(t, syscall.RLIMIT_FSIZE, 100_000)
	b := NewBudget(1 << 20)
	s := newSubject(t, Options{Memory: 2000, DiskHead: 50_000, DiskTail: 50_000, Total: b}, 1)
	for range 60 {
		s.append(t, 3000)
	}
	kept := s.Kept()
	before, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("Finish: %v", err)
	}
	if !slices.Equal(s.Kept(), kept) {
		t.Errorf("kept %v, not %v", s.Kept(), kept)
	}
	if b.Used() != 100_000 {
		t.Errorf("%d bytes used", b.Used())
	}
	s.checkFile(t, before)
	s.verify(t)
	if open := descriptors(t, filepath.Dir(s.path)); open != nil {
		t.Errorf("still open: %v", open)
	}
}

// A reader that gets no descriptor sees a gap, and gets the bytes later.
func TestNoDescriptorForAReader(t *testing.T) {
	if !inChild(t) {
		return
	}
	s := newSubject(t, Options{Memory: 8, DiskHead: 100, DiskTail: 100}, 1)
	s.append(t, 150)
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	undo := limit(t, syscall.RLIMIT_NOFILE, 0)
	n, at := s.Read(make([]byte, 10), 5)
	undo()
	if n != 0 || at != 150 {
		t.Errorf("%d bytes at %d", n, at)
	}
	if k := s.Kept(); !slices.Equal(k, []Range{{0, 150}}) {
		t.Errorf("kept %v", k)
	}
	s.verify(t)
}

// descriptors returns the files below dir that this process has open.
func descriptors(t *testing.T, dir string) (open []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Fatalf("descriptors: %v, %v", links, err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, dir) {
			open = append(open, to)
		}
	}
	return open
}

func TestNoDescriptorLeft(t *testing.T) {
	ends := map[string]func(s *subject) error{
		"finish":       func(s *subject) error { return s.Finish() },
		"close":        func(s *subject) error { return s.Close() },
		"remove":       func(s *subject) error { return s.Remove() },
		"finish close": func(s *subject) error { return errors.Join(s.Finish(), s.Close()) },
		"gone": func(s *subject) error {
			if err := os.Remove(s.path); err != nil {
				return err
			}
			if s.Finish() == nil {
				return errors.New("Finish found a file that is gone")
			}
			return s.Close()
		},
	}
	for name, end := range ends {
		for _, n := range []int{0, 50, 5000} {
			s := newSubject(t, Options{Memory: 8, DiskHead: 10, DiskTail: 100}, 1)
			s.append(t, n)
			dir := filepath.Dir(s.path)
			if open := descriptors(t, dir); len(open) != 1 {
				t.Fatalf("open while the stream goes on: %v", open)
			}
			if err := end(s); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			s.verifyIfAny(t)
			if open := descriptors(t, dir); open != nil {
				t.Errorf("%s after %d bytes: still open: %v", name, n, open)
			}
		}
	}
}

func (s *subject) verifyIfAny(t *testing.T) {
	if len(s.all) > 0 {
		s.verify(t)
	}
}
