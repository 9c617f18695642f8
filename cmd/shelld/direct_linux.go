package main

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// directBytes is the number of bytes that a writable pipe takes without blocking: PIPE_BUF.
const directBytes = 4 << 10

// directly returns f as an rpc.DirectWriter if it is a pipe or a socket.
func directly(f *os.File) io.Writer {
	raw, err := f.SyscallConn()
	if err != nil {
		return f
	}
	var (
		st    unix.Stat_t
		flags int
	)
	controlErr := raw.Control(func(fd uintptr) {
		if err = unix.Fstat(int(fd), &st); err == nil {
			flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0)
		}
	})
	if err != nil || controlErr != nil {
		return f
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		if flags&unix.O_NONBLOCK != 0 {
			return directFile{f, raw, unix.Write}
		}
		return directFile{f, raw, writePipe}
	case unix.S_IFSOCK:
		return directFile{f, raw, writeSocket}
	}
	return f
}

// A directFile does not change the blocking mode of the file, which other processes may share.
type directFile struct {
	*os.File
	raw   syscall.RawConn
	write func(fd int, p []byte) (int, error)
}

// WriteNow writes as much as the kernel takes without blocking.
func (d directFile) WriteNow(p []byte) (n int, err error) {
	if controlErr := d.raw.Control(func(fd uintptr) { n, err = d.write(int(fd), p) }); controlErr != nil {
		return 0, controlErr
	}
	if err == unix.EAGAIN || err == unix.EINTR {
		err = nil
	}
	return max(n, 0), err
}

// writePipe relies on poll(2): a writable pipe has room for PIPE_BUF bytes (4 KiB, pipe(7)), and no other process
// writes to this one.
func writePipe(fd int, p []byte) (int, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if _, err := unix.Poll(fds, 0); err != nil || fds[0].Revents&unix.POLLOUT == 0 {
		return 0, err
	}
	return unix.Write(fd, p[:min(len(p), directBytes)])
}

func writeSocket(fd int, p []byte) (int, error) {
	return unix.SendmsgN(fd, p, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
}
