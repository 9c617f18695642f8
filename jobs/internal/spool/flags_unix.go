//go:build unix

package spool

import (
	"os"
	"syscall"
)

// readFlags opens a stored file again: it follows no link that was put in its
// place, and does not wait for the writer of a pipe that was.
const readFlags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// replacesOpen says whether a file can be replaced while somebody has it open.
const replacesOpen = true
