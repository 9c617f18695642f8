package jobs

import (
	"strings"
	"time"
)

// What may be asked of a job. Each request is a message to it; the file that has the message has what
// becomes of it.

// Info asks for what is known of the job, in its turn among the other requests.
func (j *Job) Info() Pending[Info] {
	r := newReply[Info]()
	j.ask(infoMsg{r})
	return pend(j, r)
}

// Write queues input behind what is queued already. *Error at once if a pattern of
// its wait does not compile.
func (j *Job) Write(in Input) (Pending[WriteResult], *Error) {
	spec, room, err := j.mgr.admit(in.Wait)
	if err != nil {
		return Pending[WriteResult]{}, err
	}
	in.Wait = spec
	r := newReply[WriteResult]()
	r.room = room
	j.ask(writeMsg{in, r, time.Now()})
	return pend(j, r), nil
}

// Read asks for output. It works as well after the job's end.
func (j *Job) Read(o ReadOptions) Pending[ReadResult] {
	r := newReply[ReadResult]()
	j.ask(readMsg{o, r})
	return pend(j, r)
}

// Screen asks what the job's terminal shows, with at most so many lines of what has left its
// screen at the top. All output that is stored when the request takes its turn is drawn, once room (which may be nil)
// has returned, in a goroutine that may block, that the caller has room for a screen and still wants it. It works as
// well after the job's end.
func (j *Job) Screen(history int, room func() bool) Pending[Screen] {
	r := newReply[Screen]()
	j.ask(screenMsg{history, room, r})
	return pend(j, r)
}

// Wait arms a wait; *Error at once if a pattern does not compile.
func (j *Job) Wait(spec *WaitSpec) (Pending[Outcome], *Error) {
	spec, room, err := j.mgr.admit(spec)
	if err != nil {
		return Pending[Outcome]{}, err
	}
	r := newReply[Outcome]()
	r.room = room
	j.ask(waitMsg{spec, r})
	return pend(j, r), nil
}

// Run awaits the job's end. The answer comes with the leader's exit, once its
// output has been read, and that of others for a moment longer.
func (j *Job) Run(o RunOptions) Pending[RunResult] {
	r := newReply[RunResult]()
	j.ask(runMsg{o, r})
	return pend(j, r)
}

// Watch adds a pattern, which is matched from the output's start or from now on.
// *Error at once if it does not compile.
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
	return pend(j, r), nil
}

// Unwatch ends a watch. What is stored by then is still matched.
func (j *Job) Unwatch(id int) Pending[struct{}] {
	r := newReply[struct{}]()
	j.ask(unwatchMsg{id, r})
	return pend(j, r)
}

// Subscribe has set called in its turn among the requests that name the job, with the
// origin resolved: FromDefault leaves it open. An offset beyond the end stays as it is.
func (j *Job) Subscribe(from Origin, set SubscribeFunc) Pending[struct{}] {
	r := newReply[struct{}]()
	j.ask(subscribeMsg{from, set, r})
	return pend(j, r)
}

// TellWaiting has the sink be told when the job waits for input, or ends that. It takes
// effect with the next turn.
func (j *Job) TellWaiting(is bool) { j.waiting.watch.tell.Store(is) }

// TellScreen has the sink be told when the screen has changed, at most so often; 0 ends it.
// Like a Sink's caller it may be anywhere: it takes effect with the next turn.
func (j *Job) TellScreen(every time.Duration) { j.display.glance.every.Store(int64(every)) }

// AnswerSecret types what the person at the client has answered for a wait, and a line end.
// Nothing is typed where that is over. It takes value over, and wipes it.
func (j *Job) AnswerSecret(waitID string, value []byte) {
	in := Input{Send: []SendItem{{Bytes: value}}, AppendNewline: true, Secret: true, IfWaiting: waitID, person: true}
	j.ask(writeMsg{in, newReply[WriteResult](), time.Now()})
}

// Exec has a shell run a command. *Error at once if a pattern of its wait does not compile.
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
	return pend(j, r), nil
}

// History returns what the shell has run, oldest first, as far as it is kept: at most
// mostHistory commands, and the one that runs.
func (j *Job) History() Pending[[]ShellCommand] {
	r := newReply[[]ShellCommand]()
	j.ask(historyMsg{r})
	return pend(j, r)
}

