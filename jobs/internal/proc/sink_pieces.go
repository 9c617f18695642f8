package proc

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// pieceBytes is the length of one write on systems on which an interrupted write does not return how many bytes were
// taken. It bounds by how much the returned count may be too low.
const pieceBytes = 4 << 10

// A pieceSink is a Sink for systems without non-blocking writes. Only one goroutine may call Write; Interrupt, GiveUp
// and Close may be called from any goroutine.
type pieceSink struct {
	// Immutable:
	file pollFile

	closed      atomic.Bool
	interrupted atomic.Uint64 // the highest number given to Interrupt or GiveUp
	writes      uint64        // the number of the last Write; owned by the goroutine that writes
}

// Write writes until the system has taken all of p, and blocks as long as the job does not read. If it is interrupted
// in a piece, n does not count that piece. The error is ErrInterrupted after Interrupt or GiveUp, os.ErrClosed after
// Close, or wraps the system's error.
func (s *pieceSink) Write(p []byte) (n int, err error) {
	s.writes++
	for n < len(p) {
		switch {
		case s.closed.Load():
			return n, os.ErrClosed
		case s.interrupted.Load() >= s.writes:
			return n, ErrInterrupted
		}
		m, err := s.file.Write(p[n:min(n+pieceBytes, len(p))])
		n += m
		switch {
		case err == nil:
		case s.closed.Load(): // checked first, since closing may cause any error
			return n, os.ErrClosed
		case errors.Is(err, os.ErrDeadlineExceeded):
			// Interrupt, GiveUp or Close woke this call. They set their marks before the deadline, so that the next
			// iteration finds the reason. There may be none: an interrupt of an earlier write leaves a deadline, too.
			_ = s.file.SetWriteDeadline(time.Time{}) // It fails only if closed, and then the next iteration fails too.
		default:
			return n, fmt.Errorf("write to %s: %w", s.file.Name(), err)
		}
	}
	return n, nil
}

// WriteNow writes nothing: it is not known how much the system would take at once.
func (s *pieceSink) WriteNow([]byte) (n int, err error) {
	if s.closed.Load() {
		return 0, os.ErrClosed
	}
	return 0, nil
}

// Interrupt makes the Write with this number, and all before it, return ErrInterrupted: a Write in progress returns at
// once, and one that has not begun writes nothing. The first Write is 1.
func (s *pieceSink) Interrupt(number uint64) {
	for {
		old := s.interrupted.Load()
		if old >= number {
			return
		}
		if s.interrupted.CompareAndSwap(old, number) {
			break
		}
	}
	_ = s.file.SetWriteDeadline(past) // It fails only if closed, and then Write returns that error.
}

// GiveUp is the same as Interrupt: on these systems a write can find only by waiting that there is no room.
func (s *pieceSink) GiveUp(number uint64) { s.Interrupt(number) }

// Close closes the pipe, which is the end of file for the reader, and ends the Write in progress and all later ones
// with os.ErrClosed. It may be called twice.
func (s *pieceSink) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.file.Close()
}
