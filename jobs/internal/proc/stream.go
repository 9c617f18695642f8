package proc

import (
	"errors"
	"time"
)

// ErrDrained is the error with which Read answers Drain.
var ErrDrained = errors.New("proc: output is drained")

// ErrPaused is the error from Read if no output came before the time set by Wake.
var ErrPaused = errors.New("proc: no output came")

// ErrInterrupted is the error from Write after Interrupt or GiveUp.
var ErrInterrupted = errors.New("proc: write was interrupted")

// past is a deadline that wakes a goroutine that waits in the poller.
var past = time.Unix(1, 0)

// A pause is the time limit of a Read. It is owned by the goroutine that reads.
type pause struct {
	until time.Time // zero: no limit
	armed bool      // the file's deadline was set to until
}

// Wake makes Read return ErrPaused, once, if no output comes before a time; the zero time cancels that. Only the
// reading goroutine may call it.
func (p *pause) Wake(at time.Time) { p.until = at }

// arm sets the deadline of the next read. The caller must call it before it checks whether the file was closed or a
// drain was requested: Close and Drain set their flag first and then a deadline, so that arm cannot overwrite that
// deadline unnoticed.
func (p *pause) arm(f interface{ SetReadDeadline(time.Time) error }) {
	if p.armed || !p.until.IsZero() {
		_ = f.SetReadDeadline(p.until) // It fails only if closed, and then the read fails too.
		p.armed = !p.until.IsZero()
	}
}

// over reports whether the time set by Wake has come, and then clears it.
func (p *pause) over() bool {
	if p.until.IsZero() || time.Now().Before(p.until) {
		return false
	}
	p.until = time.Time{}
	return true
}