// Variables asks for the environment of the job, in its turn: of a shell with integration as
// it is now, of any other job as it was started with.
func (j *Job) Variables() Pending[[]Variable] {
	r := newReply[[]Variable]()
	j.ask(variablesMsg{r})
	return pend(j, r)
}

// ChangeVariable sets a variable of a shell with integration, or with nil unsets it: it and
// the commands that it runs from now on have it so. Where starts are asked about, so is this.
func (j *Job) ChangeVariable(name string, value *string, secret bool, asker Asker) (Pending[struct{}], *Error) {
	if err := checkVariable(name, value); err != nil {
		return Pending[struct{}]{}, err
	}
	r := newReply[struct{}]()
	j.ask(changeVariableMsg{name, value, secret, asker, r, false})
	return pend(j, r), nil
}

// Signal sends a signal, by its name with or without SIG. *Error at once if there
// is no such signal.
func (j *Job) Signal(name string, target SignalTarget, asker Asker) (Pending[struct{}], *Error) {
	sig, err := signalNamed(name)
	if err != nil {
		return Pending[struct{}]{}, err
	}
	r := newReply[struct{}]()
	j.ask(signalMsg{sig: sig, target: keeperTargets[target], asker: asker, reply: r})
	return pend(j, r), nil
}

// Resize changes the size of the job's terminal.
func (j *Job) Resize(cols, rows int) Pending[struct{}] {
	r := newReply[struct{}]()
	j.ask(resizeMsg{cols, rows, r})
	return pend(j, r)
}

// Kill ends everything that the job started, and is answered when nothing is left.
func (j *Job) Kill(o KillOptions) Pending[KillResult] {
	r := newReply[KillResult]()
	j.ask(killMsg{opts: o, reply: r})
	return pend(j, r)
}

// SearchTarget asks for the job to be searched, in its turn among the requests. Its files are
// kept until the search is over.
func (j *Job) SearchTarget(stream Stream) Pending[SearchTarget] {
	r := newReply[SearchTarget]()
	j.ask(targetMsg{stream, r})
	return pend(j, r)
}

// Remove forgets a closed job, and deletes its files unless they are to be kept.
func (j *Job) Remove(keepFiles bool) Pending[struct{}] {
	r := newReply[struct{}]()
	j.ask(removeMsg{keepFiles, r})
	return pend(j, r)
}

// VariablesAreFixed refuses to change what the job was started with: no system lets one
// process change the environment of another.
func (j *Job) VariablesAreFixed() *Error {
	const why = "the environment of job %d cannot be changed any more: a program has it from its start, and nobody else can reach it"
	e := errorf(CodeUnsupported, why+"; start another job with env, or, if it is a shell, type the assignment into it (export NAME=value)", j.id)
	if now := j.Published(); now != nil && !now.Live() {
		e = errorf(CodeUnsupported, why+", and the job has ended; start another one with env", j.id)
	}
	e.Name, e.Pointer = "handle", "/handle"
	return e
}

// HoldTo has a stream wait for the client that it is sent to, from the next thing on that
// is read of it: output may be window bytes ahead of Sent, and never more than what is
// kept in memory for sure, so that nothing is lost where there are no files. What a drain
// adds to that is kept as well. 0 ends it.
func (j *Job) HoldTo(name Stream, window int64) {
	st := j.output.stream(name)
	if st == nil {
		return
	}
	st.client.window.Store(min(window, st.spool.Newest()))
	j.output.pin(st)
	st.pokeReader()
}

// Sent says how far a stream was sent to the client that it waits for.
func (j *Job) Sent(name Stream, off int64) {
	if st := j.output.stream(name); st != nil {
		st.client.taken.Store(off)
		j.output.pin(st)
		st.pokeReader()
	}
}

// Hold keeps the job's files until release is called, also where the job is removed
// meanwhile: for an answer that quotes output. Release may be called more than once.
func (j *Job) Hold() (release func()) { return j.files.fileHolds.hold(&j.files.fileHolds.answers) }

// HoldUnsent keeps them from being deleted because the job is let go of, and not from
// a removal: for output that is being sent.
func (j *Job) HoldUnsent() (release func()) { return j.files.fileHolds.hold(&j.files.fileHolds.lanes) }
