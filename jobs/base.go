package jobs

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/jobs/internal/spool"
	"shelld.dev/shelld/jobs/internal/store"
	"shelld.dev/shelld/jobs/internal/turn"
	"shelld.dev/shelld/screen"
)

// These interfaces are the job's view of the operating system. Their implementations are keeper.Keeper and the types of
// package proc. Tests have scripted ones.
type (
	process interface {
		PID() int
		Events() <-chan keeper.Event
		Notify(func())
		Kill(keeper.KillOptions) error
		Signal(keeper.Target, syscall.Signal) error
	}
	source interface {
		Read([]byte) (int, error)
		Wake(at time.Time) // if no output comes before at, Read returns proc.ErrPaused once; the zero time cancels this
		Stored()           // the output read last is stored
		Idle() bool        // all output that came is stored, and no more is ready to be read
		Drain()
		Close() error
	}
	input interface {
		Write([]byte) (int, error)
		WriteNow([]byte) (int, error) // writes what the kernel takes at once; not during a Write; not counted as one
		Interrupt(write uint64)       // interrupts the write with this number, counted from 1
		GiveUp(write uint64)          // the same once the kernel takes no more
		Close() error
	}
	terminal interface {
		Attrs() (proc.Attrs, error)
		Resize(cols, rows int) error
		ForegroundGroup() (int, error)                  // does not block
		Foreground(leader int) (proc.Foreground, error) // may be slow
		Overtake(key byte) (sent bool, err error)
		Close() error
	}
	// A looker probes whether a job waits for input. quiet is the time since the last output or input. Only one
	// goroutine calls it at a time.
	looker interface {
		Look(quiet time.Duration) inputwait.Verdict
	}
)

// A base is what the parts of a job share: what the job is, its connections, what is known of it, and its turns. Each
// part holds its base. A part that needs another part says what it needs of it, with an interface of its own.
type base struct {
	// Immutable:
	id    ID
	spec  Spec
	mgr   *services
	sink  events
	log   *slog.Logger
	epoch time.Time
	turns turns
	self  *Job // whose base this is: for an Outcome

	// Set by the start, in the first turn, and constant from then on, but term, which is nil after the end. Other goroutines
	// read them once public is set, or in work that was started later:
	proc       process
	term       terminal             // nil: pipe mode
	heard      *display             // what the programs tell the terminal; nil: pipe mode
	looker     looker               // nil: no way to detect that it waits for input
	shellFiles interface{ Close() } // of a shell with integration; nil: none
	folder     *store.Folder        // nil: output is kept in memory only
	place      string               // the path of the job's directory when it started

	// With locks of their own:
	redaction redaction                     // the secret values of the job, which must not be visible
	process   atomic.Pointer[processHandle] // for ending the job without its loop
	public    atomic.Pointer[Info]          // for callers that must not wait for a turn; nil before the start
	holds     holds                         // the readers of the files
	wants     wants                         // the reports that the client has asked for
	queued    atomic.Int64                  // bytes of input that are not yet written

	vacant chan struct{} // closed by run when nothing of the job is left, or it failed to start
	ended  chan struct{} // closed by run when its files are complete, too
	done   chan struct{} // closed when run has returned

	mail   *turn.Mailbox[message] // any goroutine -> the holder of the turn
	lock   turn.Lock              // held for a turn
	output outputs
	parts  []part

	// Guarded by turns:
	st         state
	info       Info             // the constant fields, and the others as of the last turn
	untold     Changed          // to be reported in this turn
	stdin      input            // nil: the job takes no input
	closing    bool             // the server is shutting down
	waitingFor *WaitingForInput // its present wait for input; nil: none known
	shellTells bool             // the shell itself reports its current directory; then the reports of programs do not count
	unstarted  *Error           // the error of a failed start; also read after the mail is closed
}

// turns runs the turns of a job.
type turns interface {
	attend()
	here(happened func()) bool
	isLeaving() bool // the job is forgotten: it takes no more requests
}

// A part is one concern of a job. It owns its state, which is accessed only in turns. Each turn visits the parts in the
// order of newParts.
type part interface {
	review(now time.Time)        // act on everything that may have become true
	due(now time.Time) time.Time // when time alone can make something true; zero: never
	cancel(tok *token) bool      // withdraw the request, if it is one of this part
	pending() int                // the number of requests that are kept and not yet answered
	fail(err *Error)             // the job is gone: answer all requests
	shutdown(why func() *Error)  // the server ends: answer the requests that do not wait for the job's end
	exited(why func() *Error)    // answer the requests that only the leader could have satisfied
	inform(info *Info)           // add the part's share of the job's info; also called outside a turn
}

