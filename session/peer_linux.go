package session

import (
	"net"

	"golang.org/x/sys/unix"
)

// pipeBytes is the number of bytes that a writable pipe takes without blocking: PIPE_BUF.
const pipeBytes = 4 << 10

// noSignal keeps a write to a socket whose peer is gone from raising SIGPIPE.
const noSignal = unix.MSG_NOSIGNAL

// maxAddress is the maximum length of a socket's path.
const maxAddress = 107

// peer returns the effective user of the process at the other end, as it was when it connected.
func peer(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if controlErr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); controlErr != nil {
		return 0, controlErr
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
