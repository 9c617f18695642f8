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
