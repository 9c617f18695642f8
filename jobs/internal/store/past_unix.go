//go:build unix

package store

import "syscall"

// hasModes reports whether the mode of a directory shows who may use it.
const hasModes = true

// notBlocking is the flag with which no open blocks, whatever kind of file it is.
const notBlocking = syscall.O_NONBLOCK
