package base

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Pollable returns a file that reads the same pipe through Go's poller: a goroutine that waits for input hands its
// thread to the goroutines that it has just woken, so a request is answered without one thread waking another. If f is
// not a pipe, Pollable returns f.
func Pollable(f *os.File) *os.File { return reopened(f, unix.O_RDONLY) }

// reopened opens this end of the pipe again, non-blocking: setting O_NONBLOCK on f would affect every process that
// shares it. If f is not a pipe, reopened returns f.
func reopened(f *os.File, mode int) *os.File {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return f
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return f // There is no /proc, or the pipe belongs to another user.
	}
	return os.NewFile(uintptr(fd), f.Name())
}
