//go:build unix

package spool

import (
	"os"
	"syscall"
)

// readFlags are for reopening a stored file. If it was replaced by a link, the link is not followed; if by a pipe, the
// open does not wait for a writer.
const readFlags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// replacesOpen reports whether a file can be replaced while it is open.
const replacesOpen = true
