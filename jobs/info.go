package jobs

import (
	"time"

	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/view"
)

// Status is where in its life a job is.
type Status string

const (
	StatusStarting Status = "starting" // never told to a client
	StatusRunning  Status = "running"
	StatusStopped  Status = "stopped"
	StatusExited   Status = "exited"
	StatusClosed   Status = "closed"
	StatusFailed   Status = "failed" // the start failed; never told as a job
)

// Reason says why a leader ended.
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

// An Exit is how a leader ended. Code and Signal are nil and "" where they are not
// known.
type Exit struct {
	Code       *int
	Signal     string // with SIG
	CoreDumped bool
	Reason     Reason
	Limit      LimitName // where the reason is a limit
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

// StreamInfo is what is known of one output.
type StreamInfo struct {
	Name       Stream
	NextOffset int64   // the offset behind the last byte
	Kept       []Range // what can be read
}

// State is the part of Info that changes.
type State struct {
	Handle  ID
	Name    string
	Status  Status
	Exit    *Exit
	Streams []StreamInfo
	Waiting *WaitingForInput // nil: nothing is known of it
}

// Info is everything that is known of a job.
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
	ActiveAt           time.Time // when output or input came last, or the start; see Idle
	Cols, Rows         int
	Title              string   // of the terminal
	CurrentDirectory   string   // where the program says that it is; "" = not known
	Foreground         *Process // what runs in the terminal's foreground; nil = not known
	Background         []Process
	Ports              []Port // which it listens on; nil = not looked, or not known
	Watches            []WatchInfo
	KillAfter          time.Duration // since the start; 0 = no such time
	Limits             []LimitInfo
	OutputDirectory    string // where its files are; "" = memory alone
	OutputFile         string // the one that failed; "" = none
	OutputFileError    string // why, in the system's own words
}

// Live says whether anything of the job may be alive.
func (s State) Live() bool {
	return s.Status == StatusRunning || s.Status == StatusStopped || s.Status == StatusExited
}

// Duration is how long the leader has run.
func (i Info) Duration() time.Duration {
	if i.EndedAt.IsZero() {
		return time.Since(i.StartedAt)
	}
	return i.EndedAt.Sub(i.StartedAt)
}

// WatchInfo is a watch as JobInfo tells it.
type WatchInfo struct {
	ID int
	WatchSpec
}

// An Outcome is how a wait ended. The output it speaks of is read from the job by
// [Job.Excerpt] with these ranges.
type Outcome struct {
	Reason      string // a condition's kind, or timeout, patternFailed, portInUse
	Index       int    // which condition, or -1
	Match       *Match
	MatchStream Stream
	MatchPlace  *Place        // on the screen; nil: not there
	Port        *Port         // who listens, where the reason is port or portInUse
	Command     *ShellCommand // the one that has ended, where the reason is command; nil: it never began, or is not kept
	Output      map[Stream]Range
	State       State
	Spec        *WaitSpec
	Job         *Job

	typed *typedInput // see Echo
	view  *view.View  // see Screen
	shown *Screen     // not nil: that in which the pattern matched
}
