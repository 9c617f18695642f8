//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// A Sink writes a job's input. One goroutine calls Write; Interrupt, GiveUp and
// Close may be called from any.
type Sink struct {
	// Immutable:
	file     *os.File // non-blocking, in the poller
	raw      syscall.RawConn
	terminal bool // file is a terminal's master, shared with a Source

	closed      atomic.Bool
	interrupted atomic.Uint64 // the highest number given to Interrupt
	givenUp     atomic.Uint64 // the highest number given to GiveUp
	writes      uint64        // owned by the goroutine that writes: the number of the last Write
}

func newSink(file *os.File, terminal bool) (*Sink, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", file.Name(), err)
	}
	return &Sink{file: file, raw: raw, terminal: terminal}, nil
}

// Write writes until the kernel has taken all of p, however long the job does not
// read. n is exact, with every error: ErrInterrupted after Interrupt or GiveUp, os.ErrClosed
// after Close, and else what the kernel said, wrapped, such as EPIPE when nobody
// can read the pipe any more. A terminal has no such error: it takes input as long
// as it is open.
//
// Writes are numbered from 1 in the order of the calls, for Interrupt.
func (s *Sink) Write(p []byte) (n int, err error) {
	s.writes++
	number := s.writes
	for !s.closed.Load() {
		waitErr := s.raw.Write(func(fd uintptr) (done bool) {
			var m int
			m, err = s.writeAll(fd, p[n:], number)
			n += m
			return err != syscall.EAGAIN
		})
		switch {
		case waitErr == nil:
			return n, err
		case s.closed.Load(): // before whatever error that has caused
			return n, os.ErrClosed
		case !errors.Is(waitErr, os.ErrDeadlineExceeded):
			return n, fmt.Errorf("wait to write to %s: %w", s.file.Name(), waitErr)
		}
		// Woken by Interrupt or Close, which set their marks first: whatever set
		// the deadline, the next turn sees why.
		_ = s.file.SetWriteDeadline(time.Time{}) // It fails only when closed, as the next turn does.
	}
	return n, os.ErrClosed
}

// WriteNow writes what the kernel takes at once, which may be nothing. It is for whoever
// calls Write, between two calls, and no Write as far as their numbers go.
func (s *Sink) WriteNow(p []byte) (n int, err error) {
	if s.closed.Load() {
		return 0, os.ErrClosed
	}
	if controlErr := s.raw.Control(func(fd uintptr) { n, err = writeFD(fd, p) }); controlErr != nil {
		return 0, os.ErrClosed
	}
	switch err {
	case nil:
		return n, nil
	case syscall.EAGAIN, syscall.EINTR:
		return max(n, 0), nil
	}
	return max(n, 0), fmt.Errorf("write to %s: %w", s.file.Name(), err)
}

// writeAll writes until all is taken, the kernel takes no more (EAGAIN), or the
// write with this number was interrupted.
func (s *Sink) writeAll(fd uintptr, p []byte, number uint64) (n int, err error) {
	for n < len(p) {
		if s.interrupted.Load() >= number {
			return n, ErrInterrupted
		}
		m, err := writeFD(fd, p[n:])
		n += max(m, 0)
		switch err {
		case nil, syscall.EINTR:
		case syscall.EAGAIN:
			if s.givenUp.Load() >= number {
				return n, ErrInterrupted
			}
			return n, err
		default:
			return n, fmt.Errorf("write to %s: %w", s.file.Name(), err)
		}
	}
	return n, nil
}

// Interrupt makes the Write with this number, and all before it, return
// ErrInterrupted: the one in progress at once, one that has not begun without
// writing anything. A Write that has ended is not changed by it, and one with a
// higher number never is: the caller numbers the writes that it hands out (the
// first is 1), and so an interrupt that comes late hits nothing.
func (s *Sink) Interrupt(number uint64) { s.mark(&s.interrupted, number) }

// GiveUp is Interrupt for one who has no more time to wait: the Write returns where
// the kernel takes no more. One that has not begun still writes what it takes at once.
func (s *Sink) GiveUp(number uint64) { s.mark(&s.givenUp, number) }

func (s *Sink) mark(highest *atomic.Uint64, number uint64) {
	for {
		old := highest.Load()
		if old >= number {
			return
		}
		if highest.CompareAndSwap(old, number) {
			break
		}
	}
	_ = s.file.SetWriteDeadline(past) // It fails only when closed, and then Write says so.
}

// Close ends the Write in progress and all later ones with os.ErrClosed. It
// closes a pipe, which is the reader's end of file; a terminal is closed by
// Terminal.Close. It may be called twice.
func (s *Sink) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.terminal {
		_ = s.file.SetWriteDeadline(past) // It fails only when closed, as is wanted.
		return nil
	}
	return s.file.Close()
}
