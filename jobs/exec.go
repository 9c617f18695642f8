package jobs

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/plain"
	"shelld.dev/shelld/jobs/internal/roots"
	"shelld.dev/shelld/jobs/internal/shellmark"
)

// mostExecs bounds the number of commands that wait for one shell, and mostExecText their total length. A single
// command may be longer.
const (
	mostExecs    = 1000
	mostExecText = 4 << 20
)

// queued returns the total length of the waiting commands.
func (s *shellWatch) queued() (n int) {
	for _, r := range s.queue {
		n += len(r.opts.Command)
	}
	return n
}

// An execReq is a command that waits for its shell, or runs.
type execReq struct {
	opts     ExecOptions
	spec     *WaitSpec // the conditions of the request, and behind them the end of the command itself
	own      int       // the index of the command's end in spec.Until
	deadline time.Time // zero: none
	command  *ShellCommand
	from     map[Stream]int64 // where the reported output begins; nil: where the command's output begins
	wait     *wait            // nil before it runs and once it is answered
	given    shellmark.Handover
	handedAt time.Time // when it was handed to the shell
	stopped  bool      // it was interrupted
	answered bool
	unwanted bool // it was given up after it had been handed to the shell
	reply    reply[ExecResult]

	interrupts interruption
	killed     atomic.Bool // KILL was sent to its processes
	shell      *shellPart
}

// refuse answers the request with an error, unless it is answered already.
func (r *execReq) refuse(err *Error) {
	if !r.answered {
		r.answered = true
		r.reply.fail(err)
	}
}

func (p *shellPart) onHistory(m historyMsg) {
	if err := p.integrated(); err != nil && (p.watch == nil || p.watch.why == "") {
		m.fail(err)
		return
	}
	all := make([]ShellCommand, 0, len(p.watch.past)+1)
	for _, c := range p.watch.past {
		all = append(all, p.cleanCommand(*c))
	}
	if c := p.watch.current; c != nil {
		all = append(all, p.cleanCommand(*c))
	}
	m.ok(all)
}

// onExec queues a command, or refuses it.
func (p *shellPart) onExec(m execMsg) {
	err := p.execRefused(m)
	if err == nil && !m.allowed && p.j.mgr.settings.confirm.Start == VerdictAsk {
		p.confirmExec(m)
		return
	}
	if err != nil {
		m.fail(err)
		return
	}
	p.queueExec(m)
}

// execRefused returns why a command may not or cannot run; nil: it can.
func (p *shellPart) execRefused(m execMsg) *Error {
	if p.j.st.exit != nil {
		return p.j.over()
	}
	if p.j.closing {
		return errorf(CodeShuttingDown, "the server is shutting down; job %d runs no more commands", p.j.id)
	}
	if err := p.integrated(); err != nil {
		return err
	}
	if err := p.lease.refuseOthers(m.opts.Owner); err != nil {
		return err
	}
	if err := p.j.mgr.refuseUnasked(ActionStart, p.j.id); err != nil {
		return err
	}
	s := p.watch
	switch {
	case !m.opts.FailBusy:
	case s.starts() && (len(s.queue) > 0 || p.startAsks() != nil):
		return p.busyStarting()
	case len(s.queue) > 0 || s.current != nil || s.session.Phase() == shellmark.PhaseHanded || s.session.Typing():
		return p.busy("is running %s", p.nowRuns())
	}
	if held := s.queued(); len(s.queue) >= mostExecs || held > 0 && held+len(m.opts.Command) > mostExecText {
		return p.busy("already has %d commands queued, of %d bytes", len(s.queue), held)
	}
	if m.opts.Wait != nil {
		if _, err := p.waits.origin(m.opts.Wait, FromNow); err != nil {
			return err
		}
	}
	return nil
}

func (p *shellPart) busy(format string, args ...any) *Error {
	e := errorf(CodeShellBusy, "the shell of job %d %s; wait for it, interrupt it with job/signal INT, or leave ifBusy out to queue this command", p.j.id, fmt.Sprintf(format, args...))
	e.Handle = p.j.id
	return e
}

// nowRuns describes the command that the shell runs, for a sentence.
func (p *shellPart) nowRuns() string {
	s := p.watch
	if s.current == nil || s.current.Text == "" {
		return "another command"
	}
	return fmt.Sprintf("%q (command %d)", shortened(p.j.redaction.text(s.current.Text)), s.current.ID)
}

