package base

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TakeStdout makes the process's stdout the protocol's alone: it returns a
// duplicate that nothing inherits, and lets descriptor 1 mean stderr, so that a
// stray print of anything that is linked in cannot touch the wire.
func TakeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicate descriptor 1: %w", err)
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		return nil, fmt.Errorf("point descriptor 1 at stderr: %w", err)
	}
	f := os.NewFile(uintptr(fd), "protocol")
	if own := reopened(f, unix.O_WRONLY); own != f {
		_ = f.Close() // The pipe's reader sees its end when this one is closed as well.
		return own, nil
	}
	return f, nil
}
