package proc

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// pieceBytes is how much is written at a time where an interrupted write does not say how
// much of it was taken: what it says then is at most so much too little.
const pieceBytes = 4 << 10

// A pieceSink is a Sink where a write cannot be asked not to wait. One goroutine calls
// Write; Interrupt, GiveUp and Close may be called from any.
type pieceSink struct {
	// Immutable:
	file pollFile

	closed      atomic.Bool
	interrupted atomic.Uint64 // the highest number given to Interrupt or GiveUp
	writes      uint64        // owned by the goroutine that writes: the number of the last Write
}

// Write writes until the system has taken all of p, however long the job does not read.
// Of a piece in which it is interrupted, n counts nothing. The error is ErrInterrupted
// after Interrupt or GiveUp, os.ErrClosed after Close, and else what the system said,
// wrapped.
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
		case s.closed.Load(): // before whatever error that has caused
			return n, os.ErrClosed
		case errors.Is(err, os.ErrDeadlineExceeded):
			// Woken by Interrupt, GiveUp or Close, which set their marks first. One that
			// was meant for an earlier write leaves a deadline behind, too.
			_ = s.file.SetWriteDeadline(time.Time{}) // It fails only when closed, as the next turn does.
		default:
			return n, fmt.Errorf("write to %s: %w", s.file.Name(), err)
		}
	}
	return n, nil
}

// WriteNow writes nothing: it is not known what the system takes at once.
func (s *pieceSink) WriteNow([]byte) (n int, err error) {
	if s.closed.Load() {
		return 0, os.ErrClosed
	}
	return 0, nil
}

// Interrupt makes the Write with this number, and all before it, return ErrInterrupted:
// the one in progress at once, one that has not begun without writing anything. The
// first is 1.
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
	_ = s.file.SetWriteDeadline(past) // It fails only when closed, and then Write says so.
}

// GiveUp is Interrupt: that there is no room is seen by nothing but waiting.
func (s *pieceSink) GiveUp(number uint64) { s.Interrupt(number) }

// Close closes the pipe, which is the reader's end of file, and ends the Write in progress
// and all later ones with os.ErrClosed. It may be called twice.
func (s *pieceSink) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	return s.file.Close()
}
