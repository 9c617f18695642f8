package keeper

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// ErrClosed is what Start answers once the Pool is closed.
var ErrClosed = errors.New("keeper: pool is closed")

// ErrGone is what Kill and Signal answer once the keeper is done with the job: it is
// over, and Events says how.
var ErrGone = errors.New("keeper: the job is over")

// PoolOptions configures a Pool.
type PoolOptions struct {
	// Log gets what has no caller to go to, such as a spare that could not be
	// started or a keeper that was lost. Nil means that nothing is logged.
	Log *slog.Logger
}

// A Command is what a keeper is to run.
type Command struct {
	// Path is the file to execute; if relative, it is looked up from Dir.
	// It is not searched for on PATH.
	Path string
	// Argv is the argument list with the program's own name first. Empty means
	// Path alone.
	Argv []string
	// Env is the whole environment, as NAME=value.
	Env []string
	// Dir is the working directory. Empty means "/".
	Dir string
	// Directory is that directory itself, where the system can hold one (O_PATH is enough),
	// or nil. Then the command starts in it, whatever lies under the name Dir by then. The
	// command does not get it, and Start leaves it open.
	Directory *os.File

	// Limits are those that the job is held to; see [Fit].
	Limits Limits

	// Terminal is the slave side of the job's terminal, or nil. The keeper holds
	// it open for the whole job, so that the master sees no end before Empty.
	// It is the command's standard descriptor wherever Stdin, Stdout or Stderr
	// is nil.
	Terminal *os.File
	// Stdin, Stdout and Stderr are the command's descriptors. Without Terminal,
	// nil means /dev/null. The keeper holds none of them, so that end of file
	// on a pipe is true. The same file may be given twice.
	//
	// Start leaves all four open, and puts them into blocking mode, which is
	// what programs expect.
	Stdin, Stdout, Stderr *os.File
}

// The stages at which a start can fail.
const (
	StageKeeper   = "keeper"   // the keeper itself could not be run, or died
	StageTerminal = "terminal" // the terminal could not be made the controlling one
	StageChdir    = "chdir"    // Dir cannot be entered
	StageExec     = "exec"     // Path cannot be executed
	StageResource = "resource" // processes, memory or descriptors ran out; worth a retry
	StageLimits   = "limits"   // the limits could not be set
)

// A StartError tells why a command could not be started. Nothing of it is left.
type StartError struct {
	Stage string        // one of the Stage constants
	Errno syscall.Errno // what the kernel said
	Path  string        // the directory for StageChdir, else Command.Path
	// MissingInterpreter is the interpreter named by the file's #! line or ELF
	// header where that, and not the file, is what does not exist.
	MissingInterpreter string
	// Killed says that somebody has ended the keeper before it could say what became of
	// the command. The job is ended as well.
	Killed bool
}

// Error says what was attempted on what.
func (e *StartError) Error() string {
	switch {
	case e.MissingInterpreter != "":
		return fmt.Sprintf("execute %s: its interpreter %s: %v", e.Path, e.MissingInterpreter, e.Errno)
	case e.Stage == StageKeeper:
		return fmt.Sprintf("run a keeper for %s: %v", e.Path, e.Errno)
	case e.Stage == StageTerminal:
		return fmt.Sprintf("give %s its terminal: %v", e.Path, e.Errno)
	case e.Stage == StageChdir:
		return fmt.Sprintf("change directory to %s: %v", e.Path, e.Errno)
	case e.Stage == StageLimits:
		return fmt.Sprintf("set the limits of %s: %v", e.Path, e.Errno)
	case e.Stage == StageResource:
		return fmt.Sprintf("start a process for %s: %v", e.Path, e.Errno)
	}
	return fmt.Sprintf("execute %s: %v", e.Path, e.Errno)
}

// Unwrap returns Errno.
func (e *StartError) Unwrap() error { return e.Errno }

// A Kind says what an Event tells.
type Kind uint8

