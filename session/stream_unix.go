//go:build linux || darwin

package session

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// closeTime is how long Close waits for a call that the kernel does not let go, such as a write to a terminal that is
// stopped.
const closeTime = time.Second

// A stream is the stdin or the stdout of a client. It can be closed at any time, also while it is read or written. It
// leaves the blocking mode of the open file unchanged, which the client's other processes may share.
type stream struct {
	fd    int
	kind  uint32   // S_IFSOCK and so on
	wake  *os.File // the writing end of a pipe; closed to end the calls that wait
	wakes *os.File

	mu       sync.Mutex
	users    int // calls
	closed   bool
	released chan struct{} // closed with the descriptor: by the last of the calls and Close
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
	return &stream{fd: fd, kind: uint32(kind), wake: w, wakes: r, released: make(chan struct{})}, nil
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

// enter begins a call. It returns false if the stream was closed.
func (s *stream) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.users++
	}
	return !s.closed
}

// leave ends a call.
func (s *stream) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.releaseLocked()
}

// releaseLocked closes the descriptor if no call needs it any more.
func (s *stream) releaseLocked() {
	if !s.closed || s.users > 0 {
		return
	}
	_ = unix.Close(s.fd) // Everything was written.
	_ = s.wakes.Close()
	close(s.released)
}

// do calls act until it does not return EAGAIN, each time when the descriptor is ready.
func (s *stream) do(events int16, act func() (int, error)) (int, error) {
	if !s.enter() {
		return 0, os.ErrClosed
	}
	defer s.leave()
	for {
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
		if s.kind == unix.S_IFSOCK {
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

// writeSome writes as much as a ready pipe or socket takes without blocking.
func (s *stream) writeSome(p []byte) (int, error) {
	if s.kind == unix.S_IFSOCK {
		return unix.SendmsgN(s.fd, p, nil, nil, unix.MSG_DONTWAIT|noSignal)
	}
	return unix.Write(s.fd, p[:min(len(p), pipeBytes)])
}

// WriteNow writes as much as possible without blocking; see rpc.DirectWriter.
func (s *stream) WriteNow(p []byte) (n int, err error) {
	if !s.enter() {
		return 0, os.ErrClosed
	}
	defer s.leave()
	switch s.kind {
	case unix.S_IFSOCK: // It is written to without blocking.
	case unix.S_IFIFO:
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLOUT}}
		if _, err := unix.Poll(fds, 0); err != nil || fds[0].Revents == 0 {
			return without(0, err)
		}
	default:
		return 0, nil // A write to a terminal can block whatever poll says.
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

// Close ends the calls that wait, and closes the descriptor. A call that the kernel does not let go in closeTime is left
// behind, and closes it when it returns.
func (s *stream) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		_ = s.wake.Close() // Nothing was written to it.
		s.releaseLocked()
	}
	s.mu.Unlock()
	late := time.NewTimer(closeTime)
	defer late.Stop()
	select {
	case <-s.released:
	case <-late.C:
	}
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
