package jobs

import (
	"time"

	"shelld/jobs/internal/match"
)

// A Sink receives a job's events. Its methods are called from the job's goroutines, must not block, and must not call
// back into the job.
type Sink interface {
	// Started is the first event. It is called before the start is answered.
	Started(j *Job, info Info)
	// Output reports that more output is stored. It may be called before Started, from another goroutine than the other
	// methods, and any number of times.
	Output()
	// Event delivers a later event, in order.
	Event(e Event)
	// Flush follows one or more of these calls: the next ones may come much later. Flood is the same after much output,
	// of which more will come at once.
	Flush()
	Flood()
}

// events is a Sink after its first event: what the parts of a job report to.
type events interface {
	Output()
	Event(e Event)
	Flush()
	Flood()
}

// An Event is an event of a job. Exactly one of the pointers is set.
type Event struct {
	// After holds, per stream, the offset up to which output must be delivered
	// before this event.
	After map[Stream]int64

	Matched *Matched
	Exited  *Exited
	Closed  *Closed
	Removed *WatchRemoved
	Changed *Changed
	Screen  *ScreenChanged
	Waiting *InputWaiting
	Secret  *SecretAsk
	Command *CommandFinished
}

// Matched reports a match of a watch's pattern.
type Matched struct {
	WatchID int
	Stream  Stream
	Match   match.Match
	Place   *Place // of a match on the screen; then the offsets of Match refer to the text on the screen
	// Suppressed counts the matches of the watch since the last one that was reported, if they come too fast.
	Suppressed int64
}

// WatchRemoved reports that a watch is gone because its pattern took too long, or because the job ended before its
// output was matched.
type WatchRemoved struct {
	WatchID int
	Reason  string
}

// ScreenChanged reports a change of the terminal's screen.
type ScreenChanged struct {
	Revision uint64
	Offset   int64 // all output before it is drawn
}

// Exited reports that the leader was reaped and that all its output is stored.
type Exited struct {
	Exit       Exit
	Duration   time.Duration
	Background []Process
	Hint       *Hint
}

// Closed reports that no process of the job is alive.
type Closed struct{ Survivors []Survivor }

// Match is one match of a pattern; see the fields of [match.Match].
type Match = match.Match

// A Hint is the reason why a shell could not run a command (status 126 or 127).
type Hint struct {
	Kind        Code
	Command     string
	Suggestions []string
	Path        string
}

// A SecretAsk reports that a job waits for a password, for which the client is to be asked. If Over is true, it
// reports that the wait with this ID is over.
type SecretAsk struct {
	WaitID  string
	Over    bool
	Prompt  string
	Command string // the command that asks
	Attempt int    // the number of passwords that it has asked for in a row
}

// A Change is a property of a job that may change. Several can be joined by or.
type Change uint

const (
	ChangeStatus      Change = 1 << iota // running, stopped
	ChangeTitle                          // of the terminal
	ChangeDirectory                      // current directory as reported by the program
	ChangeBell                           // it rang
	ChangeSize                           // of the terminal
	ChangeForeground                     // the process there
	ChangeOutputFile                     // it cannot be written any more
	ChangeIntegration                    // of the shell: another program has replaced it
)

// Changed holds the changed properties of a job with their new values. A value counts if its Change is in What.
type Changed struct {
	What        Change
	Status      Status
	Signal      string // that stopped it, with SIG; "" if it runs
	Title       string
	Directory   string // "" = not known
	Bells       int64  // since the start
	Cols, Rows  int
	Foreground  *Process // nil = not known
	OutputFile  OutputFileError
	Integration string // the family of the shell; "" = it has no integration any more
}

// An OutputFileError is the reason why an output file is not complete.
type OutputFileError struct{ Path, Reason string }

// Add joins a later change to c.
func (c *Changed) Add(later Changed) {
	c.What |= later.What
	has := func(w Change) bool { return later.What&w != 0 }
	if has(ChangeStatus) {
		c.Status, c.Signal = later.Status, later.Signal
	}
	if has(ChangeTitle) {
		c.Title = later.Title
	}
	if has(ChangeDirectory) {
		c.Directory = later.Directory
	}
	if has(ChangeBell) {
		c.Bells = later.Bells
	}
	if has(ChangeSize) {
		c.Cols, c.Rows = later.Cols, later.Rows
	}
	if has(ChangeForeground) {
		c.Foreground = later.Foreground
	}
	if has(ChangeOutputFile) {
		c.OutputFile = later.OutputFile
	}
	if has(ChangeIntegration) {
		c.Integration = later.Integration
	}
}

// laterBarrier returns a barrier that waits for the output of both.
func laterBarrier(a, b map[Stream]int64) map[Stream]int64 {
	all := map[Stream]int64{}
	for _, m := range []map[Stream]int64{a, b} {
		for s, off := range m {
			all[s] = max(all[s], off)
		}
	}
	return all
}

// Join adds a later Changed event to this one, which then waits for the output of both.
func (e *Event) Join(later Event) {
	c := *e.Changed // other goroutines may hold the old one
	c.Add(*later.Changed)
	e.Changed, e.After = &c, laterBarrier(e.After, later.After)
}

// InputWaiting reports that a job waits for input or, if Waiting is false, that the wait with this ID is over.
type InputWaiting struct{ WaitingForInput }

// CommandFinished reports that a command of a shell with integration has ended.
type CommandFinished struct{ ShellCommand }
