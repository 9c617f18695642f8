package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// A killReq is a kill that has not been answered.
type killReq struct {
	opts  KillOptions
	reply reply[KillResult]
	due   time.Time // when it is answered even without a report
}

// reportTime is how long a kill waits for the report after the grace. A keeper that can report does so within 10 s, and
// the server ends the processes that a lost keeper has left within 5 s.
const reportTime = 15 * time.Second

type (
	// A confirmer asks a person whether a request may be carried out.
	confirmer interface {
		confirmFirst(a Action, m cancelable, asker Asker) bool
	}
	// A killer ends the processes of a job.
	killer interface {
		end(why Reason, o KillOptions)
		isSettling() bool
	}
	// A striker notes that an interrupt is being sent.
	striker interface{ strike() }
)

// killsPart holds the unanswered kills and their results so far.
type killsPart struct {
	noPart
	j *base

	asking confirmer
	ending killer
	shell  striker

	all    []*killReq
	report KillResult // the results of this job's kills so far
	until  time.Time  // when kills stop waiting for the output; zero: processes are still alive
}

func (p *killsPart) onKill(m killMsg) {
	if p.j.st.status == StatusClosed {
		m.reply.ok(KillResult{AlreadyClosed: true, State: p.j.state()})
		return
	}
	if !m.allowed && p.asking.confirmFirst(ActionKill, m, m.opts.Asker) {
		return
	}
	p.all = append(p.all, &killReq{m.opts, m.reply, time.Now().Add(max(m.opts.Grace, 0) + reportTime)})
	p.ending.end(ReasonKilled, m.opts)
}

// onKilled handles the report of a kill. If the process tree is gone, the kill is answered when the job is closed. If
// processes may still be alive, it is answered now.
func (p *killsPart) onKilled(ev keeper.Event) {
	p.report.add(ev.Report, &p.j.redaction)
	if len(ev.Report.Survivors) > 0 {
		p.j.st.spare()
	}
	switch {
	case len(p.all) == 0:
		p.report = KillResult{} // from a timeout, or from a kill whose request was cancelled
	case len(p.report.Survivors) > 0:
		p.answer()
		p.j.output.holdAgain()
	}
}

// add adds the report of one more kill operation.
func (r *KillResult) add(k keeper.Report, h *redaction) {
	for _, s := range k.Signals {
		r.Signals = append(r.Signals, SignalSent{"SIG" + s.Name, s.After})
	}
	for _, p := range k.Killed {
		how := p.How
		if how != keeper.HowSelf && how != keeper.HowGone {
			how = "SIG" + how
		}
		r.Killed = append(r.Killed, KilledProcess{Process{p.PID, h.command(p.Command)}, how})
	}
	r.Survivors = survivorsOf(k, h)
}

// review answers the kills once nothing of the job is left. Usually it waits for the job's files, so that the answer
// shows the job as closed, but it does not wait for a slow disk.
func (p *killsPart) review(now time.Time) {
	if p.j.st.empty && p.until.IsZero() {
		p.until = now.Add(fileTime)
	}
	if p.j.st.status == StatusClosed || p.j.st.empty && !now.Before(p.killsDue()) {
		p.answer()
	}
	p.all = slices.DeleteFunc(p.all, func(k *killReq) bool {
		late := !p.j.st.empty && !now.Before(k.due)
		if late {
			r := p.report
			r.Survivors, r.State = []Survivor{p.unreported()}, p.j.state()
			k.reply.ok(r)
		}
		return late
	})
}

// unreported returns a survivor that stands for a job without a report.
func (p *killsPart) unreported() Survivor {
	why := fmt.Sprintf("the job did not end within %v after the grace, and its live processes are unknown: ", reportTime)
	if k, ok := p.j.proc.(interface{ Process() int }); ok {
		return Survivor{Process{k.Process(), "[shelld-keeper]"}, why + "the job's keeper (this process) has not reported; it may be stopped, traced or starved of CPU time"}
	}
	return Survivor{Process{p.j.info.PID, p.j.redaction.command(strings.Join(p.j.info.Argv, " "))}, why + "the system does not list its processes"}
}

