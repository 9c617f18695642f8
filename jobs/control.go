package jobs

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/names"
)

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

// onSignal sends a signal in a goroutine of its own, since the keeper has to answer. The goroutine ends with the
// answer, or when the keeper is gone.
func (j *Job) onSignal(m signalMsg) {
	if j.st.empty {
		m.reply.fail(j.over())
		return
	}
	if !m.allowed && j.asking.confirmFirst(ActionKill, m, m.asker) {
		return
	}
	if m.sig == syscall.SIGINT || m.sig == syscall.SIGQUIT {
		j.shell.watch.strike()
	}
	p, exited := j.proc, j.st.exit
	j.output.loops.Go(func() {
		err := p.Signal(m.target, m.sig)
		switch {
		case err == nil:
			m.reply.ok(struct{}{})
		case errors.Is(err, syscall.EPERM):
			e := errorf(CodeUnsupported, "the processes of job %d run as another user, which this server may not signal; signal them as that user, or as root", j.id)
			e.Name = "signals to another user's processes"
			m.reply.fail(e)
		default: // no such process is alive any more
			m.reply.fail(j.nobody(exited))
		}
	})
}

// nobody returns the error for a signal whose target has ended while other processes of the job live on. It is called
// outside of the loop.
func (j *Job) nobody(exited *Exit) *Error {
	if exited == nil {
		return Invalid("/target", "no process of the target of job %d is alive", j.id)
	}
	e := errorf(CodeJobExited, "no process of the target of job %d is alive; its leader %s", j.id, exitText(exited))
	e.Handle, e.Exit = j.id, exited
	return e
}

// over returns the error for a request that needs a live job.
func (j *Job) over() *Error {
	return errorf(CodeJobExited, "job %d %s; start it again", j.id, exitText(j.st.exit)).about(j)
}

func (p *displayPart) onResize(m resizeMsg) {
	switch {
	case p.j.files.isVacant():
		m.reply.fail(p.j.over())
	case p.j.term == nil:
		m.reply.fail(p.j.input.notInteractive("job %d has no terminal to resize; start it in pty mode", p.j.id))
	default:
		end := p.j.End(PTY) // the program's output for the new size comes after this offset
		if err := p.j.files.recording.resize(m.cols, m.rows, func() error { return p.j.term.Resize(m.cols, m.rows) }); err != nil {
			m.reply.fail(errorf(CodeInternal, "the terminal of job %d cannot be resized: %v", p.j.id, err))
			return
		}
		if m.cols != p.j.info.Cols || m.rows != p.j.info.Rows {
			p.j.info.Cols, p.j.info.Rows = m.cols, m.rows
			p.sizes.Note(end, m.cols, m.rows)
			p.j.publish()
			p.j.changes.untold.Add(Changed{What: ChangeSize, Cols: m.cols, Rows: m.rows})
		}
		m.reply.ok(struct{}{})
	}
}

func (p *waitsPart) onWatch(m watchMsg) {
	if len(p.j.output.streams) == 0 {
		m.reply.fail(Invalid(m.spec.Pointer, noStreams))
		return
	}
	if s := m.spec.Stream; s != "" && p.j.output.stream(s) == nil {
		m.reply.fail(Invalid(m.spec.sibling("stream"), "this job has no stream %q; it has %s", s, p.streamNames()))
		return
	}
	if err := m.spec.checkScreen(p.j.display.heard != nil); err != nil {
		m.reply.fail(err)
		return
	}
	from := p.barrier()
	if m.fromStart {
		from = nil
	}
	m.spec.room, m.reply.room = m.reply.room, nil // it belongs to the watch from now on
	m.reply.ok(p.addWatch(m.spec, from))
}

// addWatch adds a client's pattern and returns its number.
func (p *waitsPart) addWatch(spec WatchSpec, from map[Stream]int64) int {
	p.watchIDs++
	w := &watch{id: p.watchIDs, spec: spec, room: spec.room}
	spec.letGo()
	p.j.info.Watches = append(slices.Clone(p.j.info.Watches), WatchInfo{p.watchIDs, spec})
	p.follow(w, from)
	return p.watchIDs
}

// An unwatchReq waits until the follower has matched all output that is stored.
type unwatchReq struct {
	key    int
	reply  reply[struct{}]
	glance int // not 0: the pattern is on the screen, and the request waits for the glance of this number
}

func (p *waitsPart) onUnwatch(m unwatchMsg) {
	for key, w := range p.watches {
		if w.id == m.id && w.wait == nil {
			tok := new(token)
			if w.spec.Screen {
				p.unwatches[tok] = unwatchReq{key, m.reply, p.j.display.needGlance()}
				return
			}
			p.unwatches[tok] = unwatchReq{key, m.reply, 0}
			p.follower.Load().Sync(tok, []int{key}, false)
			return
		}
	}
	m.reply.fail(Invalid("/watchId", "job %d has no watch %d, or no longer; job/get lists its watches", p.j.id, m.id))
}

func (j *Job) onRemove(m removeMsg) {
	if j.st.status != StatusClosed {
		e := errorf(CodeJobRunning, "job %d is %s; end it with job/kill before it is removed", j.id, j.st.status)
		m.reply.fail(e.about(j))
		return
	}
	j.mgr.registry.remove(j)
	if m.keepFiles {
		j.actor.leaveWith(func() { m.reply.ok(struct{}{}) })
		return
	}
	j.actor.leaveWith(func() { j.files.discard(false, func(err error) { j.answerRemove(m, err) }) })
}

func (j *Job) answerRemove(m removeMsg, err error) {
	if err != nil {
		e := storeError(err, j.files.folder.Path())
		e.Message = "the job was removed, but some of its files could not be deleted (" + e.Error() + "); delete " + j.files.folder.Path() + " yourself"
		m.reply.fail(e)
		return
	}
	m.reply.ok(struct{}{})
}

// about adds the job to an error, and the leader's exit if it is known.
func (e *Error) about(j *Job) *Error {
	e.Handle, e.Exit = j.id, j.st.exit
	return e
}

// A SubscribeFunc changes which events and output a job's Sink, or a consumer behind it, receives from now on. It is
// called in a turn of the job, between the events before the change and those after it. Like the Sink it must not
// block, and must not call back into the job. info is the job's info at that moment. from holds the offset at which the
// output of each stream begins, and is nil if the request left that open. It returns whether the consumer answers the
// queries that the job's programs send to their terminal in the output after info. Its error refuses the request.
type SubscribeFunc func(info Info, from map[Stream]int64) (answers bool, err error)

// Sink returns the receiver of the job's events, as given in its Spec.
func (j *Job) Sink() Sink { return j.sink }

// subscribeMsg changes the subscription to the job.
type subscribeMsg struct {
	from Origin
	set  SubscribeFunc
	reply[State]
}

func (m subscribeMsg) deliver(j *Job) { j.onSubscribe(m) }

func (j *Job) onSubscribe(m subscribeMsg) {
	var from map[Stream]int64
	if m.from.Kind != FromDefault {
		var err *Error
		if from, err = j.waits.origin(&WaitSpec{From: m.from}, FromNow); err != nil {
			m.reply.fail(err)
			return
		}
	}
	info := j.snapshot()
	answers, err := m.set(info, from)
	if err != nil {
		m.reply.fail(err)
		return
	}
	if j.display.heard != nil {
		j.display.leaveQueries(answers, info.Streams[0].NextOffset)
	}
	m.reply.ok(info.State)
}
