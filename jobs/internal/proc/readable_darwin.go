package proc

import "golang.org/x/sys/unix"

// fionread is FIONREAD of sys/filio.h.
const fionread = 0x4004667f

// readable returns the number of unread bytes in a pipe.
func readable(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), fionread) }

// nothingToRead returns false: on this system, poll(2) is not reliable for terminals.
func nothingToRead(uintptr) bool { return false }
