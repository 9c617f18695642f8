package base

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestPollablePipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	r.Fd() // Fd makes it blocking, as a pipe from a parent process is.
	p := Pollable(r)
	if p == r {
		t.Fatal("the pipe was not opened anew")
	}
	defer func() { _ = p.Close() }()
	if err := p.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Errorf("it is not in the poller: %v", err)
	}
	if flags, err := unix.FcntlInt(r.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
		t.Errorf("flags of the pipe as it was: %#x, %v", flags, err)
	}
	go func() {
		_, _ = w.WriteString("text") // An error shows when the test reads.
		_ = w.Close()
	}()
	if got, err := io.ReadAll(p); string(got) != "text" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

// A regular file keeps its position.
func TestPollableFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, []byte("gone, left"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(6, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(Pollable(f)); string(got) != "left" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}
