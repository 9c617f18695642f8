package jobs

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"shelld/jobs/internal/keeper"
)

// A SignalTarget says who of a job gets a signal.
type SignalTarget string

const (
	SignalForeground SignalTarget = "foreground" // the terminal's foreground group; the leader's in pipe mode
	SignalLeader     SignalTarget = "leader"
	SignalTree       SignalTarget = "tree"
)

var keeperTargets = map[SignalTarget]keeper.Target{
	SignalForeground: keeper.Foreground, SignalLeader: keeper.Leader, SignalTree: keeper.Tree,
}

// Signals are the names, with SIG, that Signal takes on this system, sorted.
func Signals() []string {
	names := make([]string, 0, len(signalNames))
	for _, n := range signalNames {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// CheckSignal returns the error that Signal has for a name; nil for a signal.
func CheckSignal(name string) *Error {
	_, err := signalNamed(name)
	return err
}

func signalNamed(name string) (syscall.Signal, *Error) {
	full := "SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")
	for sig, n := range signalNames {
		if n == full {
			return sig, nil
		}
	}
	e := Invalid("/signal", "there is no signal %q on this system%s; data.errors[0].allowed and capabilities.signals list those that there are", name, signalAdvice(full))
	e.Valid = Signals()
	return 0, e
}

// onSignal leaves the sending to a goroutine, since the keeper is asked and
// answers; it ends with the answer, which comes or the keeper is gone.
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
			e := errorf(CodeUnsupported, "the processes of job %d run as another user, whom this server may not signal; signal them as that user, or as root", j.id)
			e.Name = "signals to another user's processes"
			m.reply.fail(e)
		default: // nobody is there any more
			m.reply.fail(j.nobody(exited))
		}
	})
}

// nobody refuses a signal whose target has ended while others of the job live on. It
// is called outside of the loop.
func (j *Job) nobody(exited *Exit) *Error {
	if exited == nil {
		return Invalid("/target", "nobody of that part of job %d is alive", j.id)
	}
	e := errorf(CodeJobExited, "nobody of that part of job %d is alive; its leader %s", j.id, exitText(exited))
	e.Handle, e.Exit = j.id, exited
	return e
}

// over refuses what needs a job that lives.
func (j *Job) over() *Error {
	return errorf(CodeJobExited, "job %d %s; start it again", j.id, exitText(j.st.exit)).about(j)
}

func (p *displayPart) onResize(m resizeMsg) {
	switch {
	case p.j.files.isVacant():
		m.reply.fail(p.j.over())
	case p.j.term == nil:
		m.reply.fail(p.j.input.notInteractive("job %d has no terminal that could be resized; start it in pty mode", p.j.id))
	default:
		end := p.j.End(PTY) // what the program writes for the new size comes behind this
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
	m.spec.room, m.reply.room = m.reply.room, nil // it is the watch's from now on
	m.reply.ok(p.addWatch(m.spec, from))
}

// addWatch gives a client's pattern its number.
func (p *waitsPart) addWatch(spec WatchSpec, from map[Stream]int64) int {
	p.watchIDs++
	w := &watch{id: p.watchIDs, spec: spec, room: spec.room}
	spec.letGo()
	p.j.info.Watches = append(slices.Clone(p.j.info.Watches), WatchInfo{p.watchIDs, spec})
	p.follow(w, from)
	return p.watchIDs
}

// An unwatchReq waits for the follower to have seen what is stored.
type unwatchReq struct {
	key    int
	reply  reply[struct{}]
	glance int // not 0: it is on the screen, which that one looks at
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
	m.reply.fail(Invalid("/watchId", "job %d has no watch %d (any more); job/get lists those it has", p.j.id, m.id))
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
		e.Message = "the job is forgotten, but not all of its files could be deleted (" + e.Error() + "); delete " + j.files.folder.Path() + " yourself"
		m.reply.fail(e)
		return
	}
	m.reply.ok(struct{}{})
}

// about adds which job an error is about, and its end where that is known.
func (e *Error) about(j *Job) *Error {
	e.Handle, e.Exit = j.id, j.st.exit
	return e
}

// A SubscribeFunc tells a job's Sink, or whoever is behind it, what it is to hear from
// now on. It is called on the job's loop, between the events before it and those after
// it; like the Sink it must not block, and must not call back into the job. info is of
// that moment; from holds the offset at which the output of each stream is to begin,
// and is nil where that was left open. It returns whether who hears the job answers what
// its programs ask their terminal behind the output that info tells of; its error refuses
// the request.
type SubscribeFunc func(info Info, from map[Stream]int64) (answers bool, err error)

// Sink returns who hears of the job, as its Spec has it.
func (j *Job) Sink() Sink { return j.sink }

// subscribeMsg changes what is heard of the job.
type subscribeMsg struct {
	from Origin
	set  SubscribeFunc
	reply[struct{}]
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
	m.reply.ok(struct{}{})
}
