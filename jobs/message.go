package jobs

import (
	"syscall"
	"time"

	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/turn"
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
	// signalMsg, resizeMsg, watchMsg, unwatchMsg and removeMsg: see control.go.
	signalMsg struct {
		sig    syscall.Signal
		target keeper.Target
		asker  Asker
		reply[struct{}]
		allowed bool // as in killMsg
	}
	resizeMsg struct {
		cols, rows int
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
	// readDoneMsg is the result of a read (read.go).
	readDoneMsg struct {
		req  *readReq
		data []byte
		at   int64
		err  error // nothing can be read at the moment

		unwanted bool // nothing was read: see RoomFunc

		lead   []byte // for plain text, as from leadIn
		inside int64
	}
)

func (cancelMsg) message()     {}
func (shutdownMsg) message()   {}
func (quitMsg) message()       {}
func (fileFailedMsg) message() {}
func (filedMsg) message()      {}
func (readDoneMsg) message()   {}
func (foregroundMsg) message() {}

// subscribeMsg changes the subscription to the job.
type subscribeMsg struct {
	from Origin
	set  SubscribeFunc
	reply[struct{}]
}
