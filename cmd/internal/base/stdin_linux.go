package base

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Pollable returns a file that reads the same pipe through Go's poller: the goroutine
// that waits there gives its thread to those that it has just woken, and a request is
// answered without one thread waking another. What is no pipe is returned as it is.
func Pollable(f *os.File) *os.File { return reopened(f, unix.O_RDONLY) }

// reopened opens the end of a pipe anew and non-blocking, since O_NONBLOCK would hold
// for whoever else has this one. What is no pipe is returned as it is.
func reopened(f *os.File, mode int) *os.File {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return f
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return f // Without /proc, or where the pipe is another user's.
	}
	return os.NewFile(uintptr(fd), f.Name())
}
