package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// takeStdout makes the process's stdout the protocol's alone: it returns a duplicate that
// nothing inherits, and lets descriptor 1 mean stderr, so that a stray print of anything
// that is linked in cannot touch the wire.
func takeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicate descriptor 1: %w", err)
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		return nil, fmt.Errorf("point descriptor 1 at stderr: %w", err)
	}
	return os.NewFile(uintptr(fd), "protocol"), nil
}