// shortened returns the beginning of a command's first line, for a sentence.
func shortened(text string) string {
	line, _, more := strings.Cut(text, "\n")
	if len(line) > 60 || more {
		line = strings.ToValidUTF8(line[:min(len(line), 60)], "") + "…"
	}
	return line
}

// integrated returns why the server cannot tell this job's commands apart; nil: it can.
func (p *shellPart) integrated() *Error {
	switch {
	case p.watch == nil && p.none == "":
		return p.noIntegration("it has no terminal")
	case p.watch == nil:
		return p.noIntegration(p.none)
	case p.isReplaced():
		return p.noIntegration(p.watch.why)
	}
	return nil
}

func (p *shellPart) noIntegration(why string) *Error {
	cure := "start an interactive shell (job/start without command and argv)"
	if p.watch != nil && p.watch.cure != "" {
		cure = p.watch.cure
	}
	e := errorf(CodeShellIntegrationUnavailable, "job/exec cannot follow the commands of job %d: %s; %s for job/exec, or type with job/write", p.j.id, why, cure)
	e.Handle = p.j.id
	return e
}

// confirmExec asks the person at the client. The line alone does not say what a name means in a shell that has run
// other commands.
func (p *shellPart) confirmExec(m execMsg) {
	cwd := p.j.place
	p.asking.askAbout(m, func() (*Question, *Error) {
		return p.asking.question(ActionStart, m.opts.Asker, p.j.id, m.opts.Command, cwd, roots.Found{Why: "the shell may have redefined commands since it started"})
	})
}

// queueExec queues a command for the shell, which may be ready already.
func (p *shellPart) queueExec(m execMsg) {
	p.j.lock.Check()
	s := p.watch
	s.ids++
	r := &execReq{shell: p, opts: m.opts, reply: m.reply, command: &ShellCommand{ID: s.ids, Text: m.opts.Command}}
	spec := WaitSpec{Timeout: -1, Plain: true, MaxBytes: defaultExecBytes}
	if m.opts.Wait != nil {
		spec = *m.opts.Wait
	}
	if spec.From.Kind != FromDefault {
		r.from, _ = p.waits.origin(&spec, FromNow) // execRefused has checked it
	}
	r.own = len(spec.Until)
	spec.Until = append(slices.Clone(spec.Until), Condition{Kind: UntilCommand, Command: r.command.ID})
	if spec.Timeout >= 0 {
		r.deadline = m.at.Add(spec.Timeout)
	}
	r.spec = &spec
	s.queue = append(s.queue, r)
}

// defaultExecBytes is how much of the output is reported if the request does not say.
const defaultExecBytes = 16 << 10

// review hands the next command to a shell that is ready, and answers the requests that have timed out before their
// commands began.
func (p *shellPart) review(now time.Time) {
	s := p.watch
	if s == nil {
		return
	}
	p.reviewStart()
	p.reviewReading()
	p.reviewHanded() // before anything is handed over: it may requeue the same command
	p.reviewUnwanted()
	p.reviewInterrupts(now)
	if s.session.Phase() == shellmark.PhaseReady && s.striking == 0 && !s.session.Typing() && p.j.stdin != nil && p.keyboardIsFree() {
		p.handNext()
	}
	p.reviewReplaced(now)
	p.reviewTasks(now)
	for _, r := range s.again {
		p.execBegan(r)
	}
	s.again = nil
	for _, r := range slices.Clone(s.queue) {
		if !r.answered && !r.deadline.IsZero() && !now.Before(r.deadline) {
			p.execLate(r, now)
		}
	}
}

// due is the time of the shell's next review if nothing happens before; zero: none is needed.
func (p *shellPart) due(time.Time) (t time.Time) {
	if p.watch == nil {
		return t
	}
	if len(p.watch.again) > 0 {
		return p.j.epoch
	}
	t = earliest(earliest(p.imageDue(), p.watch.tasksUntil()), p.watch.interruptDue())
	for _, r := range p.watch.queue {
		if !r.answered && !r.deadline.IsZero() && (t.IsZero() || r.deadline.Before(t)) {
			t = r.deadline
		}
	}
	return t
}

