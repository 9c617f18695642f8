package jobs

import (
	"slices"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
)

// A StartResult is a started job and the outcome of its wait, nil if it has none.
type StartResult struct {
	Info    Info
	Outcome *Outcome
}

// A startReq is a start that has not been answered.
type startReq struct{ reply reply[StartResult] }

// starting makes the process of a job, and answers the start request.
type starting struct {
	j *actor

	heldUp atomic.Bool // run waits for the login shell or a person (awaitBefore)
	begin  *startReq
	endsAt time.Time // as the last EndAt in the mail says
}

// start makes the process. The search for directories and commands takes as long as the file system needs. Meanwhile,
// requests for the job wait in the mail, even a cancel of the start: when it is handled, only the wait in the start
// request is left to cancel. A cancel, a kill or the server's end interrupts the start only while it waits for the
// login shell or a person (awaitBefore).
func (s *starting) start() {
	l, err := s.prepare()
	if err != nil {
		s.j.lock.Lock()
		defer s.j.lock.Unlock()
		s.startFailed(err)
		return
	}
	s.j.turn(func() { s.onStarted(l) })
	l.proc.Notify(s.j.turns.attend)
}

// prepare plans and launches the job. It holds the job's directory open from its check to the launch, and no longer.
func (s *starting) prepare() (*launched, *Error) {
	if err := s.awaitLogin(); err != nil {
		return nil, err
	}
	if err := s.j.mgr.refuseUnasked(ActionStart, 0); err != nil {
		return nil, err
	}
	p, err := s.j.mgr.system.plan(&s.j.spec)
	if err != nil {
		return nil, err
	}
	defer p.at.Close()
	if err := s.j.asking.allowStart(p, s.awaitPerson); err != nil {
		return nil, err
	}
	return s.j.manager.launch(&s.j.spec, p)
}

func (s *starting) startFailed(err *Error) {
	s.j.st.status, s.j.unstarted = StatusFailed, err
	s.j.quit.Store(true)
	s.j.spec.forgetWatches()
	s.j.manager.registry.forget(&s.j.Job)
	close(s.j.vacant)
	close(s.j.ended)
	s.begin.reply.fail(err)
}

// onStarted makes the launched process a running job.
func (s *starting) onStarted(l *launched) {
	s.j.manager.registry.started(&s.j.Job)
	s.attach(l)
	s.j.spec.forgetText()
	s.j.st.status = StatusRunning
	for _, w := range s.j.spec.Watches {
		s.j.waits.addWatch(w, nil)
	}
	s.j.spec.Watches = nil
	s.j.publish()
	s.j.files.record(time.Now())
	s.j.receiver.Started(&s.j.Job, s.j.snapshot())
	for _, st := range s.j.output.streams {
		s.j.output.loops.Add(1)
		go s.j.output.readLoop(st)
	}
	s.answerStart()
}

func (s *starting) attach(l *launched) {
	s.j.proc, s.j.ending.facts, s.j.stdin, s.j.term = l.proc, l.proc.Events(), l.input, l.term
	s.j.process.Store(&processHandle{l.proc})
	s.j.looker = l.looker
	// -1: the job is probed even if it never prints anything.
	s.j.waiting.watch.seen.output, s.j.waiting.secret.seen.output = -1, -1
	now := time.Now()
	if a := s.j.mgr.settings.archive; a != nil {
		s.j.folder = a.folder(s.j.id)
	}
	for _, o := range l.outputs {
		s.j.output.streams = append(s.j.output.streams, &stream{name: o.name, src: o.src, base: now, spool: s.j.files.openSpool(o.name), done: make(chan struct{}), room: make(chan struct{}, 1)})
	}
	for _, st := range s.j.output.streams {
		st.reader.window.Store(s.j.spec.Window)
	}
	s.j.shell.none = l.noShell
	if l.shell != nil {
		s.j.shell.watch, s.j.output.streams[0].marks = l.shell.watch, l.shell.reader
		s.j.output.streams[0].marked = l.shell.watch
		s.j.shellFiles = l.shell.watch.files
		s.j.output.loops.Add(1)
		go s.j.shell.feedLoop(s.j.shell.watch)
	}
	if s.j.stdin != nil {
		s.j.output.loops.Add(1)
		go s.j.input.writeLoop(s.j.stdin, s.j.term)
	}
	s.j.place = l.plan.place()
	s.j.info = Info{
		Description: s.j.spec.Description, Group: s.j.spec.Group, Command: s.j.spec.Command,
		Argv: l.plan.argv, Shell: l.plan.shell, Cwd: l.plan.dir, Mode: l.plan.mode, ModeReason: l.plan.reason,
		PID: l.proc.PID(), StartedAt: now, Lease: s.j.spec.Lease,
	}
	if s.j.shell.watch != nil {
		s.j.info.Integration = string(s.j.shell.watch.kind)
		s.j.redaction.launched = proc.JoinArguments(l.shell.Argv)
		s.j.redaction.wanted = proc.JoinArguments(l.plan.argv)
	}
	s.j.limits.begin()
	if s.j.folder != nil {
		s.j.info.OutputDirectory = s.j.folder.Path()
	}
	if l.term != nil {
		s.j.info.Cols, s.j.info.Rows = l.plan.cols, l.plan.rows
		s.j.display.sizes.Note(0, l.plan.cols, l.plan.rows)
		s.j.display.begin()
	}
	s.j.files.beginRecording(l.plan.env)
}

