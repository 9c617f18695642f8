package inputwait

import "time"

// How long it must have been quiet before a verdict is believed, where what was seen is
// short of a process that waits for the input alone. Each was measured.
const (
	quietOthers    = 150 * time.Millisecond // it waits for other things as well, or another thread does
	quietShort     = 200 * time.Millisecond // its timeout is short, or not known: the timer of an event loop may fire first
	quietAfter     = 30 * time.Millisecond  // … and this beyond the timeout
	quietRunning   = time.Second            // somebody of the job runs
	quietAmbiguous = 500 * time.Millisecond // it may be another descriptor that it reads

	shortTimeout = 900 * time.Millisecond // a second, of which some has gone by

	// A process that takes input and prints all the while is never quiet. It is believed to
	// listen once it was met so often, for so long.
	keenLooks = 4
	keenFor   = time.Second
)

// A timeout that is none, and one that could not be read.
const (
	forever        time.Duration = -1
	unknownTimeout time.Duration = -2
)

// A wait is one thread that is blocked on the input.
type wait struct {
	pid, tid  int
	start     uint64        // of the process
	name      string        // of the process
	call      string        // what it is blocked in
	reading   bool          // read(2) itself, and not a wait for its turn
	timeout   time.Duration // forever, unknownTimeout, or how long
	others    string        // something else that it waits for, or that its process sleeps in; "" for nothing
	timed     bool          // another thread of the process waits until a time has gone by
	endless   bool          // another thread of the process waits for the input alone, and without a timeout
	ambiguous bool          // what it reads may be something else
	seen      tier
}

// A claim is what a wait comes to.
type claim struct {
	state      State
	confidence Confidence
	quiet      time.Duration // how long it must have been quiet
	idle       bool          // and its thread have used next to no processor time
}

// claim weighs a wait, where others of the job run or do not.
func (w *wait) claim(running bool) claim {
	c := claim{state: Reading, confidence: Exact}
	listening := func(quiet time.Duration) {
		c.state, c.confidence, c.quiet = Listening, Likely, max(c.quiet, quiet)
	}
	if w.seen != full || w.timeout != forever || w.timed {
		c.confidence = Likely
	}
	if w.others != "" {
		listening(quietOthers)
	}
	if w.ambiguous {
		listening(quietAmbiguous)
	}
	if running {
		listening(quietRunning)
	}
	switch {
	case w.timeout == unknownTimeout:
		c.quiet, c.idle = max(c.quiet, quietShort), true
	case w.timeout >= 0 && w.timeout < shortTimeout && !w.endless:
		c.quiet, c.idle = max(c.quiet, quietShort, w.timeout+quietAfter), true
		listening(0)
	}
	return c
}

// better says whether w tells more than v.
func (w *wait) better(v *wait) bool {
	a, b := w.claim(false), v.claim(false)
	if a.state != b.state {
		return a.state == Reading
	}
	if a.quiet != b.quiet {
		return a.quiet < b.quiet
	}
	return a.confidence == Exact && b.confidence != Exact
}
