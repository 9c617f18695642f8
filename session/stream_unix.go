//go:build linux || darwin

package session

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// pipeBytes is the number of bytes that a writable pipe takes without blocking: PIPE_BUF.
const pipeBytes = 4 << 10

// A stream is the stdin or the stdout of a client. It can be closed at any time, also while it is read or written. It
// leaves the blocking mode of the open file unchanged, which the client's other processes may share.
type stream struct {
	fd       int
	isSocket bool
	wake     *os.File // the writing end of a pipe; closed to end the calls that wait
	wakes    *os.File

	mu     sync.RWMutex // held by a call; Close waits for all of them
	closed bool         // under mu
	once   sync.Once
}

// openStream takes over a descriptor. A pipe is opened anew, so that Go's poller can wait for it. Everything else is
// waited for with poll.
func openStream(fd, mode int) (io.ReadWriteCloser, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFIFO && runtime.GOOS == "linux" {
		own, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd) // Nothing was written to it.
			return pipe{os.NewFile(uintptr(own), "client")}, nil
		} // There is no /proc, or the pipe belongs to another user.
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &stream{fd: fd, isSocket: kind == unix.S_IFSOCK, wake: w, wakes: r}, nil
}

// await waits until the descriptor is ready. It returns false if the stream was closed.
func (s *stream) await(events int16) (open bool, err error) {
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: events}, {Fd: int32(s.wakes.Fd()), Events: unix.POLLIN}}
	for {
		switch _, err := unix.Poll(fds, -1); {
		case err == unix.EINTR:
		case err != nil:
			return false, err
		default:
			return fds[1].Revents == 0, nil
		}
	}
}

// do calls act until it does not return EAGAIN, each time when the descriptor is ready.
func (s *stream) do(events int16, act func() (int, error)) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for {
		if s.closed {
			return 0, os.ErrClosed
		}
		switch open, err := s.await(events); {
		case err != nil:
			return 0, err
		case !open:
			return 0, os.ErrClosed
		}
		if n, err := act(); err != unix.EAGAIN && err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// Read implements [io.Reader].
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.do(unix.POLLIN, func() (int, error) {
		if s.isSocket {
			n, _, err := unix.Recvfrom(s.fd, p, unix.MSG_DONTWAIT)
			return n, err
		}
		return unix.Read(s.fd, p)
	})
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// Write implements [io.Writer].
func (s *stream) Write(p []byte) (written int, err error) {
	for err == nil && written < len(p) {
		var n int
		n, err = s.do(unix.POLLOUT, func() (int, error) { return s.writeSome(p[written:]) })
		written += n
	}
	return written, err
}

// writeSome writes as much as a ready descriptor takes without blocking.
func (s *stream) writeSome(p []byte) (int, error) {
	if s.isSocket {
		return unix.SendmsgN(s.fd, p, nil, nil, unix.MSG_DONTWAIT|noSignal)
	}
	return unix.Write(s.fd, p[:min(len(p), pipeBytes)])
}

// WriteNow writes as much as possible without blocking; see rpc.DirectWriter.
func (s *stream) WriteNow(p []byte) (n int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0, os.ErrClosed
	}
	fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
	if !s.isSocket { // A socket is written to without blocking.
		if _, err := unix.Poll(fds, 0); err != nil || fds[0].Revents == 0 {
			return without(0, err)
		}
	}
	return without(s.writeSome(p))
}

// without returns the result of a write without the errors that say that nothing could be written now.
func without(n int, err error) (int, error) {
	if err == unix.EAGAIN || err == unix.EINTR {
		err = nil
	}
	return max(n, 0), err
}

// Close ends the calls that wait, and closes the descriptor.
func (s *stream) Close() error {
	s.once.Do(func() {
		_ = s.wake.Close() // Nothing was written to it.
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		_ = unix.Close(s.fd) // Everything was written.
		_ = s.wakes.Close()
	})
	return nil
}

// A pipe is one that only this process has open in this way. It does not block.
type pipe struct{ *os.File }

// WriteNow writes as much as possible without blocking; see rpc.DirectWriter.
func (p pipe) WriteNow(b []byte) (n int, err error) {
	raw, err := p.SyscallConn()
	if err != nil {
		return 0, err
	}
	if controlErr := raw.Control(func(fd uintptr) { n, err = unix.Write(int(fd), b) }); controlErr != nil {
		return 0, controlErr
	}
	return without(n, err)
}
