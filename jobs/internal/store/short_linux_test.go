package store

import (
	"errors"
	"syscall"
	"testing"
)

// If a folder was created and could not be opened, for lack of descriptors, the next attempt works.
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

// withoutDescriptors makes all opens of this process fail until undo is called.
func withoutDescriptors(t *testing.T) (undo func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	// The descriptors below 3 stay in use, even if others are closed meanwhile.
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