// execLate handles a command that has not begun before its deadline. It still runs later, unless the request asked for
// interruption: then it is dropped, or, if the shell already has it, interrupted as soon as it starts, and the request
// is answered as for a command that runs.
func (p *shellPart) execLate(r *execReq, now time.Time) {
	switch {
	case !r.opts.Interrupt || r.stopped: // or it has not begun within the extra time of giveTime either
	case r.given.Seq() != 0:
		r.unwanted = true
		r.giveTime(now)
		return
	default:
		r.stopped, r.command.Finished = true, true
		s := p.watch
		s.queue = slices.DeleteFunc(s.queue, func(q *execReq) bool { return q == r })
	}
	p.answerLate(r)
}

// answerLate answers a request with a timeout, for a command that has not begun.
func (p *shellPart) answerLate(r *execReq) {
	r.answered = true
	o := p.waits.outcome(p.execWait(r, p.startOf(r)), "timeout", -1)
	never := r.command.Finished
	p.answerBusy(r, ExecResult{Outcome: o, Command: p.cleanCommand(*r.command), Output: Range{From: p.end0(), To: p.end0()}, Interrupt: r.stopped && !never, Dropped: never})
}

// answerBusy answers a request whose command has not ended or was dropped. The answer names the process in the
// foreground, which the shell is busy with.
func (p *shellPart) answerBusy(r *execReq, res ExecResult) {
	term, leader := p.j.term, p.j.info.PID
	p.j.background(func() { // /proc may be slow
		if f, err := term.Foreground(leader); err == nil {
			res.Foreground = p.j.redaction.foreground(f)
		}
		r.reply.ok(res)
	})
}

// startOf returns the offset at which the reported output of a command begins.
func (p *shellPart) startOf(r *execReq) map[Stream]int64 {
	switch {
	case r.from != nil:
		return r.from
	case r.command.StartedAt.IsZero():
		return map[Stream]int64{PTY: p.end0()}
	}
	return map[Stream]int64{PTY: r.command.Output.From}
}

// execWait returns a wait for a command. The wait is not armed.
func (p *shellPart) execWait(r *execReq, from map[Stream]int64) *wait {
	n := len(r.spec.Until)
	return &wait{spec: r.spec, from: from, matches: make([]*Match, n), streams: make([]Stream, n), places: make([]*Place, n)}
}

// execBegan arms the wait of the request: from now on the output belongs to the command.
func (p *shellPart) execBegan(r *execReq) {
	if r.answered {
		return
	}
	r.wait = &wait{
		spec: r.spec, from: p.startOf(r), tok: r.reply.tok, exec: r,
		done:  func(o Outcome) { p.execOver(r, o) },
		abort: func(e *Error) { r.wait, r.answered = nil, true; r.reply.fail(e) },
	}
	p.waits.arm(r.wait)
	r.wait.deadline = r.deadline
}

// execOver handles the end of a command's wait.
func (p *shellPart) execOver(r *execReq, o Outcome) {
	r.wait = nil
	if o.Reason == "timeout" {
		p.isReplaced() // if another program has replaced the shell, this ends the command
	}
	if o.Reason == "timeout" && r.opts.Interrupt && !r.stopped && !r.command.Finished {
		p.interruptExec(r)
		return
	}
	if o.Index == r.own {
		o.Index, o.Command = -1, nil
		if p.j.told() && (r.command.ExitCode == nil || p.j.closing) {
			o.Reason = "exit" // its shell has ended with it
		}
	}
	if r.unwanted && r.command.Finished {
		r.stopped = false // It has ended before it could be interrupted.
	}
	if r.stopped && o.Reason != "exit" {
		o.Reason, o.Index = "timeout", -1
	}
	r.answered = true
	c := *r.command
	res := ExecResult{Outcome: o, Command: p.cleanCommand(c), Output: c.Output, Interrupt: r.stopped, Killed: r.killed.Load()}
	res.Replaced = p.watch.replaced && c.Finished && c.ExitCode == nil && o.Reason != "exit"
	res.LineEnd = r.stopped && p.watch.kind != shellmark.Fish && c.ExitCode != nil && *c.ExitCode == 128+int(syscall.SIGINT)
	if !c.Finished {
		res.Output.To = p.end0()
		p.answerBusy(r, res)
		return
	}
	if c.ExitCode == nil || *c.ExitCode != 126 && *c.ExitCode != 127 {
		r.reply.ok(res)
		return
	}
	p.j.background(func() { // It reads directories.
		end := c.Output.To
		words, _ := p.j.output.streams[0].spool.ReadRange(max(end-hintBytes, c.Output.From), end)
		res.Hint = p.j.redaction.hint(p.j.hintIn(plain.Text(words), *c.ExitCode, c.Cwd, ModePTY))
		r.reply.ok(res)
	})
}

