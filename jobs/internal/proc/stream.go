package proc

import (
	"errors"
	"time"
)

// ErrDrained is what Read answers to Drain.
var ErrDrained = errors.New("proc: output is drained")

// ErrPaused is what Read answers where nothing came before the time that Wake has set.
var ErrPaused = errors.New("proc: no output came")

// ErrInterrupted is what Write answers to Interrupt and GiveUp.
var ErrInterrupted = errors.New("proc: write was interrupted")

// past is a deadline that wakes whoever waits in the poller.
var past = time.Unix(1, 0)

// A pause is until when a Read waits. It is owned by the goroutine that reads.
type pause struct {
	until time.Time // zero: for as long as it takes
	armed bool      // the file's deadline was set for that
}

// Wake has Read return ErrPaused, once, where nothing comes before a time; the zero time takes
// that back. The goroutine that reads calls it.
func (p *pause) Wake(at time.Time) { p.until = at }

// arm sets the deadline that the next read has. It comes before one looks whether the file
// was closed: whoever closes it, or drains it, sets a deadline after he has said so.
func (p *pause) arm(f interface{ SetReadDeadline(time.Time) error }) {
	if p.armed || !p.until.IsZero() {
		_ = f.SetReadDeadline(p.until) // It fails only when closed, as the read does then.
		p.armed = !p.until.IsZero()
	}
}

// over says whether the time has come.
func (p *pause) over() bool {
	if p.until.IsZero() || time.Now().Before(p.until) {
		return false
	}
	p.until = time.Time{}
	return true
}
