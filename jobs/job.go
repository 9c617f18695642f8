package jobs

import (
	"strings"
	"time"

	"shelld.dev/shelld/jobs/internal/plain"
)

// A Job is one started command and every process that it starts. Its actor takes turns. The goroutine that holds the
// turn owns the parts, st and info. The documentation of the package lists the goroutines of a job.
type Job struct {
	base

	receiver Sink    // of all events; the sink of the base is the same
	listed   listing // guarded by the registry's mu
}

// A SubscribeFunc changes which events and output a job's Sink, or a consumer behind it, receives from now on. It is
// called in a turn of the job, between the events before the change and those after it. Like the Sink it must not
// block, and must not call back into the job. info is the job's info at that moment. from holds the offset at which the
// output of each stream begins, and is nil if the request left that open. It returns whether the consumer answers the
// queries that the job's programs send to their terminal in the output after info. Its error refuses the request.
type SubscribeFunc func(info Info, from map[Stream]int64) (answers bool, err error)

// Sink returns the receiver of the job's events, as given in its Spec.
func (j *Job) Sink() Sink { return j.receiver }

// A listing is the state that the registry keeps with a job.
type listing struct {
	namesake  *Job  // the job that had the name before
	textBytes int64 // length of its stdin text
}

// The requests to a job. Each request is a message to the job. deliver.go has the part that handles it.

// Info asks for the current information about the job, in its turn among the other requests.
func (j *Job) Info() Pending[Info] {
	r := newReply[Info]()
	j.ask(infoMsg{r})
	return pend(&j.base, r)
}

// Write queues input behind the input that is queued already. It returns an *Error at once if a pattern of its wait
// does not compile.
func (j *Job) Write(in Input) (Pending[WriteResult], *Error) {
	spec, room, err := j.mgr.admit(in.Wait)
	if err != nil {
		return Pending[WriteResult]{}, err
	}
	in.Wait = spec
	r := newReply[WriteResult]()
	r.room = room
	j.ask(writeMsg{in, r, time.Now()})
	return pend(&j.base, r), nil
}

// Read asks for output. It also works after the job's end.
func (j *Job) Read(o ReadOptions) Pending[ReadResult] {
	r := newReply[ReadResult]()
	j.ask(readMsg{o, r})
	return pend(&j.base, r)
}

// Screen asks for the screen of the job's terminal, preceded by at most history lines that have scrolled off its top.
// All output that is stored when the request takes its turn is drawn. The drawing begins after room has returned: the
// function runs in a goroutine that may block, and reports whether the caller has room for a screen and still wants
// it. room may be nil. Screen also works after the job's end.
func (j *Job) Screen(history int, room func() bool) Pending[Screen] {
	r := newReply[Screen]()
	j.ask(screenMsg{history, room, r})
	return pend(&j.base, r)
}

// Wait arms a wait. It returns an *Error at once if a pattern does not compile.
func (j *Job) Wait(spec *WaitSpec) (Pending[Outcome], *Error) {
	spec, room, err := j.mgr.admit(spec)
	if err != nil {
		return Pending[Outcome]{}, err
	}
	r := newReply[Outcome]()
	r.room = room
	j.ask(waitMsg{spec, r})
	return pend(&j.base, r), nil
}

// Run waits for the job's end. The answer comes after the leader's exit, as soon as the leader's output has been read,
// and the output of other processes for a moment longer.
func (j *Job) Run(o RunOptions) Pending[RunResult] {
	r := newReply[RunResult]()
	j.ask(runMsg{o, r})
	return pend(&j.base, r)
}

// Watch adds a pattern. It is matched from the start of the output, or from the current end. Watch returns an *Error
// at once if the pattern does not compile.
func (j *Job) Watch(spec WatchSpec, fromStart bool) (Pending[int], *Error) {
	room, err := j.mgr.roomFor(spec.cost())
	if err != nil {
		return Pending[int]{}, err
	}
	if err := spec.compile(); err != nil {
		room.giveBack()
		return Pending[int]{}, err
	}
	r := newReply[int]()
	r.room = room
	j.ask(watchMsg{spec, fromStart, r})
	return pend(&j.base, r), nil
}

// Unwatch ends a watch. Output that is stored before is still matched.
func (j *Job) Unwatch(id int) Pending[struct{}] {
	r := newReply[struct{}]()
	j.ask(unwatchMsg{id, r})
	return pend(&j.base, r)
}

