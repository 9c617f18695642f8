package rpc_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// A directPipe is a pipe that serves as the server's stdout, and can write without blocking.
type directPipe struct {
	*os.File
	raw syscall.RawConn
}

func newPipe(t *testing.T) (r *os.File, w directPipe) {
	t.Helper()
	r, f, err := os.Pipe() // Go makes it non-blocking
	if err != nil {
		t.Fatal(err)
	}
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	return r, directPipe{f, raw}
}

func (w directPipe) WriteNow(p []byte) (n int, err error) {
	controlErr := w.raw.Control(func(fd uintptr) { n, err = syscall.Write(int(fd), p) })
	if errors.Is(err, syscall.EAGAIN) {
		return 0, nil
	}
	return max(n, 0), errors.Join(err, controlErr)
}
