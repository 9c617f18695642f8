package spool

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// lazy returns a spool that creates its file with the first byte, and the number of times that it did.
func lazy(t *testing.T, o Options) (s *subject, made *int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stdout.txt")
	made = new(int)
	o.Create = func() (*os.File, error) {
		*made++
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	return &subject{Spool: Open(o), path: path, rnd: rand.New(rand.NewPCG(1, 0))}, made
}

func TestMadeWithTheFirstByte(t *testing.T) {
	s, made := lazy(t, Options{Memory: 8, DiskHead: 100, DiskTail: 100})
	s.Append(nil)
	if *made != 0 || s.Kept() != nil {
		t.Errorf("made %d times, kept %v", *made, s.Kept())
	}
	for range 20 {
		s.append(t, 30)
		s.verify(t)
	}
	if *made != 1 {
		t.Errorf("made %d times", *made)
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	s.verify(t)
	s.checkFile(t, finished(s.all, s.Kept()))
}

// A spool that is ended before its first byte creates no file.
func TestEndedBeforeTheFirstByte(t *testing.T) {
	for name, end := range map[string]func(*Spool) error{
		"finish": (*Spool).Finish, "close": (*Spool).Close, "remove": (*Spool).Remove,
	} {
		failed := false
		s, made := lazy(t, Options{Memory: 100, DiskHead: 100, DiskTail: 100, Failed: func(error) { failed = true }})
		if err := end(s.Spool); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.append(t, 30)
		s.verify(t)
		if _, err := os.Lstat(s.path); !os.IsNotExist(err) || *made != 0 || failed {
			t.Errorf("%s: made %d times, failed %v, %v", name, *made, failed, err)
		}
	}
}

func TestCreateFails(t *testing.T) {
	var told []error
	no := errors.New("no")
	s := Open(Options{
		Memory: 100, DiskHead: 100, DiskTail: 100, Failed: func(err error) { told = append(told, err) },
		Create: func() (*os.File, error) { return nil, no },
	})
	for range 3 {
		s.Append([]byte("some text"))
	}
	buf := make([]byte, 100)
	if n, at := s.Read(buf, 0); string(buf[:n]) != "some textsome textsome text" || at != 0 {
		t.Errorf("%q at %d", buf[:n], at)
	}
	if len(told) != 1 || !errors.Is(told[0], no) {
		t.Errorf("told %v", told)
	}
	if s.Stored() != nil {
		t.Errorf("stored %v", s.Stored())
	}
	if err := errors.Join(s.Finish(), s.Remove()); err != nil {
		t.Error(err)
	}
}