// cancelExec cancels a request. A command that runs continues, or is interrupted as at its timeout. A command that has
// not begun never runs.
func (p *shellPart) cancelExec(tok *token) bool {
	s := p.watch
	if s == nil {
		return false
	}
	asked := func(r *execReq) bool { return r.reply.tok == tok && !r.answered }
	if i := slices.IndexFunc(s.queue, asked); i >= 0 {
		r, fate := s.queue[i], CommandDropped
		if r.given.Seq() != 0 {
			r.unwanted, fate = true, CommandInterrupted // the shell has it: it is interrupted when it begins
		} else {
			s.queue = slices.Delete(s.queue, i, i+1)
		}
		r.refuse(p.canceledCommand(r, fate))
		return true
	}
	if i := slices.IndexFunc(s.again, asked); i >= 0 {
		r := s.again[i]
		r.refuse(p.canceledCommand(r, r.leftBehind()))
		return true
	}
	if r := s.running; r != nil && asked(r) && r.wait != nil && r.opts.Interrupt && !r.stopped {
		p.waits.cancel(tok)
		p.beginInterrupts(r, time.Now())
		return true
	}
	return false
}

// leftBehind returns the fate of a command that has begun and whose request is canceled.
func (r *execReq) leftBehind() CommandFate {
	if r.opts.Interrupt {
		return CommandInterrupted
	}
	return CommandRunning
}

// canceledCommand returns the answer to a canceled request. It carries the fate of the command, which the client cannot
// learn otherwise.
func (p *shellPart) canceledCommand(r *execReq, fate CommandFate) *Error {
	told := map[CommandFate]string{
		CommandDropped:     "had not started and will not run",
		CommandRunning:     "keeps running; wait for it with the condition command, or interrupt it with job/signal INT",
		CommandInterrupted: "is being interrupted; wait for its end with the condition command, then see its result in job/history",
	}
	e := errorf(CodeCanceled, "the request was cancelled; command %d of job %d %s", r.command.ID, p.j.id, told[fate])
	e.Handle, e.CommandID, e.Fate = p.j.id, r.command.ID, fate
	return e
}

// failExecs answers all requests whose commands have not begun. Requests in again, whose waits are armed once more, end
// with their commands.
func (p *shellPart) failExecs(why func() *Error) {
	for _, r := range p.watch.queue {
		r.command.Finished = true
		r.refuse(why())
	}
	p.watch.queue = nil
}

// failAgain answers the requests in again: there is nothing to wait for any more.
func (p *shellPart) failAgain(err *Error) {
	for _, r := range p.watch.again {
		r.refuse(err)
	}
	p.watch.again = nil
}

// cancel cancels a request for a command or for a task of the shell.
func (p *shellPart) cancel(tok *token) bool { return p.cancelExec(tok) || p.cancelTask(tok) }

func (p *shellPart) pending() int {
	s := p.watch
	if s == nil {
		return 0
	}
	return len(s.queue) + len(s.again) + len(s.tasks)
}

func (p *shellPart) fail(err *Error) {
	p.shutdown(func() *Error { return err })
	if p.watch != nil {
		p.failAgain(err)
	}
}

func (p *shellPart) shutdown(why func() *Error) {
	if p.watch != nil {
		p.failExecs(why)
		p.failTasks(why)
	}
}

// keyboardIsFree reports whether no input waits for the shell, or only input for a command that it has not begun.
func (p *shellPart) keyboardIsFree() bool {
	q := p.input.first()
	return q == nil || p.blocksWrite(q)
}

// isFinished and canceled implement commandWait.
func (r *execReq) isFinished() bool { return r.command.Finished }

func (r *execReq) canceled() *Error { return r.shell.canceledCommand(r, r.leftBehind()) }