// killDue returns when the first of the kills is answered without a report.
func (p *killsPart) killDue() (due time.Time) {
	for _, k := range p.all {
		if due.IsZero() || k.due.Before(due) {
			due = k.due
		}
	}
	return due
}

// killsDue returns when the kills are answered of a job of which nothing is left.
func (p *killsPart) killsDue() time.Time {
	if p.j.st.step == stepSettleExit && p.ending.isSettling() {
		return p.until.Add(exitTime)
	}
	return p.until
}

func (p *killsPart) answer() {
	p.j.lock.Check()
	for _, k := range p.all {
		r := p.report
		r.State = p.j.state()
		k.reply.ok(r)
	}
	if len(p.all) > 0 {
		p.all, p.report = nil, KillResult{} // a later kill reports its own results
	}
}

func (p *killsPart) cancel(tok *token) bool {
	i := slices.IndexFunc(p.all, func(k *killReq) bool { return k.reply.tok == tok })
	if i < 0 {
		return false
	}
	err := p.j.canceled() // the signals cannot be undone, and the grace runs on
	err.Message = fmt.Sprintf("the request was cancelled, but job %d is still being ended", p.j.id)
	if p.all[i].opts.NoForce {
		err.Message = fmt.Sprintf("the request was cancelled; signals already sent to job %d cannot be undone, and no more follow", p.j.id)
	}
	p.all[i].reply.fail(err)
	p.all = slices.Delete(p.all, i, i+1)
	return true
}

// due returns when the kills are answered without the job's end.
func (p *killsPart) due(time.Time) (t time.Time) {
	if len(p.all) == 0 {
		return t
	}
	if t = p.killsDue(); !p.j.st.empty {
		t = earliest(t, p.killDue())
	}
	return t
}

func (p *killsPart) pending() int { return len(p.all) }

func (p *killsPart) fail(err *Error) {
	for _, k := range p.all {
		k.reply.fail(err)
	}
	p.all = nil
}

// onLost handles the report of a server that has ended the processes of a lost keeper.
func (p *killsPart) onLost(report keeper.Report) {
	if len(p.all) > 0 { // The keeper did not report on these kills, so the server did the work itself.
		p.report.add(report, &p.j.redaction)
	}
}

func (p *killsPart) isKilling() bool { return len(p.all) > 0 }

// onSignal sends a signal in a goroutine of its own, since the keeper has to answer. The goroutine ends with the
// answer, or when the keeper is gone.
func (p *killsPart) onSignal(m signalMsg) {
	if p.j.st.empty {
		m.reply.fail(p.j.over())
		return
	}
	if !m.allowed && p.asking.confirmFirst(ActionKill, m, m.asker) {
		return
	}
	if m.sig == syscall.SIGINT || m.sig == syscall.SIGQUIT {
		p.shell.strike()
	}
	proc, exited := p.j.proc, p.j.st.exit
	p.j.background(func() {
		err := proc.Signal(m.target, m.sig)
		switch {
		case err == nil:
			m.reply.ok(struct{}{})
		case errors.Is(err, syscall.EPERM):
			e := errorf(CodeUnsupported, "the processes of job %d run as another user, which this server may not signal; signal them as that user, or as root", p.j.id)
			e.Name = "signals to another user's processes"
			m.reply.fail(e)
		default: // no such process is alive any more
			m.reply.fail(p.nobody(exited))
		}
	})
}

// nobody returns the error for a signal whose target has ended while other processes of the job live on. It is called
// outside of the loop.
func (p *killsPart) nobody(exited *Exit) *Error {
	if exited == nil {
		return Invalid("/target", "no process of the target of job %d is alive", p.j.id)
	}
	e := errorf(CodeJobExited, "no process of the target of job %d is alive; its leader %s", p.j.id, exitText(exited))
	e.Handle, e.Exit = p.j.id, exited
	return e
}

// fileTime is how long a kill waits for the output to be stored after the process tree is gone.
const fileTime = time.Second

// exitTime is how much longer a kill waits if the exit is not reported yet because the patterns have not seen all of
// the output. Patterns give up by a time limit of their own, which takes longer on a busy machine. An answer that calls
// a killed job running would be wrong.
const exitTime = 9 * time.Second