func (s *starting) answerStart() {
	b := s.begin
	spec := s.j.spec.Wait
	s.j.spec.Wait = nil
	if spec == nil {
		b.reply.ok(StartResult{Info: s.j.snapshot()})
		return
	}
	from, err := s.j.waits.origin(spec, FromStart)
	if err != nil {
		// The job already runs. If it ran on after this error, it would have no owner.
		s.j.ending.end(ReasonKilled, KillOptions{})
		b.reply.fail(err)
		return
	}
	s.j.waits.arm(&wait{
		spec: spec, from: from, tok: b.reply.tok,
		done:  func(o Outcome) { b.reply.ok(StartResult{s.j.snapshot(), &o}) },
		abort: func(e *Error) { b.reply.fail(e) },
	})
}

// Before a job starts, run may have to wait without a time limit of its own: for the login shell, whose environment the
// job needs, and for the person at the client. The job has no turns yet. A goroutine that takes the turn lock only
// wakes run. Requests for the job wait in the mail. They can be cancelled there, and so can the start.

// A holdUp describes the event that a start waits for, in the words of the errors for cancelled requests.
type holdUp struct {
	until string // the event that had not happened when the start was given up
	why   string // the event that the job waits for
}

var (
	heldByPerson = holdUp{"its start was confirmed", "for the confirmation of its start"}
	heldByLogin  = holdUp{"the login shell's environment was known", "for the environment of the login shell"}
)

// awaitLogin waits until the environment of the login shell is known, if the job needs it. If the job's directory
// cannot be used, it returns that error at once.
func (s *starting) awaitLogin() *Error {
	l := s.j.spec.from.login
	switch {
	case l == nil:
		return nil
	case isClosed(s.j.mgr.end.begun): // this ends the login shell, too
		return errClosedServer()
	case isClosed(l.done):
		return nil
	}
	d, _, err := s.j.mgr.directory(s.j.spec.Cwd)
	if err != nil {
		return err
	}
	d.Close()
	_, err = awaitBefore(s.j, l.done, heldByLogin)
	return err
}

// awaitBefore waits for a value from comes, or for its closing, before the job starts, and returns the value. It
// returns an error if the start was cancelled or the job must not start any more.
func awaitBefore[T any](j *actor, comes <-chan T, h holdUp) (came T, broken *Error) {
	j.starting.heldUp.Store(true) // before the mail is read
	defer j.starting.heldUp.Store(false)
	for {
		if broken = j.starting.sortMail(h); broken != nil {
			return came, broken
		}
		select {
		case came = <-comes:
			if isClosed(j.mgr.end.begun) { // the server's end is the cause of the value, or came at the same time
				return came, errClosedServer()
			}
			j.input.wentOnAt = time.Now()
			return came, nil
		case <-j.mgr.end.begun:
			return came, errClosedServer()
		case <-j.mail.Wake():
		case <-j.timer.C: // endsAt may have come
		}
	}
}

// sortMail answers those requests waiting for the start that are cancelled. It returns an error if the start itself is
// cancelled, or the job or the server is ended.
func (s *starting) sortMail(h holdUp) (broken *Error) {
	var canceled []request
	s.j.mail.Edit(func(queue []message) []message {
		for i := 0; i < len(queue); i++ {
			switch m := queue[i].(type) {
			case quitMsg, shutdownMsg:
				broken = errClosedServer()
			case endAtMsg:
				s.endsAt = m.at
			case killMsg:
				broken = errorf(CodeCanceled, "job %d was ended before %s; nothing was started", s.j.id, h.until)
			case cancelMsg:
				if m.tok == s.begin.reply.tok {
					broken = errorf(CodeCanceled, "the start of job %d was cancelled before %s; nothing was started", s.j.id, h.until)
					continue
				}
				at := slices.IndexFunc(queue[:i], func(other message) bool {
					r, is := other.(cancelable)
					return is && r.token() == m.tok
				})
				if at < 0 {
					continue // The request was already answered.
				}
				canceled = append(canceled, queue[at].(request))
				queue = slices.Delete(slices.Delete(queue, i, i+1), at, at+1)
				i -= 2
			}
		}
		return queue
	})
	if broken == nil {
		broken = s.reviewLease(h)
	}
	for _, r := range canceled {
		e := errorf(CodeCanceled, "the request was cancelled; job %d waits %s", s.j.id, h.why)
		e.Handle = s.j.id
		r.fail(e)
	}
	return broken
}

// reviewLease returns an error if the job must not start any more because its owner is away. Before that, it sets the
// timer, which no turn needs yet.
func (s *starting) reviewLease(h holdUp) *Error {
	if s.endsAt.IsZero() {
		return nil
	}
	left := time.Until(s.endsAt)
	if left <= 0 {
		return errorf(CodeCanceled, "job %d was ended before %s, because its client was away too long; nothing was started", s.j.id, h.until)
	}
	s.j.timer.Reset(left)
	return nil
}

// awaitPerson waits for the answer of the person at the client.
func (s *starting) awaitPerson(answers <-chan Answer) (Answer, *Error) {
	return awaitBefore(s.j, answers, heldByPerson)
}
