package jobs

import (
	"fmt"
	"shelld/jobs/internal/names"
	"strings"
	"syscall"
	"time"
)

// state is the position of a job in its life cycle. It is a plain value: its methods record facts and determine the
// next step, and start nothing.
//
//	starting → running ⇄ stopped → exited → closed
//	    └→ failed (an error answer; never a job)
//
// exited waits for the leader's status, and for a read that began after it and found no more output. closed waits for
// the report that no process is left, and until the output is read to its end. Each happens once, in this order.
type state struct {
	status Status
	exit   *Exit  // the leader's end; nil until it is known
	reason Reason // why the job ends, set before the signal is sent; "" = by itself
	empty  bool   // no process of the job is alive

	limit LimitName // the limit, if the reason is a limit
	mild  bool      // the reason is a kill without force, which may have no effect

	exitedAt time.Time
	step     step
}

// A step is the next event that the end of a job waits for.
type step int

const (
	stepNone        step = iota // none: the leader is alive
	stepDrainExit               // its output has been read to the end
	stepSettleExit              // the matcher has processed that output
	stepHint                    // the search for the reason why a shell could not run its command is over
	stepBackground              // exited has been reported; no process is alive any more
	stepDrainClose              // the last output has been read to the end
	stepSettleClose             // the matcher has processed that output, too
	stepFiles                   // the job's files are complete
	stepDone
)

// intend records the reason of the leader's end before the leader is signalled, so that a kill never looks like a
// crash. The first reason stays, unless it is mild. A reason that comes after the leader's end is ignored.
func (s *state) intend(r Reason, mild bool) {
	if s.undecided() {
		s.reason, s.mild = r, mild
	}
}

// undecided reports whether the reason may still be set: the leader has not ended, and its reason is unknown or mild.
func (s *state) undecided() bool { return s.exit == nil && (s.reason == "" || s.mild) }

// spare clears a mild reason, since the leader is still alive: its end will have another reason.
func (s *state) spare() {
	if s.exit == nil && s.mild {
		s.reason, s.mild = "", false
	}
}

// leaderExited records the leader's status. If byItself is true, the recorded reason does not count: the leader had
// ended before the server acted.
func (s *state) leaderExited(code int, sig syscall.Signal, core, byItself bool, now time.Time) {
	e := &Exit{CoreDumped: core, Reason: ReasonExited}
	if sig != 0 {
		e.Signal, e.Reason = names.Signal(sig), ReasonSignaled
	} else {
		e.Code = &code
	}
	if s.reason != "" && !byItself {
		e.Reason, e.Limit = s.reason, s.limit
	}
	s.exit, s.exitedAt, s.step = e, now, stepDrainExit
}

// keeperLost records the loss of the keeper. If the leader's end is not known yet, its status is lost.
func (s *state) keeperLost(now time.Time) {
	if s.exit == nil {
		s.exit = &Exit{Reason: ReasonLost}
		s.exitedAt, s.step = now, stepDrainExit
	}
	s.empty = true
}

func (s *state) stopped(is bool) {
	switch {
	case is && s.status == StatusRunning:
		s.status = StatusStopped
	case !is && s.status == StatusStopped:
		s.status = StatusRunning
	}
}

// exitText describes an end, for use in a sentence.
func exitText(e *Exit) string {
	switch {
	case e == nil:
		return "has not ended"
	case e.Code != nil:
		return fmt.Sprintf("ended with exit code %d", *e.Code)
	case e.Signal != "":
		return "was ended by " + strings.ToUpper(e.Signal)
	}
	return "ended with unknown status"
}
