package proc

import "golang.org/x/sys/unix"

// readable is how many bytes wait in a pipe. TIOCINQ is FIONREAD, under the name
// that it has for terminals.
func readable(fd uintptr) (int, error) { return unix.IoctlGetInt(int(fd), unix.TIOCINQ) }

// nothingToRead says whether a read that began now would find nothing, and neither the
// end. Like read(2), poll(2) has the kernel bring in first what is on its way through a
// terminal.
func nothingToRead(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err := unix.Poll(fds, 0)
	return err == nil && fds[0].Revents == 0
}
