package jobs

import (
	"fmt"
	"strings"
	"syscall"
	"time"
)

// state is where a job is in its life. It is a plain value: its methods record
// facts and say what follows, and start nothing.
//
//	starting → running ⇄ stopped → exited → closed
//	    └→ failed (an error answer; never a job)
//
// exited waits for the leader's status and for a read begun after it that found
// nothing more; closed for the word that nobody is left and for output read to its
// end. Each happens once, in this order.
type state struct {
	status Status
	exit   *Exit  // the leader's end, from the moment it is known
	reason Reason // why it ends, settled before the signal is sent; "" = by itself
	empty  bool   // nothing of the job is alive

	limit LimitName // which, where the reason is a limit
	mild  bool      // the reason is a kill without force, which may end nothing

	exitedAt time.Time
	step     step
}

// A step is what the end of a job waits for next.
type step int

const (
	stepNone        step = iota // the leader lives
	stepDrainExit               // its output is read to the end
	stepSettleExit              // the matcher has seen it
	stepHint                    // why a shell could not run its command has been found out
	stepBackground              // exited was told; something may be alive
	stepDrainClose              // nothing is; what it wrote is read to the end
	stepSettleClose             // the matcher has seen that
	stepFiles                   // its files are complete
	stepDone
)

// intend settles why the leader will have ended, before it is signalled, so that a
// kill never reads as a crash. The first reason stays, unless it is mild; one that comes
// after the leader's end is nobody's.
func (s *state) intend(r Reason, mild bool) {
	if s.undecided() {
		s.reason, s.mild = r, mild
	}
}

// undecided says whether what ends the leader may still be somebody's doing that is not
// known.
func (s *state) undecided() bool { return s.exit == nil && (s.reason == "" || s.mild) }

// spare takes a mild reason back, since the leader lives on: what ends it one day is
// another.
func (s *state) spare() {
	if s.exit == nil && s.mild {
		s.reason, s.mild = "", false
	}
}

// leaderExited records the leader's status. byItself takes the reason back: it had ended
// before anybody did anything about it.
func (s *state) leaderExited(code int, sig syscall.Signal, core, byItself bool, now time.Time) {
	e := &Exit{CoreDumped: core, Reason: ReasonExited}
	if sig != 0 {
		e.Signal, e.Reason = signalName(sig), ReasonSignaled
	} else {
		e.Code = &code
	}
	if s.reason != "" && !byItself {
		e.Reason, e.Limit = s.reason, s.limit
	}
	s.exit, s.exitedAt, s.step = e, now, stepDrainExit
}

// keeperLost records that nobody can say how the leader ended.
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

// signalName returns the name with SIG; a signal without a name is told by number.
func signalName(sig syscall.Signal) string {
	if n := signalNames[sig]; n != "" {
		return n
	}
	return fmt.Sprintf("SIG%d", int(sig))
}

// exitText is how an end reads in a sentence.
func exitText(e *Exit) string {
	switch {
	case e == nil:
		return "has not ended"
	case e.Code != nil:
		return fmt.Sprintf("ended with exit code %d", *e.Code)
	case e.Signal != "":
		return "was ended by " + strings.ToUpper(e.Signal)
	}
	return "ended in a way that nobody saw"
}
