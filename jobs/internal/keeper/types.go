package keeper

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// ErrClosed is the error of Start once the Pool is closed.
var ErrClosed = errors.New("keeper: pool is closed")

// ErrGone is the error of Kill and Signal once the keeper is done with the job: it is over, and Events reports how.
var ErrGone = errors.New("keeper: the job is over")

// PoolOptions configures a Pool.
type PoolOptions struct {
	// Log receives the problems that cannot be returned to a caller, such as a spare that could not be started or a
	// keeper that was lost. If it is nil, nothing is logged.
	Log *slog.Logger
}

// A Command is a program for a keeper to run.
type Command struct {
	// Path is the file to execute. A relative path is resolved from Dir. PATH is not searched.
	Path string
	// Argv is the argument list with the program's own name first. If empty, it is Path alone.
	Argv []string
	// Env is the whole environment, as NAME=value.
	Env []string
	// Dir is the working directory. If empty, it is "/".
	Dir string
	// Directory is that directory itself, if the system can hold one open (O_PATH is enough), or nil. Then the command
	// starts in it, whatever the name Dir refers to by then. The command does not inherit it, and Start leaves it open.
	Directory *os.File

	// Limits are the limits of the job; see [Fit].
	Limits Limits

	// Terminal is the slave side of the job's terminal, or nil. The keeper holds it open for the whole job, so that the
	// master sees no end of file before Empty. It replaces each of Stdin, Stdout and Stderr that is nil.
	Terminal *os.File
	// Stdin, Stdout and Stderr are the command's descriptors. Without Terminal, nil means /dev/null. The keeper holds
	// none of them, so that end of file on a pipe is reliable. The same file may be given twice.
	//
	// Start leaves all four open, and puts them into blocking mode, which programs expect.
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

// A StartError is the reason why a command could not be started. No process of it is left.
type StartError struct {
	Stage string        // one of the Stage constants
	Errno syscall.Errno // the kernel's error
	Path  string        // the directory for StageChdir, else Command.Path
	// MissingInterpreter is the interpreter named by the file's #! line or ELF header, if it does not exist although
	// the file does.
	MissingInterpreter string
	// Killed means that another process has ended the keeper before it could report the result of the start. The job is
	// ended as well.
	Killed bool
}

// Error returns the attempted action and the kernel's error.
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

// A Kind is the type of an Event.
type Kind uint8

// The kinds of events. A job's events end with Empty or Lost.
const (
	Exited    Kind = iota + 1 // the command was reaped: Code or Signal and Core, Background
	Stopped                   // the command was stopped: Signal
	Continued                 // the command runs again
	Killed                    // a kill operation is finished: Report
	Empty                     // ECHILD: nothing of the job is alive
	Lost                      // the keeper died before Empty; the rest of the job was killed: Report
	Limited                   // the job exceeded a limit, and goes on: Limit
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
	Signal syscall.Signal // Exited: the signal that ended it, or 0; Stopped: the signal that stopped it
	Core   bool           // Exited: a core was dumped, according to the kernel
	// ByItself, of Exited, means that no Kill caused the end, although one may have been requested in the same instant.
	ByItself bool

	Background []Proc // Exited: the other living processes of the job, at most MaxProcs
	Report     Report // Killed, Lost

	Limit string // Exited: the limit that has ended the command, or empty; Limited
}

// A Proc is one process of a job, as it was when it was inspected.
type Proc struct {
	PID, PPID, PGID, SID int
	Comm                 string // the kernel's short name
	Command              string // the arguments joined by spaces, at most 256 bytes; Comm in brackets if none can be read
	HoldsTerminal        bool   // it has the job's terminal open, or without one the job's stdout or stderr
}

// MaxProcs is the maximum length of each list of processes in an Event.
const MaxProcs = 1024

// A Report is the result of one kill operation.
type Report struct {
	Signals   []SignalSent // in the order in which they were sent
	Killed    []KilledProc // every process seen that is dead now
	Survivors []Survivor   // every one that is not
	Omitted   int          // number of further processes seen, beyond MaxProcs
}

// A SignalSent is one signal sent to the whole job.
type SignalSent struct {
	Name  string        // without SIG, as in TERM
	After time.Duration // since the operation began
}

// How a process ended if no signal ended it, or if it is not known.
const (
	HowSelf = "self" // it exited, by itself or in its handler of the signal
	HowGone = "gone" // its own parent took its status, so no other process knows
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

// KillOptions configures how a job is ended.
type KillOptions struct {
	// Grace is the time between TERM and KILL. Zero or less sends KILL at once.
	Grace time.Duration
	// NoForce sends no KILL: the operation is finished when Grace is over or
	// nothing is left, and reports what is still alive.
	NoForce bool
	// Hangup sends HUP along with TERM, which interactive shells need.
	Hangup bool
	// Last means that the keeper need not prepare for another job: it ends with this one, which is half the work if a
	// thousand end together.
	Last bool
}

// A Target determines which processes get a signal.
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
