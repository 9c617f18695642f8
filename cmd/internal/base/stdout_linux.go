package base

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TakeStdout reserves the process's stdout for the protocol: it returns a duplicate that no child inherits, and points
// descriptor 1 at stderr, so that a stray print of any linked package cannot reach the protocol.
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
		_ = f.Close() // The pipe's reader gets end of file only if this duplicate is closed as well.
		return own, nil
	}
	return f, nil
}