// The kinds of events. A job's events end with Empty or Lost.
const (
	Exited    Kind = iota + 1 // the command was reaped: Code or Signal and Core, Background
	Stopped                   // the command was stopped: Signal
	Continued                 // the command runs again
	Killed                    // a kill operation is finished: Report
	Empty                     // ECHILD: nothing of the job is alive
	Lost                      // the keeper died before Empty; what it left was killed: Report
	Limited                   // the job went beyond a limit, and goes on: Limit
)

// String returns the name of the constant.
func (k Kind) String() string {
	switch k {
	case Exited:
		return "Exited"
	case Stopped:
		return "Stopped"
	case Continued:
		return "Continued"
	case Killed:
		return "Killed"
	case Empty:
		return "Empty"
	case Lost:
		return "Lost"
	case Limited:
		return "Limited"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// An Event is one thing that happened to a job.
type Event struct {
	Kind Kind

	Code   int            // Exited: the exit code, or -1 if a signal ended it
	Signal syscall.Signal // Exited: what ended it, or 0; Stopped: what stopped it
	Core   bool           // Exited: the kernel says that a core was dumped
	// ByItself, of Exited: no Kill has had to do with it, although one may have been asked
	// for in the same instant.
	ByItself bool

	Background []Proc // Exited: what else of the job is alive, at most MaxProcs
	Report     Report // Killed, Lost

	Limit string // Exited: the limit that has ended the command, or empty; Limited
}

// A Proc is one process of a job, as it was when it was looked at.
type Proc struct {
	PID, PPID, PGID, SID int
	Comm                 string // the kernel's short name
	Command              string // the arguments joined by spaces, at most 256 bytes; Comm in brackets where there are none to be read
	HoldsTerminal        bool   // it has the job's terminal open, or without one the job's stdout or stderr
}

// MaxProcs bounds each list of processes in an Event.
const MaxProcs = 1024

// A Report tells what one kill operation did.
type Report struct {
	Signals   []SignalSent // in the order in which they were sent
	Killed    []KilledProc // every process seen that is dead now
	Survivors []Survivor   // every one that is not
	Omitted   int          // how many processes more were seen, beyond MaxProcs
}

// A SignalSent is one signal given to the whole job.
type SignalSent struct {
	Name  string        // without SIG, as in TERM
	After time.Duration // since the operation began
}

// How a process ended that no signal ended, or of which it is not known.
const (
	HowSelf = "self" // it exited, by itself or in its handler of the signal
	HowGone = "gone" // its own parent took its status, so nobody else knows
)

// A KilledProc is a process that ended during a kill operation.
type KilledProc struct {
	Proc
	How string // the signal that ended it, without SIG; or HowSelf, HowGone
}

// A Survivor is a process that a finished kill operation has left alive.
type Survivor struct {
	Proc
	Why string // one sentence without a full stop
}

// KillOptions says how a job is ended.
type KillOptions struct {
	// Grace is the time between TERM and KILL. Zero or less sends KILL at once.
	Grace time.Duration
	// NoForce sends no KILL: the operation is finished when Grace is over or
	// nothing is left, and reports what is still alive.
	NoForce bool
	// Hangup sends HUP along with TERM, which interactive shells need.
	Hangup bool
	// Last says that the keeper need not make itself ready for another job: it ends
	// with this one, which is half the work where a thousand end together.
	Last bool
}

// A Target says who gets a signal.
type Target uint8

// The targets of Signal.
const (
	Leader          Target = iota + 1 // the command alone
	LeaderGroup                       // the command's process group
	Foreground                        // the terminal's foreground group; LeaderGroup without a terminal
	Tree                              // every process of the job
	ForegroundChild                   // the terminal's foreground group, unless it is the command's own
)

// String returns the name of the target in messages.
func (t Target) String() string {
	switch t {
	case Leader:
		return "leader"
	case LeaderGroup:
		return "leader group"
	case Foreground:
		return "foreground group"
	case Tree:
		return "tree"
	case ForegroundChild:
		return "foreground group of the command's children"
	}
	return fmt.Sprintf("Target(%d)", uint8(t))
}
