package safedir

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

const errorLockViolation = syscall.Errno(33)

// Lock locks an open file until it is closed. It locks one byte far behind the content, since other processes cannot
// read locked bytes.
func Lock(f *os.File, mode LockMode) error {
	const failImmediately, exclusiveLock = 1, 2
	var flags uintptr
	if mode&Exclusive != 0 {
		flags |= exclusiveLock
	}
	if mode&Wait == 0 {
		flags |= failImmediately
	}
	at := syscall.Overlapped{OffsetHigh: 1}
	ok, _, err := lockFileEx.Call(f.Fd(), flags, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return nil
	case errors.Is(err, errorLockViolation), errors.Is(err, syscall.ERROR_IO_PENDING):
		return ErrLocked
	}
	return err
}
