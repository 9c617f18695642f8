package jobs

import (
	"time"

	"shelld/jobs/internal/redact"
)

// pauseTime is how long a few bytes that may be the beginning of a secret are held back (protocol section 8).
const pauseTime = 50 * time.Millisecond

// loadTime is how long the echo of a command we injected is held back. That ends as soon as the command runs: loadTime
// only bounds it for a command that never does.
const loadTime = 2 * time.Second

// A cleaner removes secret values from a stream. It is owned by the readLoop.
type cleaner struct {
	redactor *redact.Redactor // nil: no value was secret yet
	due      time.Time        // when held output that a pause releases is passed on; zero: there is none
}

// The values of stream.holding: which output of the stream is held back.
const (
	holdsNothing int32 = iota
	holdsSecret        // output that may be a secret, until that is decided
	holdsShortly       // output that will be passed on soon, and perhaps also a secret
	holdsLine          // the echo of a command we injected, until the command runs
)

// redact takes output and returns the output that may be stored now.
func (st *stream) redact(secrets *redact.Set, p []byte) []byte {
	c := &st.cleaner
	switch {
	case c.redactor != nil && secrets != nil:
		c.redactor.Use(secrets)
	case c.redactor != nil: // all secrets are forgotten
		c.redactor.Use(noSecrets)
	case secrets == nil:
		return p
	default:
		c.redactor = redact.NewRedactor(secrets)
	}
	return st.held(c.redactor.Write(p))
}

var noSecrets = redact.New(nil)

// held notes whether output is held back, and for how long, and returns passed. It schedules the readLoop's wakeup.
func (st *stream) held(passed []byte) []byte {
	c := &st.cleaner
	all, shortly := c.redactor.Held()
	is := holdsNothing
	switch {
	case shortly > 0:
		is = holdsShortly
	case all > 0:
		is = holdsSecret
	}
	st.holding.Store(is)
	pause := time.Duration(0)
	if shortly > 0 {
		pause = pauseTime
	}
	st.wakeIn(pause)
	return passed
}

// holdsShortly reports whether the redactor holds back output that will be passed on soon.
func (c *cleaner) holdsShortly() bool {
	if c.redactor == nil {
		return false
	}
	_, shortly := c.redactor.Held()
	return shortly > 0
}

// wakeIn schedules a wakeup of the readLoop after a pause that releases held output. 0 means that there is no such
// output, and cancels the wakeup.
func (st *stream) wakeIn(pause time.Duration) {
	c := &st.cleaner
	due := time.Time{}
	if pause > 0 {
		due = time.Now().Add(pause)
	}
	if due != c.due {
		c.due = due
		st.src.Wake(due)
	}
}

// noteHeld notes the possible beginning of a shell's mark, which is held back like the possible beginning of a secret.
func (st *stream) noteHeld() {
	if st.marks.Held() > 0 {
		is, pause := holdsShortly, pauseTime
		if st.marks.Loading() {
			pause = loadTime
			if !st.cleaner.holdsShortly() {
				is = holdsLine
			}
		}
		st.holding.Store(is)
		st.wakeIn(pause)
	} else if st.cleaner.redactor == nil && st.holding.Load() != holdsNothing {
		st.holding.Store(holdsNothing)
		st.wakeIn(0)
	}
}

// letGo returns output that was held back: the part that a pause releases, or all of it at an end.
func (st *stream) letGo(end bool) []byte {
	c := &st.cleaner
	switch {
	case c.redactor == nil || st.holding.Load() == holdsNothing:
		return nil
	case end:
		return st.held(c.redactor.Flush())
	}
	return st.held(c.redactor.Pause())
}
