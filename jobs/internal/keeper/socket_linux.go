package keeper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A socket is the server's end of the pair, in Go's poller.
type socket struct {
	file *os.File
	raw  syscall.RawConn
	asm  assembler

	dead atomic.Bool // the keeper has ended: only the present packets count
	left int         // packets taken after that
}

// mostLeft is more than the number of sent and unread packets that the kernel holds.
const mostLeft = 1 << 14

// packetBuffers are borrowed for a read that finds data: most keepers send nothing most of the time.
var packetBuffers = sync.Pool{New: func() any { return new([maxPacket]byte) }}

// socketPair returns the server's end, and the other one for a new keeper.
func socketPair() (*socket, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "keeper's socket")
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_, _ = unix.Close(fds[0]), theirs.Close()
		return nil, nil, fmt.Errorf("make a socket non-blocking: %w", err)
	}
	file := os.NewFile(uintptr(fds[0]), "server's socket")
	raw, err := file.SyscallConn()
	if err != nil {
		_, _ = file.Close(), theirs.Close()
		return nil, nil, fmt.Errorf("reach a socket: %w", err)
	}
	return &socket{file: file, raw: raw}, theirs, nil
}

// receive returns the next message, which is valid until the next call. It returns io.EOF when the keeper has ended,
// and errMalformed for a message of impossible length.
func (s *socket) receive() ([]byte, error) {
	for {
		message, err := s.receivePacket()
		switch {
		case s.asm.tooLong():
			return nil, errMalformed
		case err == unix.ECONNRESET:
			// The keeper ended with unread commands. The kernel reports this once, before the data that the keeper has
			// sent.
		case err != nil:
			return nil, err
		case message != nil:
			return message, nil
		}
	}
}

// finish makes receive return io.EOF after the data that is there now: the keeper has ended, and any other process that
// holds its side of the socket is a stranger.
func (s *socket) finish() {
	if !s.dead.Swap(true) {
		_ = s.file.SetReadDeadline(time.Unix(1, 0)) // It fails only if the file is closed, which is as wanted.
	}
}

// receivePacket returns the message that ends with the next packet, if one does.
func (s *socket) receivePacket() (message []byte, err error) {
	wait := s.raw.Read
	if s.dead.Load() {
		if s.left++; s.left > mostLeft {
			return nil, io.EOF
		}
		wait = func(read func(uintptr) bool) error { return s.raw.Control(func(fd uintptr) { read(fd) }) }
	}
	closed := wait(func(fd uintptr) (done bool) {
		buf := packetBuffers.Get().(*[maxPacket]byte)
		defer packetBuffers.Put(buf)
		var n int
		for n, err = unix.Read(int(fd), buf[:]); err == unix.EINTR; {
			n, err = unix.Read(int(fd), buf[:])
		}
		switch {
		case err != nil:
		case n == 0:
			err = io.EOF
		default:
			message = s.asm.add(buf[:n])
		}
		return err != unix.EAGAIN
	})
	switch {
	case errors.Is(closed, os.ErrDeadlineExceeded):
		return nil, nil // This is by finish: the next call sees that.
	case closed != nil:
		return nil, closed
	case err == unix.EAGAIN:
		return nil, io.EOF // The socket is empty, and the keeper sends nothing more.
	}
	return message, err
}

// send never blocks. It fails with EPIPE if the keeper has ended, and with EAGAIN if the keeper has left hundreds of
// commands unread.
func (s *socket) send(message []byte, fds ...int) error {
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	return packets(message, func(packet []byte) error {
		var err error
		if s.raw.Control(func(fd uintptr) {
			err = unix.Sendmsg(int(fd), packet, oob, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		}) != nil {
			return os.ErrClosed
		}
		return err
	})
}

func (s *socket) close() { _ = s.file.Close() }
