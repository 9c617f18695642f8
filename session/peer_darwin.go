package session

import (
	"net"

	"golang.org/x/sys/unix"
)

// pipeBytes is the number of bytes that a writable pipe takes without blocking: PIPE_BUF.
const pipeBytes = 512

// noSignal is 0: Go sets SO_NOSIGPIPE, or ignores the signal.
const noSignal = 0

// maxAddress is the maximum length of a socket's path.
const maxAddress = 103

// peer returns the effective user of the process at the other end, as it was when it connected.
func peer(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Xucred
	if controlErr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) }); controlErr != nil {
		return 0, controlErr
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
