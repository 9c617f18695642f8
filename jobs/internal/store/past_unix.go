//go:build unix

package store

import "syscall"

// hasModes says whether a mode tells who may use a directory.
const hasModes = true

// notBlocking: whatever is opened, nobody waits for it.
const notBlocking = syscall.O_NONBLOCK
