package proc

import "golang.org/x/sys/unix"

// fionread is FIONREAD of sys/filio.h.
const fionread = 0x4004667f

// readable is how many bytes wait in a pipe.
func readable(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), fionread) }

// nothingToRead is not asked here: a poll(2) of a terminal is not to be relied on.
func nothingToRead(uintptr) bool { return false }
