package jobs

import (
	"strings"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/names"
	"shelld.dev/shelld/jobs/internal/turn"
	"shelld.dev/shelld/screen"
)

// A message is a request or a notification from another goroutine to a job. A turn takes the messages in their order
// and delivers each to the code that handles it (deliver.go).
type message interface{ message() }

// A request is a message that is answered: it contains a reply. All other messages only notify the loop.
type request interface {
	message
	fail(error)
}

// A cancelable is a request that a client may cancel.
type cancelable interface {
	request
	token() *token
}

// A Result is the answer to a request: a value or an error.
type Result[T any] struct {
	Value T
	Err   error
}

// A Pending is a request that a job's loop will answer, once, on C.
type Pending[T any] struct {
	C   <-chan Result[T]
	job *base
	tok *token
}

// Cancel withdraws the request. The request is still answered: with CodeCanceled and its progress so far, or with its
// result if that was faster.
func (p Pending[T]) Cancel() { p.job.post(cancelMsg{p.tok}) }

type token = turn.Token

// A reply is the loop's end of a Pending. It has room for the one answer, so that sending the answer never blocks.
type reply[T any] struct {
	c    chan Result[T]
	tok  *token
	room *patternRoom // the room of the patterns that it waits for; given back with the answer
}

func newReply[T any]() reply[T] {
	return reply[T]{c: make(chan Result[T], 1), tok: new(token)}
}

func (r reply[T]) ok(v T)         { r.answer(Result[T]{Value: v}) }
func (r reply[T]) fail(err error) { r.answer(Result[T]{Err: err}) }
func (r reply[T]) token() *token  { return r.tok }
func (reply[T]) message()         {}

// answer gives back the room before it sends: a client that has the answer must find room for its next patterns.
func (r reply[T]) answer(a Result[T]) {
	r.room.giveBack()
	r.c <- a
}

func pend[T any](j *base, r reply[T]) Pending[T] { return Pending[T]{r.c, j, r.tok} }

type (
	// writeMsg queues input.
	writeMsg struct {
		in Input
		reply[WriteResult]
		at time.Time // when the request was read
	}
	// waitMsg arms a wait.
	waitMsg struct {
		spec *WaitSpec
		reply[Outcome]
	}
	// runMsg waits for the end of the job, as job/run does.
	runMsg struct {
		opts RunOptions
		reply[RunResult]
	}
	// readMsg requests the position at which a read begins, and waits until there is output.
	readMsg struct {
		opts ReadOptions
		reply[ReadResult]
	}
	// killMsg ends the process tree.
	killMsg struct {
		opts KillOptions
		reply[KillResult]
		allowed bool // by the person at the client, if that has to be asked
	}
	// signalMsg: see kill.go; resizeMsg: view_ask.go; watchMsg and unwatchMsg: following.go; removeMsg: parts.go.
	signalMsg struct {
		sig    syscall.Signal
		target keeper.Target
		asker  Asker
		reply[struct{}]
		allowed bool // as in killMsg
	}
	resizeMsg struct {
		cols, rows int
		owner      string
		reply[struct{}]
	}
	watchMsg struct {
		spec      WatchSpec
		fromStart bool
		reply[int]
	}
	unwatchMsg struct {
		id int
		reply[struct{}]
	}
	removeMsg struct {
		keepFiles bool
		reply[struct{}]
	}
	// endAtMsg sets when the job is ended because its owner is away; setOwnerMsg and setLeaseMsg change its lease.
	endAtMsg    struct{ at time.Time } // zero: never
	setOwnerMsg struct{ name string }
	setLeaseMsg struct {
		keep  *bool          // nil: unchanged
		grace *time.Duration // nil: unchanged
		reply[Info]
	}
	// takeInputMsg, giveInputMsg and leaveInputMsg change which client holds the input: see holder.go.
	takeInputMsg struct {
		opts TakeOptions
		reply[Info]
	}
	giveInputMsg struct {
		owner, to string
		reply[Info]
	}
	leaveInputMsg struct{ owner string }
	// execMsg and historyMsg: see exec.go.
	execMsg struct {
		opts ExecOptions
		reply[ExecResult]
		at      time.Time // when the request was read
		allowed bool      // by the person at the client, if that has to be asked
	}
	historyMsg struct{ reply[[]ShellCommand] }
	// changeVariableMsg: see shell_env.go.
	changeVariableMsg struct {
		name   string
		value  *string // nil: unset
		secret bool
		asker  Asker
		owner  string
		reply[struct{}]
		allowed bool // as in execMsg
	}
	// infoMsg requests a snapshot of the job, in order with other messages.
	infoMsg struct{ reply[Info] }
	// variablesMsg requests the environment that the job was started with.
	variablesMsg struct{ reply[[]Variable] }
	// cancelMsg withdraws the request with this token.
	cancelMsg struct{ tok *token }
	// shutdownMsg ends the job because the server ends.
	shutdownMsg struct{ grace time.Duration }
	// quitMsg ends the loop of a job of which nothing is left, or of any job once the server gives up on it. If discard
	// is set, the job's stored files are deleted.
	quitMsg struct{ discard bool }
	// foregroundMsg is the result of a foreground probe; see changes.go.
	foregroundMsg struct {
		number     uint64   // of the probe
		foreground *Process // nil: no process was found
		failed     bool     // no probe is possible: the terminal is gone
		review     bool     // the loop itself requested the probe
		asked      *infoMsg // not nil: the request that waits for this probe
		info       Info     // the rest of the answer to asked
	}
	// fileFailedMsg and filedMsg come from the goroutines that write the job's files (files.go).
	fileFailedMsg struct{ err error }
	filedMsg      struct{}
)

