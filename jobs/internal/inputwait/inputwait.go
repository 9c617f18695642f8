package inputwait

import "time"

// An Input is what a job reads: its terminal, or the pipe that is its stdin.
type Input interface {
	// ID is what a descriptor of the job's must be to be this input.
	ID() (ID, error)
	// Unread says whether something was written and not yet consumed, so that the job
	// would get it if it read now.
	Unread() (bool, error)
	// OutputIdle says whether everything that the job has printed was read and stored.
	OutputIdle() bool
}

// A Terminal is an Input with modes.
type Terminal interface {
	Input
	Modes() (canonical, echo bool, err error)
	ForegroundGroup() (int, error)
}

// A timedTerminal tells in what time a read of it ends by itself, where one does. A
// Terminal that does not implement it has no such time.
type timedTerminal interface {
	ReadTimeout() (time.Duration, bool)
}

// An ID tells a file from all others. Rdev is 0 for a pipe. It is an alias, so that
// packages that do not know each other agree on it.
type ID = struct{ Dev, Ino, Rdev uint64 }

// A Target is a job to look at.
type Target struct {
	// Root is the process whose descendants are the job: its keeper, whose first thread
	// has the children. 0: the job is Leader and its descendants.
	Root     int
	Leader   int
	Input    Input
	Terminal Terminal // the same as Input; nil: a pipe
	// Outputs are the pipes that the job prints to, if they are known: who is blocked
	// writing to one is told by Verdict.Blocked. A terminal need not be among them.
	Outputs []ID
}

// A State is how a job waits.
type State string

const (
	Reading   State = "reading"   // it does nothing else
	Listening State = "listening" // it takes input, and serves other things as well
)

// A Kind is what input is waited for.
type Kind string

const (
	Line     Kind = "line"     // by lines, and shown; a pipe
	Password Kind = "password" // by lines, and not shown
	Raw      Kind = "raw"      // by keys
)

// A Confidence is where a verdict comes from.
type Confidence string

const (
	Exact  Confidence = "exact"  // the system tells it
	Likely Confidence = "likely" // the system tells it, short of one thing
	Guess  Confidence = "guess"  // from silence
	None   Confidence = "none"   // only of Examine: nothing can be said
)

// A Verdict is what a look has found.
type Verdict struct {
	// Waiting is true only of a verdict that can be acted on. The fields from State to
	// PID are empty where it is false.
	Waiting    bool
	State      State
	Kind       Kind
	Confidence Confidence
	PID        int
	// Turns is how often the thread that waits had been given a processor by then: of two
	// verdicts about one process with the same number, it has slept in between. 0: that is
	// not known.
	Turns int
	// Why is one phrase for people.
	Why string
	// Again says, where the job would be waiting if quiet lasted, in what time another
	// look decides that. 0: nothing is pending.
	Again time.Duration
	// Reader is the process that is blocked on the input alone, without a timeout, where all that was
	// written was consumed and it is not told as waiting, since others of the job run and it was not quiet
	// for long enough. 0: there is none. Who knows this process can tell that it is its turn.
	Reader int
	// Blocked says that a process is blocked writing what the job prints: it waits for
	// output to be read, not for input.
	Blocked bool
	// Stopped says that who would read is stopped.
	Stopped bool
}

// most is the best tier that is used, "1" to "4", so that tests can show a machine on
// which less can be seen: -ldflags "-X shelld/jobs/internal/inputwait.most=2". 4 is to
// guess.
var most string

// tier is how much is seen of a process.
type tier int

const (
	full    tier = 1 + iota // the system call and the memory
	sleep                   // where it sleeps, and its descriptors
	alive                   // that it sleeps, and its switches
	nothing                 // only quiet is left
)

func bestTier() tier {
	if len(most) == 1 && most[0] > '0'+byte(full) && most[0] <= '0'+byte(nothing) {
		return tier(most[0] - '0')
	}
	return full
}
