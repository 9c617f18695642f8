//go:build unix

package base

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ServerDescriptors is the number of descriptors that a server opens before it can return an error about a lack of
// them.
const ServerDescriptors = 6

// EnoughDescriptors returns an error if fewer than n descriptors can be opened. It must be called before anything else
// is opened: the Go runtime opens two descriptors for its poller on first use, and crashes the process if it gets none.
func EnoughDescriptors(n int) error {
	var open []int
	for range n {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
		if err != nil {
			closeAll(open)
			return tooFew(n, err)
		}
		open = append(open, fd)
	}
	closeAll(open)
	time.AfterFunc(time.Hour, func() {}).Stop() // This creates the poller.
	return nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // Nothing was written.
	}
}

// tooFew returns nil if err is not about a lack of descriptors.
func tooFew(n int, err error) error {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return nil
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || errors.Is(err, syscall.ENFILE) {
		return fmt.Errorf("cannot open the %d files needed at start: %w", n, err)
	}
	return fmt.Errorf("the limit on open files (%[2]d) leaves fewer than the %[1]d needed at start: %[3]w; raise it: ulimit -n 2560", n, limit.Cur, err)
}
