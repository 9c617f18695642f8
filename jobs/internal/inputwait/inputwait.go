package inputwait

import "time"

// An Input is the job's input: its terminal, or the pipe that is its stdin.
type Input interface {
	// ID identifies the file that a descriptor of the job must refer to, to be this input.
	ID() (ID, error)
	// Unread reports whether there is input that was written and not yet consumed: the job would get it if it read now.
	Unread() (bool, error)
	// OutputIdle reports whether all output that the job has printed so far was read and stored.
	OutputIdle() bool
}

// A Terminal is an Input with modes.
type Terminal interface {
	Input
	Modes() (canonical, echo bool, err error)
	ForegroundGroup() (int, error)
}

// A timedTerminal returns the time after which a read of it ends by itself, if there is one. A Terminal without this
// method has no such time.
type timedTerminal interface {
	ReadTimeout() (time.Duration, bool)
}

// An ID identifies a file. Rdev is 0 for a pipe. It is an alias, so that packages can share it without importing each
// other.
type ID = struct{ Dev, Ino, Rdev uint64 }

// A Target is a job to probe.
type Target struct {
	// Root is the process whose descendants are the job: its keeper, whose first thread has the children. 0: the job is
	// Leader and its descendants.
	Root     int
	Leader   int
	Input    Input
	Terminal Terminal // the same as Input; nil: a pipe
	// Outputs are the pipes that the job prints to, if they are known. They serve to detect processes that are blocked
	// writing to one (Verdict.Blocked). A terminal need not be among them.
	Outputs []ID
}

// A State is the way in which a job waits.
type State string

const (
	Reading   State = "reading"   // it does nothing else
	Listening State = "listening" // it takes input, and also serves other things
)

// A Kind is the kind of input that a job waits for.
type Kind string

const (
	Line     Kind = "line"     // by lines, with echo; or a pipe
	Password Kind = "password" // by lines, without echo
	Raw      Kind = "raw"      // by keys
)

// A Confidence is the source of a verdict, and so how reliable it is.
type Confidence string

const (
	Exact  Confidence = "exact"  // from the system
	Likely Confidence = "likely" // from the system, with one uncertainty
	Guess  Confidence = "guess"  // from silence
	None   Confidence = "none"   // only from Examine: there is no such process
)

// A Verdict is the result of a probe.
type Verdict struct {
	// Waiting is true only if the verdict can be acted on. The fields from State to PID are empty if it is false.
	Waiting    bool
	State      State
	Kind       Kind
	Confidence Confidence
	PID        int
	// Turns is how often the waiting thread had been given a processor by then. If two verdicts about one process have
	// the same number, it has slept in between. 0: unknown.
	Turns int
	// Why is a phrase for people.
	Why string
	// Again is set if the job would count as waiting once quiet has lasted longer: the time after which another probe
	// can decide that. 0: nothing is pending.
	Again time.Duration
	// Reader is the process that is blocked on the input alone, without a timeout, if all input was consumed but the
	// job does not count as waiting yet, because other processes of it run and it was not quiet for long enough. 0:
	// there is none. A caller that recognises this process can conclude that it is ready for input.
	Reader int
	// Blocked means that a process is blocked writing the job's output: it waits for that to be read, not for input.
	Blocked bool
	// Stopped means that a process that would read is stopped.
	Stopped bool
}

// most is the best tier to use, "1" to "4" (only guess). Tests set it to simulate a machine that shows less, with
// -ldflags "-X shelld.dev/shelld/jobs/internal/inputwait.most=2".
var most string

// tier is how much can be seen of a process.
type tier int

const (
	full    tier = 1 + iota // the system call and the memory
	sleep                   // where it sleeps, and its descriptors
	alive                   // that it sleeps, and its context switches
	nothing                 // only quiet is left
)

func bestTier() tier {
	if len(most) == 1 && most[0] > '0'+byte(full) && most[0] <= '0'+byte(nothing) {
		return tier(most[0] - '0')
	}
	return full
}
