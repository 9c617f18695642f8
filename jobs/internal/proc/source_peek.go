package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// A pollFile is an os.File in Go's poller. The system gets its reads and writes unchanged, and a deadline cancels them.
type pollFile interface {
	io.ReadWriteCloser
	Name() string
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// A peekSource is a Source for systems without non-blocking reads: for a drain, it first asks how much unread output
// there is. Only one goroutine may call Read; Drain and Close may be called from any goroutine.
type peekSource struct {
	// Immutable:
	file pollFile
	peek func() (int, error) // number of unread bytes; the error is io.EOF at the pipe's end, or another one

	closed atomic.Bool
	drain  atomic.Bool // Drain was called and Read has not seen it yet

	// Owned by the goroutine that reads:
	pause
	owed  bool // Read has to return ErrDrained
	left  int  // while owed: the bytes that were unread at the Drain, less those read since
	ended bool // io.EOF was returned
}

// Read waits until there is output, and returns n > 0.
//
// If no process can write any more, it returns io.EOF, then and in all later calls. It returns ErrDrained for Drain,
// ErrPaused for Wake, os.ErrClosed after Close, or else an error that wraps the system's.
func (s *peekSource) Read(buf []byte) (n int, err error) {
	if s.ended {
		return 0, io.EOF
	}
	if len(buf) == 0 {
		return 0, nil
	}
	for s.arm(s.file); !s.closed.Load(); s.arm(s.file) {
		if s.drain.Swap(false) {
			// After an error, such as the end of the pipe, the read below returns that; it answers the Drain as well.
			s.left, err = s.peek()
			s.owed = err == nil
		}
		if s.owed && s.left <= 0 {
			s.owed = false
			return 0, ErrDrained
		}
		n, err = s.file.Read(buf)
		s.left -= n
		switch {
		case n > 0:
			return n, nil // The next read returns the error again.
		case s.closed.Load(): // checked first, since closing may cause any error
			return 0, os.ErrClosed
		case errors.Is(err, os.ErrDeadlineExceeded):
			// Drain, Close or the time of Wake woke this call. Drain and Close set their flags before the deadline, so
			// that the next iteration finds the reason.
			_ = s.file.SetReadDeadline(time.Time{}) // It fails only if closed, and then the next iteration fails too.
			if s.over() && !s.drain.Load() {
				return 0, ErrPaused
			}
		case errors.Is(err, io.EOF):
			s.ended = true
			return 0, io.EOF
		case err != nil:
			return 0, fmt.Errorf("read from %s: %w", s.file.Name(), err)
		}
	}
	return 0, os.ErrClosed
}

// Stored does nothing, since Idle is not known.
func (s *peekSource) Stored() {}

// Idle returns false: it is not known without a Drain.
func (s *peekSource) Idle() bool { return false }

// Drain makes Read return ErrDrained once the present unread output was read. If it is called after the command has
// ended, all output of the command has been read when Read returns ErrDrained or io.EOF.
func (s *peekSource) Drain() {
	s.drain.Store(true)
	_ = s.file.SetReadDeadline(past) // It fails only if closed, and then Read returns that error.
}

// Close closes the pipe, and ends the Read in progress and all later ones with os.ErrClosed. It may be called twice.
func (s *peekSource) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.file.Close()
}
