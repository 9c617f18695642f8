package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shelld/jobs/internal/keeper"
)

// KillOptions say how a job is ended.
type KillOptions struct {
	Grace   time.Duration // between TERM and KILL
	NoForce bool          // TERM alone; whatever lives after the grace is a survivor
	Asker   Asker
}

// A KillResult says what a kill did.
type KillResult struct {
	Signals       []SignalSent
	Killed        []KilledProcess
	Survivors     []Survivor
	AlreadyClosed bool
	State         State
}

// A SignalSent is a signal that a kill sent to the tree.
type SignalSent struct {
	Signal string
	After  time.Duration
}

// A KilledProcess is a process that a kill saw end.
type KilledProcess struct {
	Process
	How string // self: it exited; gone: nobody but its parent knows; or the signal, with SIG
}

// A killReq is a kill that has not been answered.
type killReq struct {
	opts  KillOptions
	reply reply[KillResult]
	due   time.Time // when it is answered without a report
}

// reportTime is how long after the grace a kill waits for the report. A keeper that can report
// does so within 10 s, and the server ends what a lost one has left within 5 s.
const reportTime = 15 * time.Second

// Kill ends everything that the job started, and is answered when nothing is left.
func (j *Job) Kill(o KillOptions) Pending[KillResult] {
	r := newReply[KillResult]()
	j.ask(killMsg{opts: o, reply: r})
	return pend(j, r)
}

func (j *Job) onKill(m killMsg) {
	if j.st.status == StatusClosed {
		m.reply.ok(KillResult{AlreadyClosed: true, State: j.state()})
		return
	}
	if !m.allowed && j.confirmFirst(ActionKill, m, m.opts.Asker) {
		return
	}
	j.kills = append(j.kills, &killReq{m.opts, m.reply, time.Now().Add(max(m.opts.Grace, 0) + reportTime)})
	j.end(ReasonKilled, m.opts)
}

// onKilled takes a kill's report. A tree that is gone answers at closed; one of
// which something may live on, now.
func (j *Job) onKilled(ev keeper.Event) {
	j.report.add(ev.Report, &j.redaction)
	if len(ev.Report.Survivors) > 0 {
		j.st.spare()
	}
	switch {
	case len(j.kills) == 0:
		j.report = KillResult{} // a timeout's, or one whose request was cancelled
	case len(j.report.Survivors) > 0:
		j.answerKills()
		j.holdAgain()
	}
}

// add joins the report of one more kill operation.
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

// reviewKills answers the kills of a job of which nothing is left. They wait for its
// files as a rule, so that the job is closed in the answer, but not for a slow disk.
func (j *Job) reviewKills(now time.Time) {
	if j.st.empty && j.killsUntil.IsZero() {
		j.killsUntil = now.Add(fileTime)
	}
	if j.st.status == StatusClosed || j.st.empty && !now.Before(j.killsDue()) {
		j.answerKills()
	}
	j.kills = slices.DeleteFunc(j.kills, func(k *killReq) bool {
		late := !j.st.empty && !now.Before(k.due)
		if late {
			r := j.report
			r.Survivors, r.State = []Survivor{j.unreported()}, j.state()
			k.reply.ok(r)
		}
		return late
	})
}

// unreported is the survivor of a job about which there is no report.
func (j *Job) unreported() Survivor {
	why := fmt.Sprintf("the job did not end within %v after the grace, and nothing says what of it is alive: ", reportTime)
	if k, ok := j.proc.(interface{ Process() int }); ok {
		return Survivor{Process{k.Process(), "[shelld-keeper]"}, why + "this process, the job's keeper, has not reported; it may be stopped, traced or short of processor time"}
	}
	return Survivor{Process{j.info.PID, j.redaction.command(strings.Join(j.info.Argv, " "))}, why + "the system does not list its processes"}
}

// killDue is when the first of the kills is answered without a report.
func (j *Job) killDue() (due time.Time) {
	for _, k := range j.kills {
		if due.IsZero() || k.due.Before(due) {
			due = k.due
		}
	}
	return due
}

// killsDue is when the kills of a job are answered of which nothing is left.
func (j *Job) killsDue() time.Time {
	if j.st.step == stepSettleExit && j.settling != nil {
		return j.killsUntil.Add(exitTime)
	}
	return j.killsUntil
}

func (j *Job) answerKills() {
	for _, k := range j.kills {
		r := j.report
		r.State = j.state()
		k.reply.ok(r)
	}
	if len(j.kills) > 0 {
		j.kills, j.report = nil, KillResult{} // a later kill tells what it does itself
	}
}

func (j *Job) cancelKill(tok *token) bool {
	i := slices.IndexFunc(j.kills, func(k *killReq) bool { return k.reply.tok == tok })
	if i < 0 {
		return false
	}
	err := j.canceled() // the signals are sent and stay sent, and the grace runs on
	err.Message = fmt.Sprintf("the request was cancelled; job %d is being ended all the same", j.id)
	if j.kills[i].opts.NoForce {
		err.Message = fmt.Sprintf("the request was cancelled; the signals to job %d stay sent, and nothing more follows them", j.id)
	}
	j.kills[i].reply.fail(err)
	j.kills = slices.Delete(j.kills, i, i+1)
	return true
}