// noPart is embedded in parts. It has the methods that most of them do not need.
type noPart struct{}

func (noPart) review(time.Time)        {}
func (noPart) due(time.Time) time.Time { return time.Time{} }
func (noPart) cancel(*token) bool      { return false }
func (noPart) pending() int            { return 0 }
func (noPart) fail(*Error)             {}
func (noPart) shutdown(func() *Error)  {}
func (noPart) exited(func() *Error)    {}
func (noPart) inform(*Info)            {}

// wants are the reports that a client has asked for. Any goroutine may set it.
type wants struct {
	waiting atomic.Bool  // whether the job waits for input
	screen  atomic.Int64 // changes of the screen: the interval in nanoseconds; 0: none
}

type processHandle struct{ process }

type nullSink struct{}

func (nullSink) Started(*Job, Info) {}
func (nullSink) Output()            {}
func (nullSink) Flush()             {}
func (nullSink) Flood()             {}
func (nullSink) Event(Event)        {}

// ID returns the job's handle.
func (j *base) ID() ID { return j.id }

// Name returns the name that the client gave the job; "" if none.
func (j *base) Name() string { return j.spec.Name }

// Group returns the label that the job was started with.
func (j *base) Group() string { return j.spec.Group }

// post sends the loop a message. If the loop is gone, post answers the message itself.
func (j *base) post(m message) {
	if !j.mail.Put(m) {
		j.refuse(m, j.gone())
	}
}

// ask does the same as post for callers that may take the turn for the message (see attend).
func (j *base) ask(m message) {
	if !j.mail.Add(m) {
		j.refuse(m, j.gone())
		return
	}
	j.turns.attend()
}

// background runs f in a goroutine of its own, which must end soon after the job: Close waits for it.
func (j *base) background(f func()) { j.output.loops.Go(f) }

func (j *base) gone() *Error {
	e := errorf(CodeJobNotFound, "job %d is gone: it was removed, or forgotten because it closed long ago", j.id)
	if j.unstarted != nil {
		e = errorf(CodeJobNotFound, "job %d was not started (%s)", j.id, j.unstarted.Message)
	}
	e.Handle = j.id
	return e
}

// refuse answers a message that no loop will take, if it needs an answer.
func (j *base) refuse(m message, err *Error) {
	switch m := m.(type) {
	case request:
		m.fail(err)
	case foregroundMsg:
		if m.asked != nil {
			m.asked.reply.ok(m.info)
		}
	}
}

// Published returns what is known of the job without asking its loop, as of its last change of status. It is nil before
// the job has started.
func (j *base) Published() *Info {
	p := j.public.Load()
	if p == nil {
		return nil
	}
	info := j.clean(*p) // more values may have become secret since
	info.Streams = j.output.streamInfo((*spool.Spool).Kept)
	j.inform(&info)
	return &info
}

func (j *base) publish() {
	info := j.snapshot()
	j.public.Store(&info)
}

// ReadRaw copies stored output of a stream into p, from the first kept offset at or after off; see [spool.Spool.Read].
// Any goroutine may call it once the job has started.
func (j *base) ReadRaw(name Stream, p []byte, off int64) (n int, at int64) {
	if st := j.output.stream(name); st != nil {
		return st.spool.Read(p, off)
	}
	return 0, off
}

// ReadNow does the same as ReadRaw without blocking. ok is false if it would have to block.
func (j *base) ReadNow(name Stream, p []byte, off int64) (n int, at int64, ok bool) {
	if st := j.output.stream(name); st != nil {
		return st.spool.ReadNow(p, off)
	}
	return 0, off, true
}

// End returns the offset after the last byte that a stream has stored.
func (j *base) End(name Stream) int64 {
	if st := j.output.stream(name); st != nil {
		return st.spool.End()
	}
	return 0
}

// barrier returns the present end of each stream, as a barrier for an event.
func (j *base) barrier() map[Stream]int64 {
	after := map[Stream]int64{}
	for _, st := range j.output.streams {
		after[st.name] = st.spool.End()
	}
	return after
}

// Hold keeps the job's files until release is called, even if the job is removed meanwhile. It is for an answer that
// quotes output. release may be called more than once.
func (j *base) Hold() (release func()) { return j.holds.hold(&j.holds.answers) }

// HoldUnsent keeps the job's files from being deleted when the server lets go of the job. It does not protect them
// from a removal. It is for output that is being sent.
func (j *base) HoldUnsent() (release func()) { return j.holds.hold(&j.holds.lanes) }

