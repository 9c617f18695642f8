//go:build linux || darwin

package store

import (
	"errors"
	"os"
	"syscall"
)

// lock locks an open file. The lock goes when the file is closed, and belongs to what is
// open: a second one of the same process does not have it.
func lock(f *os.File, mode lockMode) error {
	how := syscall.LOCK_SH
	if mode&lockExclusive != 0 {
		how = syscall.LOCK_EX
	}
	if mode&lockWait == 0 {
		how |= syscall.LOCK_NB
	}
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) {
		for failed = syscall.EINTR; failed == syscall.EINTR; {
			failed = syscall.Flock(int(fd), how)
		}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(failed, syscall.EWOULDBLOCK):
		return errLocked
	case errors.Is(failed, syscall.ENOLCK), errors.Is(failed, syscall.ENOSYS), errors.Is(failed, syscall.ENOTSUP), errors.Is(failed, syscall.EBADF), errors.Is(failed, syscall.EINVAL):
		return errNoLocks
	}
	return failed
}
