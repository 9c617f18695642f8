package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A server's writes in a job's folder are reported, and a Wait can be cancelled.
func TestChanges(t *testing.T) {
	state := t.TempDir()
	const session = "20260102T030405Z-0123456789abcdef"
	dir := filepath.Join(state, session, "1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	past, err := OpenPast(state)
	if err != nil {
		t.Fatal(err)
	}
	defer past.Close()
	s, err := past.Session(session)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, err := s.Folder(1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Changes()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := f.Close(); err != nil { // The file is not needed any more.
		t.Fatal(err)
	}
	for _, name := range []string{"stdout.txt", "stdout.txt", "info.json"} { // created, written to again, created
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString("x"); err != nil || file.Close() != nil {
			t.Fatal(err)
		}
		if err := c.Wait(t.Context(), time.Hour); err != nil { // If nothing wakes it, the test's own time limit does.
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel) // The Wait below may have begun by then or not.
	for err = nil; err == nil; {
		err = c.Wait(ctx, time.Hour)
	}
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := c.Wait(t.Context(), time.Millisecond); err != nil {
		t.Errorf("when the time is over: %v", err)
	}
}
