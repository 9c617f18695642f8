package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// A pollFile is an os.File in Go's poller. Reads and writes go to the system as they
// are, and are called back where a deadline comes.
type pollFile interface {
	io.ReadWriteCloser
	Name() string
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// A peekSource is a Source where a read cannot be asked not to wait: it looks first at
// how much there is. One goroutine calls Read; Drain and Close may be called from any.
type peekSource struct {
	// Immutable:
	file pollFile
	peek func() (int, error) // how many bytes can be read at once; the error is the pipe's end or worse

	closed atomic.Bool
	drain  atomic.Bool // Drain was called and Read has not looked yet

	// Owned by the goroutine that reads:
	pause
	owed  bool // an ErrDrained
	left  int  // while it is owed: what there was when Drain was called, and was not read yet
	ended bool // io.EOF was returned
}

// Read waits until there is output, and returns n > 0.
//
// It returns io.EOF, now and ever after, when nobody can write any more, ErrDrained for
// Drain, ErrPaused for Wake, os.ErrClosed after Close, and else an error that wraps what the
// system said.
func (s *peekSource) Read(buf []byte) (n int, err error) {
	if s.ended {
		return 0, io.EOF
	}
	if len(buf) == 0 {
		return 0, nil
	}
	for s.arm(s.file); !s.closed.Load(); s.arm(s.file) {
		if s.drain.Swap(false) {
			// Where there is an end, Read is to see it, and it answers as well.
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
			return n, nil // An error comes again with the next read.
		case s.closed.Load(): // before whatever error that has caused
			return 0, os.ErrClosed
		case errors.Is(err, os.ErrDeadlineExceeded):
			// Woken by Drain or Close, which set their flags first, or by the time:
			// whatever set the deadline, the next turn sees why.
			_ = s.file.SetReadDeadline(time.Time{}) // It fails only when closed, as the next turn does.
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

// Stored does nothing: nobody is told what is stored.
func (s *peekSource) Stored() {}

// Idle says that it is not known: a Drain says it.
func (s *peekSource) Idle() bool { return false }

// Drain makes Read return ErrDrained once what there is now was read. If it is called
// after the command has ended, all that the command wrote was read when ErrDrained or
// io.EOF comes.
func (s *peekSource) Drain() {
	s.drain.Store(true)
	_ = s.file.SetReadDeadline(past) // It fails only when closed, and then Read says so.
}

// Close closes the pipe, and ends the Read in progress and all later ones with
// os.ErrClosed. It may be called twice.
func (s *peekSource) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.file.Close()
}
