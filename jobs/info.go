package jobs

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/echo"
	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/names"
	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/view"
)

// Status is the stage of a job's life.
type Status string

const (
	StatusStarting Status = "starting" // never reported to a client
	StatusRunning  Status = "running"
	StatusStopped  Status = "stopped"
	StatusExited   Status = "exited"
	StatusClosed   Status = "closed"
	StatusFailed   Status = "failed" // the start failed; never reported as a job
)

// Reason is the reason why a leader ended.
type Reason string

const (
	ReasonExited   Reason = "exited"
	ReasonSignaled Reason = "signaled"
	ReasonKilled   Reason = "killed"
	ReasonTimeout  Reason = "timeout"
	ReasonLimit    Reason = "limit"
	ReasonShutdown Reason = "shutdown"
	ReasonDetached Reason = "detached" // its owner was away for too long (EndAt)
	ReasonLost     Reason = "lost"
)

// An Exit describes how a leader ended. Code is nil and Signal is "" if they are not known.
type Exit struct {
	Code       *int
	Signal     string // with SIG
	CoreDumped bool
	Reason     Reason
	Limit      LimitName // if the reason is a limit
}

// A Process is one process of a job.
type Process struct {
	PID     int
	Command string
}

// A Survivor is a process that a kill could not end.
type Survivor struct {
	Process
	Why string
}

// A Range is the half-open interval [From, To) of a stream's raw bytes.
type Range = spool.Range

// StreamInfo describes one output stream.
type StreamInfo struct {
	Name       Stream
	NextOffset int64   // the offset after the last byte
	Kept       []Range // the ranges that can be read
}

// State is the part of Info that changes.
type State struct {
	Handle  ID
	Name    string
	Status  Status
	Exit    *Exit
	Streams []StreamInfo
	Waiting *WaitingForInput // nil: not known to wait
}

// Info is all that is known of a job.
type Info struct {
	State
	Description, Group string
	Command            *string
	Argv               []string
	Shell              string
	Cwd                string
	Mode               Mode
	ModeReason         string
	Integration        string // the family of the shell whose commands can be told apart; "" = none
	PID                int
	StartedAt          time.Time
	EndedAt            time.Time // zero while the leader lives
	ActiveAt           time.Time // when output or input last came, or the start; see Idle
	Cols, Rows         int
	Title              string   // of the terminal
	CurrentDirectory   string   // the directory that the program reports; "" = not known
	Foreground         *Process // the process in the terminal's foreground; nil = not known
	Background         []Process
	Ports              []Port // on which it listens; nil = not probed, or not known
	Watches            []WatchInfo
	KillAfter          time.Duration // since the start; 0 = no time limit
	Limits             []LimitInfo
	Lease              Lease
	EndsAt             time.Time // when it is ended because its owner is away; zero: no such time is set, or it is over
	OutputDirectory    string    // the directory of its files; "" = in memory only
	OutputFile         string    // the file that failed; "" = none
	OutputFileError    string    // the error, in the system's own words
}

// Live reports whether anything of the job may be alive.
func (s State) Live() bool {
	return s.Status == StatusRunning || s.Status == StatusStopped || s.Status == StatusExited
}

// Duration returns how long the leader has run.
func (i Info) Duration() time.Duration {
	if i.EndedAt.IsZero() {
		return time.Since(i.StartedAt)
	}
	return i.EndedAt.Sub(i.StartedAt)
}

// WatchInfo is a watch as JobInfo contains it.
type WatchInfo struct {
	ID int
	WatchSpec
}

// An Outcome describes how a wait ended. [Job.Excerpt] reads the output that belongs to it, by the ranges in Output.
type Outcome struct {
	Reason      string // a condition's kind, or timeout, patternFailed, portInUse
	Index       int    // the index of the condition, or -1
	Match       *Match
	MatchStream Stream
	MatchPlace  *Place        // on the screen; nil: the match is not there
	Port        *Port         // the listener, if the reason is port or portInUse
	Command     *ShellCommand // the ended command, if the reason is command; nil: it never began, or is not kept
	Output      map[Stream]Range
	State       State
	Spec        *WaitSpec
	Job         *Job

	typed *typedInput // see Echo
	view  *view.View  // see Screen
	shown *Screen     // not nil: the screen in which the pattern matched
}

// An InputState says whether a job that takes input also does anything else.
type InputState = inputwait.State

// An InputKind is the kind of input that a job reads.
type InputKind string

// The kinds of input.
const (
	InputLine       InputKind = "line"
	InputPassword   InputKind = "password"
	InputRaw        InputKind = "raw"
	InputFullscreen InputKind = "fullscreen"
)

// A Confidence says how certain a finding is.
type Confidence = inputwait.Confidence

// rank orders the confidences; "" is the lowest.
func rank(c Confidence) int {
	return slices.Index([]Confidence{inputwait.Guess, inputwait.Likely, inputwait.Exact}, c)
}

// WaitingForInput describes a job that waits for input, or says why the job is not reported as waiting. It is
// never modified, only replaced.
type WaitingForInput struct {
	Waiting    bool
	ID         string // names this wait
	State      InputState
	Kind       InputKind
	Since      time.Time // time of the first probe that saw it
	Prompt     string    // the visible text of the line with the cursor
	PID        int       // 0 = not known
	Why        string
	Confidence Confidence
}

// A ShellCommand is a command that a shell with integration runs or has run: by Exec, or typed.
type ShellCommand struct {
	ID        int64 // counted from 1 in its job
	Text      string
	Typed     bool      // it came through Write, not Exec
	ExitCode  *int      // nil: it runs, or has ended with its shell
	Finished  bool      // it has ended, or its shell has
	StartedAt time.Time // zero: it waits for the shell
	EndedAt   time.Time // zero: it runs
	Cwd       string    // the shell's directory at the command's end; "" before
	Output    Range     // To is 0 while it runs
}

// A CommandFate is the fate of a command whose request was canceled, or that was interrupted before it began.
type CommandFate string

// The fates of commands.
const (
	CommandDropped     CommandFate = "dropped"     // it never runs
	CommandRunning     CommandFate = "running"     // it continues
	CommandInterrupted CommandFate = "interrupted" // it is interrupted, now or when it begins
	CommandUnknown     CommandFate = "unknown"     // it is unknown whether it has run
)

// A typedInput is input whose echo must not match patterns (protocol section 4).
type typedInput struct {
	echo.Typed
	st Stream // the stream that contains its echo
}

// A Port is a TCP port on which a process listens.
type Port struct {
	Port    int
	Address string
	PID     int    // 0 = not known
	Command string // command of that process; "" = not asked for, or not known
}

type (
	// A Screen is the visible content of a job's terminal.
	Screen = view.Screen
	// A Place is a cell of a screen.
	Place = view.Place
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
	Input   *InputChanged
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

// An InputReason is the reason why the input of a job has another holder.
type InputReason string

const (
	InputTaken  InputReason = "taken"  // there was no holder, or it was away
	InputForced InputReason = "forced" // taken from a holder that was there
	InputGiven  InputReason = "given"
	InputLeft   InputReason = "left" // the holder has left, and cannot come back
)

// InputChanged reports that the input of a job has another holder.
type InputChanged struct {
	Holder string // "" = none
	By     string // the client that has caused it
	Reason InputReason
}