func (j *base) canceled() *Error {
	e := errorf(CodeCanceled, "the request was cancelled; job %d keeps running", j.id)
	e.Handle = j.id
	return e
}

// over returns the error for a request that needs a live job.
func (j *base) over() *Error {
	return errorf(CodeJobExited, "job %d %s; start it again", j.id, exitText(j.st.exit)).about(j)
}

// about adds the job to an error, and the leader's exit if it is known.
func (e *Error) about(j *base) *Error {
	e.Handle, e.Exit = j.id, j.st.exit
	return e
}

func (j *base) notInteractive(format string, args ...any) *Error {
	e := errorf(CodeNotInteractive, format, args...)
	e.Handle = j.id
	return e
}

// state returns the changing part of the job's info.
func (j *base) state() State {
	s := State{Handle: j.id, Name: j.spec.Name, Status: j.st.status}
	if j.told() {
		s.Exit = j.st.exit
	}
	s.Streams = j.output.streamInfo((*spool.Spool).Kept)
	if j.canWait() {
		s.Waiting = j.redaction.waiting(j.waitingFor)
	}
	return s
}

// told reports whether the leader's exit may be reported: its output has been read to the end.
func (j *base) told() bool {
	return j.st.status == StatusExited || j.st.status == StatusClosed
}

func (j *base) snapshot() Info {
	info := j.info
	info.State = j.state()
	j.inform(&info)
	if told := j.heard.last(); j.heard != nil {
		info.Title = told.Title
		if !j.shellTells {
			info.CurrentDirectory = told.Directory
		}
	}
	if j.told() {
		info.Foreground = nil
	} else {
		info.EndedAt, info.Background = time.Time{}, nil
	}
	return j.clean(info)
}

// inform lets each part add its share of the job's info.
func (j *base) inform(info *Info) {
	for _, p := range j.parts {
		p.inform(info)
	}
}

func (j *base) closeDescriptors() {
	for _, st := range j.output.streams {
		_ = st.src.Close() // Best effort: nothing more is read or owed.
		st.pass()          // It wakes up a readLoop that waits for room.
	}
	if j.stdin != nil {
		_ = j.stdin.Close() // Best effort, as above.
	}
	if j.term != nil {
		_ = j.term.Close() // Best effort, as above.
	}
	if j.shellFiles != nil {
		j.shellFiles.Close()
	}
}

// isVacant reports whether nothing of the job is left and all its output is stored.
func (j *base) isVacant() bool { return j.st.step >= stepFiles }

// modes returns the terminal modes that the job's programs have requested so far.
func (j *base) modes() screen.Modes { return j.heard.last().Modes }

// canWait reports whether the job can wait for input at all, as far as the server knows.
func (j *base) canWait() bool {
	return j.looker != nil && j.stdin != nil && j.st.exit == nil
}

// VariablesAreFixed returns the error for a change of the environment that the job was started with: on no system can
// a process change the environment of another process.
func (j *base) VariablesAreFixed() *Error {
	const why = "the environment of job %d cannot be changed: a program's environment is fixed at its start"
	e := errorf(CodeUnsupported, why+"; start another job with env, or, if it is a shell, type the assignment into it (export NAME=value)", j.id)
	if now := j.Published(); now != nil && !now.Live() {
		e = errorf(CodeUnsupported, why+", and the job has ended; start another one with env", j.id)
	}
	e.Name, e.Pointer = "handle", "/handle"
	return e
}

// grace is the time between TERM and KILL if the server ends the job.
func (j *base) grace() time.Duration { return j.mgr.settings.limits.ShutdownGrace }

// holds counts the readers of a job's files. The deletion of the files waits for them.
type holds struct {
	mu      sync.Mutex
	answers int    // answers that are being made
	lanes   int    // lanes with unsent output
	unsent  bool   // the deletion also waits for lanes
	then    func() // nil: no deletion waits
}

func (h *holds) hold(n *int) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*n++
	return sync.OnceFunc(func() { h.change(func() { *n-- }) })
}

// afterwards calls then once the files have no holders.
func (h *holds) afterwards(unsent bool, then func()) {
	h.change(func() { h.unsent, h.then = unsent, then })
}

func (h *holds) change(f func()) {
	h.mu.Lock()
	f()
	var then func()
	if h.answers == 0 && (h.lanes == 0 || !h.unsent) {
		then, h.then = h.then, nil
	}
	h.mu.Unlock()
	if then != nil {
		then()
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earliest returns the earlier of two times. A zero time never comes.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func ptr[T any](v T) *T { return &v }