func (endAtMsg) message()      {}
func (setOwnerMsg) message()   {}
func (leaveInputMsg) message() {}
func (cancelMsg) message()     {}
func (shutdownMsg) message()   {}
func (quitMsg) message()       {}
func (fileFailedMsg) message() {}
func (filedMsg) message()      {}
func (foregroundMsg) message() {}

// subscribeMsg changes the subscription to the job.
type subscribeMsg struct {
	from Origin
	set  SubscribeFunc
	reply[State]
}

// An ExecOptions is a command of one or more lines, for a job that is a shell with shell integration.
type ExecOptions struct {
	Command string // any length, any lines; it must not contain NUL
	// Wait adds conditions to the command's own end. Its Timeout is the only deadline, and it counts from the request.
	// From defaults to the beginning of the command.
	Wait *WaitSpec
	// Interrupt sends the interrupt signal to the foreground at the timeout, and waits for its effect for at most
	// interruptTime. Without it the command continues.
	Interrupt bool
	// Kill kills the foreground processes if interrupts do not end the command (with Interrupt).
	Kill bool
	// FailBusy refuses the request if the shell is busy. Without it the command waits.
	FailBusy bool
	Asker    Asker
	Owner    string // which client asks; it must be able to type (holder.go)
}

// An ExecResult is the result of a command.
type ExecResult struct {
	Outcome    Outcome      // of the wait; the reason is "command" with index -1 for the command's own end
	Command    ShellCommand // as far as it is known
	Output     Range        // of the terminal's stream: the command's output so far; Excerpt has the text
	Interrupt  bool         // it was interrupted because of its timeout, or will be when it begins
	Dropped    bool         // it had not begun at its timeout and will never run
	Killed     bool         // processes of it were killed because interrupts did not end it
	Replaced   bool         // it has ended because another program has replaced the shell
	LineEnd    bool         // the shell has written a line end behind it, since an interrupt has ended it
	Foreground *Process     // in the foreground if the command has not ended or was dropped; nil = not known
	Hint       *Hint        // why the shell could not run it (status 126 or 127); nil = not known
}

// An Input is the input that a client types: the text, then the keys (or Send in their place), then the line end, then
// the end of input.
type Input struct {
	Text          string
	Keys          []string
	Send          []SendItem
	AppendNewline bool   // CR on a terminal, LF on a pipe
	EOF           bool   // closes a pipe; types the end-of-file character on a terminal
	Secret        bool   // kept out of every record, and wiped once it is written
	IfWaiting     string // the ID of the wait for input that this input answers; "" = none
	Wait          *WaitSpec
	Asker         Asker
	Owner         string // which client types (holder.go)

	person bool // entered by the person at the client (secret.go)
}

// A WriteResult holds the number of bytes that the kernel has taken, and the outcome of the wait.
type WriteResult struct {
	BytesWritten int64
	Outcome      *Outcome
}

// KillOptions configure how a job is ended.
type KillOptions struct {
	Grace   time.Duration // between TERM and KILL
	NoForce bool          // TERM only; processes alive after the grace are survivors
	Asker   Asker
}

// A KillResult is the result of a kill.
type KillResult struct {
	Signals       []SignalSent
	Killed        []KilledProcess
	Survivors     []Survivor
	AlreadyClosed bool
	State         State
}

