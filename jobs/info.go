package jobs

import (
	"slices"
	"time"

	"shelld/jobs/internal/echo"
	"shelld/jobs/internal/inputwait"
	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/view"
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
	OutputDirectory    string // the directory of its files; "" = in memory only
	OutputFile         string // the file that failed; "" = none
	OutputFileError    string // the error, in the system's own words
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
