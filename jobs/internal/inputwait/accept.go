package inputwait

import "time"

// How long the job must have been quiet before a verdict is believed, if the probe found less than a process that waits
// for the input alone. Each value was measured.
const (
	quietOthers    = 150 * time.Millisecond // the process waits for other things as well, or another of its threads does
	quietShort     = 200 * time.Millisecond // its timeout is short or unknown: the timer of an event loop may fire first
	quietAfter     = 30 * time.Millisecond  // added to a short timeout
	quietRunning   = time.Second            // another process of the job runs
	quietAmbiguous = 500 * time.Millisecond // it may be reading another descriptor

	shortTimeout = 900 * time.Millisecond // a timeout of a second of which some has passed

	// A process that takes input and prints without pause is never quiet. It counts as listening once this many probes
	// have found it waiting, over at least this time.
	keenLooks = 4
	keenFor   = time.Second
)

// No timeout, and a timeout that could not be read.
const (
	forever        time.Duration = -1
	unknownTimeout time.Duration = -2
)

// A wait is one thread that is blocked on the input.
type wait struct {
	pid, tid  int
	start     uint64        // of the process
	name      string        // of the process
	call      string        // the system call that it is blocked in
	reading   bool          // in read(2) itself, not in a poll before it
	timeout   time.Duration // forever, unknownTimeout, or the duration
	others    string        // another thing that it waits for, or that its process sleeps in; "": none
	timed     bool          // another thread of the process waits for a time
	endless   bool          // another thread of the process waits for the input alone, and without a timeout
	ambiguous bool          // it may be reading another descriptor
	seen      tier
}

// A claim is the conclusion drawn from a wait.
type claim struct {
	state      State
	confidence Confidence
	quiet      time.Duration // required time of quiet
	idle       bool          // the thread must also have used almost no processor time
}

// claim evaluates a wait. running means that another process of the job runs.
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

// better reports whether w is stronger evidence of waiting than v.
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
