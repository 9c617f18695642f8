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

	dead atomic.Bool // the keeper has ended: what there is now is all
	left int         // how many packets more may be taken after that
}

// mostLeft is more packets than the kernel holds of those that were sent and not read.
const mostLeft = 1 << 14

// packetBuffers are borrowed for a read that finds something: most keepers say
// nothing most of the time.
var packetBuffers = sync.Pool{New: func() any { return new([maxPacket]byte) }}

// socketPair returns our end, and theirs for a keeper to be.
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

// receive returns the next message, valid until the next call, io.EOF when the keeper has
// ended, and errMalformed for a message that is longer than any.
func (s *socket) receive() ([]byte, error) {
	for {
		message, err := s.receivePacket()
		switch {
		case s.asm.tooLong():
			return nil, errMalformed
		case err == unix.ECONNRESET:
			// The keeper ended with commands of ours unread. The kernel says so
			// once, in front of what the keeper has sent.
		case err != nil:
			return nil, err
		case message != nil:
			return message, nil
		}
	}
}

// finish has receive return io.EOF when it has returned what is there now: the keeper has
// ended, and who may hold its side of the socket beside it is a stranger.
func (s *socket) finish() {
	if !s.dead.Swap(true) {
		_ = s.file.SetReadDeadline(time.Unix(1, 0)) // It fails only when closed, as is wanted.
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
		return nil, nil // It was told to finish: the next turn sees that.
	case closed != nil:
		return nil, closed
	case err == unix.EAGAIN:
		return nil, io.EOF // There is no more, and none will come from the keeper.
	}
	return message, err
}

// send never blocks. It fails with EPIPE when the keeper has ended, and with
// EAGAIN when the keeper has left hundreds of commands unread.
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
