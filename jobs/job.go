package jobs

import (
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"

	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/match"
	"shelld/jobs/internal/proc"
	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/turn"
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
)

// A Job is one started command and every process that it starts. Its actor takes turns. The goroutine that holds the
// turn owns the parts, st and info. The documentation of the package lists the goroutines of a job.
type Job struct {
	// Immutable:
	id    ID
	spec  Spec
	mgr   *Manager
	sink  Sink
	log   *slog.Logger
	epoch time.Time

	listed listing // guarded by the registry's mu

	// Set once by the start, before the job is visible to other goroutines:
	proc process
	term terminal // nil: pipe mode

	// With locks of their own:
	redaction redaction                     // the secret values of the job, which must not be visible
	process   atomic.Pointer[processHandle] // for ending the job without its loop
	public    atomic.Pointer[Info]          // for callers that must not wait for a turn; nil before the start

	vacant chan struct{} // closed by run when nothing of the job is left, or it failed to start
	ended  chan struct{} // closed by run when its files are complete, too
	done   chan struct{} // closed when run has returned

	actor    actor
	starting starting
	output   outputs

	// The parts, each of which owns its state (parts.go):
	parts   []part
	changes changesPart
	shell   shellPart
	limits  limitsPart
	waiting waitingPart
	ending  endingPart
	display displayPart
	input   inputPart
	waits   waitsPart
	reads   readsPart
	runs    runsPart
	kills   killsPart
	files   filesPart
	asking  askingPart
	idle    idlePart

	// Guarded by turns:
	st   state
	info Info // the constant fields, and the others as of the last turn
}

type processHandle struct{ process }

// A watch is the object of a follower key: a client's pattern, or a condition of a wait.
type watch struct {
	id   int // the client's watchId; 0 for a condition
	spec WatchSpec
	wait *wait
	cond int
	room *patternRoom // of a client's watch

	typed *typedInput // the input of which the echo does not match; nil = none
}

func newJob(m *Manager, id ID, spec Spec) *Job {
	j := &Job{
		id: id, spec: spec, mgr: m, sink: spec.Sink, log: m.log, epoch: time.Now(),
		vacant: make(chan struct{}),
		ended:  make(chan struct{}),
		done:   make(chan struct{}),
	}
	j.newParts()
	j.actor = actor{j: j, mail: turn.NewMailbox[message](), timer: time.NewTimer(time.Hour), lock: turn.NewLock()}
	j.output = outputs{j: j, grew: make(chan struct{}, 1), ends: make(chan streamEnd)}
	j.starting = starting{j: j}
	if j.sink == nil {
		j.sink = nullSink{}
	}
	j.limits.budget.max = spec.Limits.OutputBytes
	j.display.queries.others = spec.SinkAnswers
	j.st.status = StatusStarting
	return j
}

type nullSink struct{}

func (nullSink) Started(*Job, Info) {}
func (nullSink) Output()            {}
func (nullSink) Flush()             {}
func (nullSink) Flood()             {}
func (nullSink) Event(Event)        {}

// ID returns the job's handle.
func (j *Job) ID() ID { return j.id }

// Name returns the name that the client gave the job; "" if none.
func (j *Job) Name() string { return j.spec.Name }

// Group returns the label that the job was started with.
func (j *Job) Group() string { return j.spec.Group }

// post sends the loop a message. If the loop is gone, post answers the message itself.
func (j *Job) post(m message) {
	if !j.actor.mail.Put(m) {
		j.refuse(m, j.gone())
	}
}

// ask does the same as post for callers that may take the turn for the message (see attend).
func (j *Job) ask(m message) {
	if !j.actor.mail.Add(m) {
		j.refuse(m, j.gone())
		return
	}
	j.actor.attend()
}

func (j *Job) gone() *Error {
	e := errorf(CodeJobNotFound, "job %d is gone: it was removed, or forgotten because it closed long ago", j.id)
	if j.starting.unstarted != nil {
		e = errorf(CodeJobNotFound, "job %d was not started (%s)", j.id, j.starting.unstarted.Message)
	}
	e.Handle = j.id
	return e
}

// refuse answers a message that no loop will take, if it needs an answer.
func (j *Job) refuse(m message, err *Error) {
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
func (j *Job) Published() *Info {
	p := j.public.Load()
	if p == nil {
		return nil
	}
	info := j.clean(*p) // more values may have become secret since
	info.Streams = j.output.streamInfo((*spool.Spool).Kept)
	j.inform(&info)
	return &info
}

func (j *Job) publish() {
	info := j.snapshot()
	j.public.Store(&info)
}

// ReadRaw copies stored output of a stream into p, from the first kept offset at or after off; see [spool.Spool.Read].
// Any goroutine may call it once the job has started.
func (j *Job) ReadRaw(name Stream, p []byte, off int64) (n int, at int64) {
	if st := j.output.stream(name); st != nil {
		return st.spool.Read(p, off)
	}
	return 0, off
}

// ReadNow does the same as ReadRaw without blocking. ok is false if it would have to block.
func (j *Job) ReadNow(name Stream, p []byte, off int64) (n int, at int64, ok bool) {
	if st := j.output.stream(name); st != nil {
		return st.spool.ReadNow(p, off)
	}
	return 0, off, true
}

// End returns the offset after the last byte that a stream has stored.
func (j *Job) End(name Stream) int64 {
	if st := j.output.stream(name); st != nil {
		return st.spool.End()
	}
	return 0
}

func (o *outputs) stream(name Stream) *stream {
	for _, st := range o.streams {
		if st.name == name {
			return st
		}
	}
	return nil
}

// compile compiles a watch's pattern. It returns a *Error if the pattern is not valid.
func (w *WatchSpec) compile() *Error {
	p, err := match.Compile(w.Pattern, w.Flags)
	if err == nil {
		w.compiled = p
		return nil
	}
	se, ok := err.(*match.SyntaxError)
	if !ok { // the error is in the flags
		return Invalid(w.sibling("flags"), "%v", err)
	}
	e := errorf(CodeInvalidPattern, "the pattern is not an ECMAScript regular expression: %s", se.Message)
	e.Pattern, e.Pointer, e.Position = w.Pattern, w.Pointer, &se.Pos
	return e
}

func (w *WaitSpec) compile() *Error {
	if w == nil {
		return nil
	}
	for i := range w.Until {
		if c := &w.Until[i]; c.Kind == UntilPattern {
			if err := c.Watch.compile(); err != nil {
				return err
			}
		}
	}
	return nil
}