// A SignalSent is a signal that a kill sent to the tree.
type SignalSent struct {
	Signal string
	After  time.Duration
}

// A KilledProcess is a process that a kill saw end.
type KilledProcess struct {
	Process
	How string // self: it exited; gone: only its parent knows; or the signal, with SIG
}

// ReadOptions are the options of a read of a job's output.
type ReadOptions struct {
	Stream   Stream // "" = the only one
	Offset   *int64 // negative: from the end; nil: the read cursor, which the read moves
	MaxBytes int
	Wait     time.Duration // how long to wait if there is no output to read
	Plain    bool          // the output will be shown as [Plain]: return Shown as well
	Room     RoomFunc      // nil: there is room
}

// A RoomFunc is called before the given number of bytes is read for an answer. It runs in a goroutine that may block.
// It returns true when the caller has room for the bytes, or false if the caller no longer wants the answer.
type RoomFunc func(bytes int64) bool

func (f RoomFunc) wait(bytes int64) bool { return f == nil || f(bytes) }

// A ReadResult is a piece of output. Data begins at Offset. Gap is the part before it that was dropped.
type ReadResult struct {
	Stream     Stream
	Data       []byte
	Offset     int64
	NextOffset int64
	HasMore    bool
	Gap        *Range
	State      State
	Shown      []byte // the input for plain text, as [Job.Shown] returns it
}

// RunOptions determine how long to wait for a job, and what happens at the timeout.
type RunOptions struct {
	Timeout    time.Duration // < 0 = none
	Background bool          // at the timeout, and when canceled: let the job run on; false: kill it
	Drain      time.Duration // how long to read output after the exit if other processes hold it open
}

// A RunResult is a job at its end, or at the timeout.
type RunResult struct {
	Info     Info
	TimedOut bool
	Complete bool // Output contains all bytes of the job, and no more will come
	Output   map[Stream]Range
	Hint     *Hint
	Waiting  *WaitingForInput // the job's wait for input at the timeout; nil: none is known
}

// A SendItem is one item to send. At most one of its kinds is set; without any, it is an empty text.
type SendItem struct {
	Text  string             // sent unchanged
	Bytes []byte             // sent unchanged
	Key   string             // terminal only
	Count int                // how often Key is pressed, at least once
	Paste *string            // sent as a terminal pastes; unchanged into a pipe
	Mouse *screen.MouseEvent // terminal only
}

// wipe overwrites the parts of a secret input that can be overwritten.
func (in *Input) wipe() {
	if !in.Secret {
		return
	}
	for _, item := range in.Send {
		clear(item.Bytes)
	}
}

// fail answers a write that was never queued.
func (m writeMsg) fail(err error) {
	m.in.wipe()
	m.reply.fail(err)
}

// A SignalTarget says which processes of a job get a signal.
type SignalTarget string

const (
	SignalForeground SignalTarget = "foreground" // the terminal's foreground group; the leader's in pipe mode
	SignalLeader     SignalTarget = "leader"
	SignalTree       SignalTarget = "tree"
)

var keeperTargets = map[SignalTarget]keeper.Target{
	SignalForeground: keeper.Foreground, SignalLeader: keeper.Leader, SignalTree: keeper.Tree,
}

// Signals returns the names, with SIG, that Signal accepts on this system, sorted.
func Signals() []string { return names.Signals() }

// CheckSignal returns the error that Signal returns for a name, or nil if there is such a signal.
func CheckSignal(name string) *Error {
	_, err := signalNamed(name)
	return err
}

func signalNamed(name string) (syscall.Signal, *Error) {
	full := "SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")
	if sig, ok := names.FindSignal(full); ok {
		return sig, nil
	}
	e := Invalid("/signal", "there is no signal %q on this system%s; data.errors[0].allowed and capabilities.signals list the valid ones", name, names.SignalAdvice(full))
	e.Valid = Signals()
	return 0, e
}

// A SearchTarget is a job whose output is to be searched, up to the ends that its streams had when the target was
// made.
type SearchTarget struct {
	job     *Job
	ends    []int64 // ends of its streams
	release func()  // releases its files; nil: they are held only while they are searched
}

// Release releases a target that will not be searched.
func (t SearchTarget) Release() {
	if t.release != nil {
		t.release()
	}
}

// targetMsg requests a SearchTarget of a job.
type targetMsg struct {
	stream Stream
	reply[SearchTarget]
}

// screenMsg requests the screen.
type screenMsg struct {
	history int
	room    func() bool // nil: there is room
	reply[Screen]
}