// Subscribe calls set in its turn among the requests that name the job. It passes the resolved origin: with
// FromDefault, the origin stays open. An offset beyond the end is not changed.
func (j *Job) Subscribe(from Origin, set SubscribeFunc) Pending[State] {
	r := newReply[State]()
	j.ask(subscribeMsg{from, set, r})
	return pend(&j.base, r)
}

// TellWaiting sets whether the sink is notified when the job begins and ends to wait for input. It takes effect with
// the next turn.
func (j *Job) TellWaiting(is bool) { j.wants.waiting.Store(is) }

// TellScreen has the sink notified of screen changes, at most once per interval; 0 ends this. Any goroutine may call
// it: it takes effect with the next turn.
func (j *Job) TellScreen(every time.Duration) { j.wants.screen.Store(int64(every)) }

// AnswerSecret types the answer of the person at the client to a wait, followed by a line end. If that wait is over,
// it types nothing. It takes ownership of value and wipes it.
func (j *Job) AnswerSecret(waitID string, value []byte) {
	in := Input{Send: []SendItem{{Bytes: value}}, AppendNewline: true, Secret: true, IfWaiting: waitID, person: true}
	j.ask(writeMsg{in, newReply[WriteResult](), time.Now()})
}

// Exec runs a command in the job's shell. It returns an *Error at once if a pattern of its wait does not compile.
func (j *Job) Exec(o ExecOptions) (Pending[ExecResult], *Error) {
	switch {
	case strings.ContainsRune(o.Command, 0):
		return Pending[ExecResult]{}, Invalid("/command", "must not contain a NUL character")
	case strings.Trim(o.Command, " \t\n") == "":
		return Pending[ExecResult]{}, Invalid("/command", "must not be blank: there is nothing to run")
	}
	spec, room, err := j.mgr.admit(o.Wait)
	if err != nil {
		return Pending[ExecResult]{}, err
	}
	o.Wait = spec
	r := newReply[ExecResult]()
	r.room = room
	j.ask(execMsg{o, r, time.Now(), false})
	return pend(&j.base, r), nil
}

// History returns the commands that the shell has run, oldest first. It has the kept ones, at most mostHistory, and
// the one that runs.
func (j *Job) History() Pending[[]ShellCommand] {
	r := newReply[[]ShellCommand]()
	j.ask(historyMsg{r})
	return pend(&j.base, r)
}

// Variables asks for the environment of the job, in its turn. For a shell with integration, this is the current
// environment; for any other job, the one that it was started with.
func (j *Job) Variables() Pending[[]Variable] {
	r := newReply[[]Variable]()
	j.ask(variablesMsg{r})
	return pend(&j.base, r)
}

// ChangeVariable sets a variable of a shell with integration, or unsets it if value is nil. The change applies to the
// shell and to the commands that it runs from now on. If the client wants to be asked about starts, it is asked about
// this change, too.
func (j *Job) ChangeVariable(name string, value *string, secret bool, asker Asker, owner string) (Pending[struct{}], *Error) {
	if err := checkVariable(name, value); err != nil {
		return Pending[struct{}]{}, err
	}
	r := newReply[struct{}]()
	j.ask(changeVariableMsg{name, value, secret, asker, owner, r, false})
	return pend(&j.base, r), nil
}

// Signal sends a signal. Its name may be given with or without SIG. Signal returns an *Error at once if there is no
// such signal.
func (j *Job) Signal(name string, target SignalTarget, asker Asker) (Pending[struct{}], *Error) {
	sig, err := signalNamed(name)
	if err != nil {
		return Pending[struct{}]{}, err
	}
	r := newReply[struct{}]()
	j.ask(signalMsg{sig: sig, target: keeperTargets[target], asker: asker, reply: r})
	return pend(&j.base, r), nil
}

// Resize changes the size of the job's terminal, for an owner that may type.
func (j *Job) Resize(cols, rows int, owner string) Pending[struct{}] {
	r := newReply[struct{}]()
	j.ask(resizeMsg{cols, rows, owner, r})
	return pend(&j.base, r)
}

// Kill ends all processes that the job started. The answer comes when none is left.
func (j *Job) Kill(o KillOptions) Pending[KillResult] {
	r := newReply[KillResult]()
	j.ask(killMsg{opts: o, reply: r})
	return pend(&j.base, r)
}

// EndAt has the job ended at the given time as by a limit, with [ReasonDetached], unless EndAt is called again before.
// The zero time means never. It takes effect in the job's turn, and has no effect on a closed job. It does not take the
// turn itself, so the caller may hold locks.
func (j *Job) EndAt(at time.Time) { j.post(endAtMsg{at}) }

