package jobs

import (
	"slices"
	"time"

	"shelld/jobs/internal/redact"
)

// pauseTime is for how long a few bytes with which a secret may begin are held back
// (protocol section 8).
const pauseTime = 50 * time.Millisecond

// loadTime is for how long what a shell shows of a line of ours is held back, which ends as soon
// as the line runs: it only bounds what becomes of one that never does.
const loadTime = 2 * time.Second

// A cleaner takes what is secret out of a stream. It is owned by the readLoop.
type cleaner struct {
	redactor *redact.Redactor // nil: nothing was secret yet
	due      time.Time        // when some of what is held back is passed on; zero: nothing is
}

// Holding says what of a stream's output is held back.
const (
	holdsNothing int32 = iota
	holdsSecret        // what may well be a secret, until that is decided
	holdsShortly       // beside that what will be passed on soon
	holdsLine          // what a shell shows of a line of ours, until the line runs
)

// redact returns what of some output may be stored now.
func (st *stream) redact(secrets *redact.Set, p []byte) []byte {
	c := &st.cleaner
	switch {
	case c.redactor != nil && secrets != nil:
		c.redactor.Use(secrets)
	case c.redactor != nil: // all of them are forgotten
		c.redactor.Use(noSecrets)
	case secrets == nil:
		return p
	default:
		c.redactor = redact.NewRedactor(secrets)
	}
	return st.held(c.redactor.Write(p))
}

var noSecrets = redact.New(nil)

// held notes what is held back, and has the readLoop wake up when it need not be any more.
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

// holdsShortly says whether it holds back what will be passed on soon.
func (c *cleaner) holdsShortly() bool {
	if c.redactor == nil {
		return false
	}
	_, shortly := c.redactor.Held()
	return shortly > 0
}

// wakeIn has the readLoop wake up where something is held back that a pause sets free; 0: nothing
// is.
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

// noteHeld notes what may be the beginning of a shell's mark, which is held back like what
// may be the beginning of a secret.
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

// letGo returns what was held back: what a pause sets free, or all of it at an end.
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

// holdsBack says whether output has come that will be stored soon. What a shell shows of a line of ours is
// none while it is to take that: where it is seen to read, it has shown all of it, and does not run it.
func (o *outputs) holdsBack() bool {
	return slices.ContainsFunc(o.streams, func(st *stream) bool {
		is := st.holding.Load()
		return is == holdsShortly || is == holdsLine && !o.j.shell.watch.handing()
	})
}
