package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// pollable returns a file that reads the same pipe through Go's poller: the goroutine
// that waits there gives its thread to those that it has just woken, and a request is
// answered without one thread waking another. The pipe's end is opened anew, since
// O_NONBLOCK, which the poller needs, would hold for whoever else has this one. What
// is no pipe is returned as it is.
func pollable(f *os.File) *os.File {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return f
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return f // Without /proc, or where the pipe is another user's.
	}
	return os.NewFile(uintptr(fd), f.Name())
}
