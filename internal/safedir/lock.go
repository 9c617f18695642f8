package safedir

import "errors"

// ErrNoLocks is the error if the file system or the platform does not support such locks.
var ErrNoLocks = errors.New("files cannot be locked here")

// ErrLocked is the error if another process holds the lock.
var ErrLocked = errors.New("the file is locked")

// A LockMode is the kind of a lock, with flags.
type LockMode int

// The kinds of a lock, and a flag.
const (
	Shared    LockMode = 0
	Exclusive LockMode = 1
	Wait      LockMode = 2 // wait until the lock is free; without it, Lock returns ErrLocked
)
