package proc

import "golang.org/x/sys/unix"

// readable returns the number of unread bytes in a pipe. TIOCINQ is the name of FIONREAD for terminals.
func readable(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), unix.TIOCINQ) }

// nothingToRead reports whether a read that began now would find neither data nor the end of the stream. Like read(2),
// poll(2) makes the kernel deliver the data in transit through a terminal first.
func nothingToRead(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err := unix.Poll(fds, 0)
	return err == nil && fds[0].Revents == 0
}
