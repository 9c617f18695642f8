//go:build linux || darwin

package safedir

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks an open file until it is closed. The lock belongs to the open file, not to the process: if the same
// process opens the file a second time, that one does not have the lock.
func Lock(f *os.File, mode LockMode) error {
	how := syscall.LOCK_SH
	if mode&Exclusive != 0 {
		how = syscall.LOCK_EX
	}
	if mode&Wait == 0 {
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
		return ErrLocked
	case errors.Is(failed, syscall.ENOLCK), errors.Is(failed, syscall.ENOSYS), errors.Is(failed, syscall.ENOTSUP), errors.Is(failed, syscall.EBADF), errors.Is(failed, syscall.EINVAL):
		return ErrNoLocks
	}
	return failed
}
