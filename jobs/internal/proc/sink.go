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

// A Sink writes a job's input. Only one goroutine may call Write and WriteNow; Interrupt, GiveUp and Close may be
// called from any goroutine.
type Sink struct {
	// Immutable:
	file     *os.File // non-blocking, in the poller
	raw      syscall.RawConn
	terminal bool // file is a terminal's master, shared with a Source

	closed      atomic.Bool
	interrupted atomic.Uint64 // the highest number given to Interrupt
	givenUp     atomic.Uint64 // the highest number given to GiveUp
	writes      uint64        // the number of the last Write; owned by the goroutine that writes
}

func newSink(file *os.File, terminal bool) (*Sink, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", file.Name(), err)
	}
	return &Sink{file: file, raw: raw, terminal: terminal}, nil
}

// Write writes until the kernel has taken all of p, and blocks as long as the job does not read. n is exact, with every
// error: ErrInterrupted after Interrupt or GiveUp, os.ErrClosed after Close, or an error that wraps the kernel's, such
// as EPIPE if no process can read the pipe any more. A terminal does not return EPIPE: it takes input as long as it is
// open.
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
		case s.closed.Load(): // checked first, since closing may cause any error
			return n, os.ErrClosed
		case !errors.Is(waitErr, os.ErrDeadlineExceeded):
			return n, fmt.Errorf("wait to write to %s: %w", s.file.Name(), waitErr)
		}
		// Interrupt, GiveUp or Close woke this call. They set their marks before the deadline, so that the next
		// iteration finds the reason.
		_ = s.file.SetWriteDeadline(time.Time{}) // It fails only if closed, and then the next iteration fails too.
	}
	return n, os.ErrClosed
}

// WriteNow writes as much as the kernel takes at once, which may be nothing. The goroutine that calls Write may call it
// between two Writes. It has no number of its own.
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

// writeAll writes until the kernel has taken all of p or takes no more (EAGAIN), or the write with this number was
// interrupted.
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

// Interrupt makes the Write with this number, and all before it, return ErrInterrupted: a Write in progress returns at
// once, and one that has not begun writes nothing. It does not affect a Write that has ended or that has a higher
// number. The caller counts its Writes (the first is 1), so that an interrupt that comes too late has no effect.
func (s *Sink) Interrupt(number uint64) { s.mark(&s.interrupted, number) }

// GiveUp is like Interrupt, but for callers whose time is over: the Write returns as soon as the kernel takes no more.
// A Write that has not begun still writes as much as the kernel takes at once.
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
	_ = s.file.SetWriteDeadline(past) // It fails only if closed, and then Write returns that error.
}

// Close ends the Write in progress and all later ones with os.ErrClosed. It closes a pipe, which is the end of file for
// the reader; a terminal is closed by Terminal.Close. Close may be called twice.
func (s *Sink) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.terminal {
		_ = s.file.SetWriteDeadline(past) // It fails only if the terminal is closed already.
		return nil
	}
	return s.file.Close()
}
