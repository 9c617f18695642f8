//go:build unix

package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Source reads one stream of a job's output. Only one goroutine may call Read, Stored and Wake; Drain, Idle and Close
// may be called from any goroutine.
type Source struct {
	// Immutable:
	file     *os.File // non-blocking, in the poller
	raw      syscall.RawConn
	terminal bool // file is a terminal's master, shared with a Sink

	closed atomic.Bool
	drain  atomic.Bool // Drain was called and Read has not seen it yet
	held   sync.Mutex  // held from before output is read until it is stored

	// Owned by the goroutine that reads:
	pause
	owed  bool // Read has to return ErrDrained
	left  int  // while owed: the maximum that the kernel held at the Drain, less the bytes read since
	ended bool // io.EOF was returned
	holds bool // the goroutine holds held, for the output of the last Read
}

func newSource(file *os.File, terminal bool) (*Source, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", file.Name(), err)
	}
	return &Source{file: file, raw: raw, terminal: terminal}, nil
}

// Read waits until there is output, then reads until the kernel has no more or buf is full, and returns n > 0. A
// terminal returns about 4 KiB to one read(2), regardless of the size of buf.
//
// If no process can write any more, Read returns io.EOF, then and in all later calls: at the end of a pipe; on a
// terminal when no process, not even the keeper, holds the slave. It returns ErrDrained for Drain, ErrPaused for Wake,
// os.ErrClosed after Close, or else an error that wraps the kernel's.
func (s *Source) Read(buf []byte) (n int, err error) {
	s.Stored()
	if s.ended {
		return 0, io.EOF
	}
	if len(buf) == 0 {
		return 0, nil
	}
	for s.arm(s.file); !s.closed.Load(); s.arm(s.file) {
		drained := false
		waitErr := s.raw.Read(func(fd uintptr) (done bool) {
			if s.drain.Swap(false) {
				s.owed, s.left = true, s.most(fd)
			}
			if drained = s.owed && s.left <= 0; drained {
				return true
			}
			s.held.Lock()
			n, err = readAll(fd, buf)
			if s.holds = n > 0; !s.holds {
				s.held.Unlock()
			}
			s.left -= n
			drained = s.owed && n == 0 && err == syscall.EAGAIN
			return drained || n != 0 || err != syscall.EAGAIN
		})
		switch {
		case waitErr == nil && drained:
			s.owed = false
			return 0, ErrDrained
		case waitErr == nil:
			return s.result(n, err)
		case s.closed.Load(): // checked first, since closing may cause any error
			return 0, os.ErrClosed
		case !errors.Is(waitErr, os.ErrDeadlineExceeded):
			return 0, fmt.Errorf("wait for output on %s: %w", s.file.Name(), waitErr)
		}
		// Drain, Close or the time of Wake woke this call. Drain and Close set their flags before the deadline, so that
		// the next iteration finds the reason.
		_ = s.file.SetReadDeadline(time.Time{}) // It fails only if closed, and then the next iteration fails too.
		if s.over() && !s.drain.Load() {
			return 0, ErrPaused
		}
	}
	return 0, os.ErrClosed
}

// terminalHolds exceeds the unread output of a terminal that the kernel holds: 8 KiB in the buffer of a
// pseudo-terminal's port, and 4 KiB in the line discipline. Measured, a writer blocks after 15 KiB.
const terminalHolds = 64 << 10

// most returns the maximum number of bytes that can be unread now. These include all output of the command, so that a
// drain ends even if another process keeps writing faster than the server reads. The number is at least one more than
// the unread bytes, so that even an empty stream is read once, and its end is seen.
func (s *Source) most(fd uintptr) int {
	if s.terminal {
		return terminalHolds
	}
	if n, err := readable(fd); err == nil {
		return n + 1
	}
	return pipeHolds
}

// pipeHolds is the largest capacity that an unprivileged program can give a pipe.
const pipeHolds = 1 << 20

// result converts the result of read(2) into that of Read.
func (s *Source) result(n int, err error) (int, error) {
	switch {
	case n > 0:
		return n, nil // The next read returns the error again.
	case err == nil, s.terminal && err == syscall.EIO:
		s.ended = true
		return 0, io.EOF
	}
	return 0, fmt.Errorf("read from %s: %w", s.file.Name(), err)
}

// fewBytes is the limit below which a read has returned all output: terminals and pipes that have more return 4 KiB.
const fewBytes = 1 << 10

// readAll reads until there is no more (EAGAIN) or buf is full. The error counts only if nothing was read.
//
// A terminal's EIO counts only if it comes twice: Linux first checks for output and then whether the slave is closed
// (n_tty_read). Output that was written between these checks, before the slave was closed, is there for the next read.
func readAll(fd uintptr, buf []byte) (n int, err error) {
	for again := false; n < len(buf); {
		var m int
		m, err = readFD(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.EIO && !again {
			again = true
			continue
		}
		if err != nil || m <= 0 {
			break
		}
		if n += m; m < fewBytes {
			break // That was all: the next Read checks for more.
		}
	}
	return n, err
}

// Stored reports to the Source that the output returned by Read is stored. The next Read does the same. Only the
// reading goroutine may call it.
func (s *Source) Stored() {
	if s.holds {
		s.holds = false
		s.held.Unlock()
	}
}

// Idle reports whether all output before the call is stored and the stream goes on. Then a Drain would be answered at
// once with ErrDrained. It returns false if this is not known. Any goroutine may call it.
func (s *Source) Idle() (idle bool) {
	if s.closed.Load() || !s.held.TryLock() {
		return false
	}
	defer s.held.Unlock()
	err := s.raw.Control(func(fd uintptr) { idle = nothingToRead(fd) })
	return err == nil && idle
}

// Drain makes Read return ErrDrained once a read that began after this call has found no more output, or once as much
// was read as the kernel could hold at the call. One ErrDrained may answer several calls, and then counts for the last
// of them. After io.EOF there is no ErrDrained: Read continues to return io.EOF.
//
// If Drain is called after the command was reaped, all output of the command has been read when Read returns ErrDrained
// or io.EOF.
func (s *Source) Drain() {
	s.drain.Store(true)
	_ = s.file.SetReadDeadline(past) // It fails only if closed, and then Read returns that error.
}

// Close ends the Read in progress and all later ones with os.ErrClosed. It closes a pipe; a terminal is closed by
// Terminal.Close. Close may be called twice.
func (s *Source) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.terminal {
		_ = s.file.SetReadDeadline(past) // It fails only if the terminal is closed already.
		return nil
	}
	return s.file.Close()
}
