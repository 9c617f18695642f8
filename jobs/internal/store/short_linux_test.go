package store

import (
	"errors"
	"syscall"
	"testing"
)

// A folder that was made, and not opened for want of descriptors, is not in the way of the next try.
func TestFolderWithoutDescriptors(t *testing.T) {
	s := open(t)
	f := s.Folder("1")
	for _, try := range []func() error{
		func() error {
			file, err := f.Create("stdout.txt")
			if err == nil {
				err = file.Close()
			}
			return err
		},
		func() error { return f.Replace("info.json", []byte("x")) },
	} {
		undo := withoutDescriptors(t)
		err := try()
		undo()
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("without descriptors: %v", err)
		}
		if err := try(); err != nil {
			t.Errorf("with descriptors again: %v", err)
		}
	}
}

// withoutDescriptors has this process open nothing more until undo is called.
func withoutDescriptors(t *testing.T) (undo func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	// None is free below 3, whatever else is closed meanwhile.
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
	}
}
