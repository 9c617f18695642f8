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

// A Source reads one stream of a job's output. One goroutine calls Read; Drain
// and Close may be called from any.
type Source struct {
	// Immutable:
	file     *os.File // non-blocking, in the poller
	raw      syscall.RawConn
	terminal bool // file is a terminal's master, shared with a Sink

	closed atomic.Bool
	drain  atomic.Bool // Drain was called and Read has not looked yet
	held   sync.Mutex  // from before something is read until it is stored

	// Owned by the goroutine that reads:
	pause
	owed  bool // an ErrDrained
	left  int  // while it is owed: the most that the kernel held when Drain was called
	ended bool // io.EOF was returned
	holds bool // held, for what the last Read returned
}

func newSource(file *os.File, terminal bool) (*Source, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", file.Name(), err)
	}
	return &Source{file: file, raw: raw, terminal: terminal}, nil
}

// Read waits until there is output, then reads until the kernel has no more or
// buf is full, and returns n > 0. A terminal gives about 4 KiB to one read(2),
// whatever the size of buf.
//
// It returns io.EOF, now and ever after, when nobody can write any more: at the
// end of a pipe; on a terminal when nobody, not even the keeper, holds the slave
// side. It returns ErrDrained for Drain, ErrPaused for Wake, os.ErrClosed after Close, and
// else an error that wraps what the kernel said.
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
		case s.closed.Load(): // before whatever error that has caused
			return 0, os.ErrClosed
		case !errors.Is(waitErr, os.ErrDeadlineExceeded):
			return 0, fmt.Errorf("wait for output on %s: %w", s.file.Name(), waitErr)
		}
		// Woken by Drain or Close, which set their flags first, or by the time: whatever
		// set the deadline, the next turn sees why.
		_ = s.file.SetReadDeadline(time.Time{}) // It fails only when closed, as the next turn does.
		if s.over() && !s.drain.Load() {
			return 0, ErrPaused
		}
	}
	return 0, os.ErrClosed
}

// terminalHolds is more than the kernel keeps of a terminal's output that was not
// read: 8 KiB in the buffer of a pseudo-terminal's port, and a line discipline's
// 4 KiB; a writer was measured to block after 15 KiB.
const terminalHolds = 64 << 10

// most is the most that can be waiting to be read. What the command wrote is among
// it, so that a drain ends even where somebody else goes on writing faster than it
// is read. It is one more than what there is, so that a stream that holds nothing
// is read once all the same, and its end seen.
func (s *Source) most(fd uintptr) int {
	if s.terminal {
		return terminalHolds
	}
	if n, err := readable(fd); err == nil {
		return n + 1
	}
	return pipeHolds
}

// pipeHolds is the most that an unprivileged program can make a pipe hold.
const pipeHolds = 1 << 20

// result turns what read(2) said into what Read says.
func (s *Source) result(n int, err error) (int, error) {
	switch {
	case n > 0:
		return n, nil // An error comes again with the next read.
	case err == nil, s.terminal && err == syscall.EIO:
		s.ended = true
		return 0, io.EOF
	}
	return 0, fmt.Errorf("read from %s: %w", s.file.Name(), err)
}

// fewBytes is what no terminal and no pipe gives where it has more: they give 4 KiB.
const fewBytes = 1 << 10

// readAll reads until there is no more, EAGAIN, or buf is full. An error counts
// only if nothing was read.
//
// A terminal's EIO is believed when it comes twice: Linux looks for output first, and whether the slave side is
// closed behind that (n_tty_read), and what was written and closed in between is there for the next read.
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
			break // that was all: asking once more is for the next Read
		}
	}
	return n, err
}

// Stored says that what Read has returned is stored, as the next Read does. The goroutine
// that reads calls it.
func (s *Source) Stored() {
	if s.holds {
		s.holds = false
		s.held.Unlock()
	}
}

// Idle says whether all that was there when it was called is stored: what a Drain would
// come to, at once. Any goroutine may ask. Where it is not known, it returns false.
func (s *Source) Idle() (idle bool) {
	if s.closed.Load() || !s.held.TryLock() {
		return false
	}
	defer s.held.Unlock()
	err := s.raw.Control(func(fd uintptr) { idle = nothingToRead(fd) })
	return err == nil && idle
}

// Drain makes Read return ErrDrained once a read that began after this call
// found nothing more, or as much was read as the kernel could hold at the call.
// Several calls may be answered by one, which then holds for the last of them.
// After io.EOF there is no such answer: Read goes on to return io.EOF.
//
// If Drain is called after the command was reaped, all that the command wrote
// has been read when ErrDrained or io.EOF comes.
func (s *Source) Drain() {
	s.drain.Store(true)
	_ = s.file.SetReadDeadline(past) // It fails only when closed, and then Read says so.
}

// Close ends the Read in progress and all later ones with os.ErrClosed. It
// closes a pipe; a terminal is closed by Terminal.Close. It may be called twice.
func (s *Source) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.terminal {
		_ = s.file.SetReadDeadline(past) // It fails only when closed, as is wanted.
		return nil
	}
	return s.file.Close()
}