// SetOwner gives the job to another owner. Like EndAt, it takes no turn.
func (j *Job) SetOwner(name string) { j.post(setOwnerMsg{name}) }

// Lease returns the job's lease.
func (j *Job) Lease() Lease {
	if info := j.public.Load(); info != nil {
		return info.Lease
	}
	return j.spec.Lease
}

// Vacant returns a channel that is closed when nothing of the job is left.
func (j *Job) Vacant() <-chan struct{} { return j.vacant }

// SetLease changes how long the job may live while its owner is away. nil leaves a value as it is. The time that EndAt
// has set does not change.
func (j *Job) SetLease(keep *bool, grace *time.Duration) Pending[Info] {
	r := newReply[Info]()
	j.ask(setLeaseMsg{keep, grace, r})
	return pend(&j.base, r)
}

// TakeInput makes a client the holder of the job's input.
func (j *Job) TakeInput(o TakeOptions) Pending[Info] {
	r := newReply[Info]()
	j.ask(takeInputMsg{o, r})
	return pend(&j.base, r)
}

// GiveInput makes another client the holder of the job's input, or none if to is "". Only the holder may do that, if
// there is one.
func (j *Job) GiveInput(owner, to string) Pending[Info] {
	r := newReply[Info]()
	j.ask(giveInputMsg{owner, to, r})
	return pend(&j.base, r)
}

// LeaveInput leaves the job's input without a holder if that is the owner, which has left and cannot come back. Like
// EndAt, it does not take the turn itself.
func (j *Job) LeaveInput(owner string) { j.post(leaveInputMsg{owner}) }

// SearchTarget asks for a target with which the job can be searched, in its turn among the requests. The job's files
// are kept until the search is over.
func (j *Job) SearchTarget(stream Stream) Pending[SearchTarget] {
	r := newReply[SearchTarget]()
	j.ask(targetMsg{stream, r})
	return pend(&j.base, r)
}

// Remove removes a closed job, and deletes its files unless keepFiles is set.
func (j *Job) Remove(keepFiles bool) Pending[struct{}] {
	r := newReply[struct{}]()
	j.ask(removeMsg{keepFiles, r})
	return pend(&j.base, r)
}

// HoldTo makes a stream wait for the client that it is sent to, starting with the next read of the stream. Output may
// then be at most window bytes ahead of Sent, and never more than the amount that is certainly kept in memory. So no
// output is lost if there are no files. Output that a drain adds to that is kept as well. A window of 0 ends the
// waiting.
func (j *Job) HoldTo(name Stream, window int64) {
	st := j.output.stream(name)
	if st == nil {
		return
	}
	st.client.window.Store(min(window, st.spool.Newest()))
	j.output.pin(st)
	st.pokeReader()
}

// Sent reports the offset up to which a stream was sent to the client that it waits for.
func (j *Job) Sent(name Stream, off int64) {
	if st := j.output.stream(name); st != nil {
		st.client.taken.Store(off)
		j.output.pin(st)
		st.pokeReader()
	}
}

// Truncated describes the part that [Job.Excerpt] left out.
type Truncated = plain.Truncated

// Plain returns output as a person reads it afterwards: without escape sequences and control characters, and with
// redrawn lines in their last state. It is valid UTF-8.
func Plain(b []byte) string { return plain.Text(b) }

// ValidUTF8 returns text with U+FFFD for each byte that is not UTF-8.
func ValidUTF8(text string) string { return plain.ValidUTF8(text) }

// Excerpt returns a range of a stream without the ranges in skip, which must ascend and lie in it. The text is plain or
// as it was written, and at most limit bytes long. Excerpt reads the stream, and so may block.
func (j *Job) Excerpt(name Stream, r Range, skip []Range, inPlain bool, limit int) ([]byte, *Truncated) {
	st := j.output.stream(name)
	if st == nil {
		return nil, nil
	}
	return plain.Excerpt(st.spool, r, skip, inPlain, limit)
}

// Shown widens or narrows a range of a stream to whole characters and escape sequences, so that consecutive pieces of
// plain output join without loss. closed says that no output follows.
func (j *Job) Shown(name Stream, r Range, closed bool) Range {
	st := j.output.stream(name)
	if st == nil {
		return r
	}
	return plain.VisibleRange(st.spool, r, closed)
}
