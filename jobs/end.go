package jobs

import (
	"slices"
	"strings"
	"time"

	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/names"
	"shelld/jobs/internal/proc"
)

// endingPart handles the end of a job, from the leader's exit to the closed event.
type endingPart struct {
	noPart
	j *Job

	facts      <-chan keeper.Event // keeper -> the holder of the turn; nil before the start and after its end
	hints      chan *Hint          // seekHint -> run, at most once; capacity 1
	settling   *token              // the request to the follower whose answer the end waits for
	settleFrom time.Time           // when that wait began
	hint       *Hint               // why the shell could not run its command; nil = not known
	hintUntil  time.Time           // deadline of the search for it
	outlived   []Survivor          // processes that a lost keeper has left and that could not be ended
	closing    bool                // the server is shutting down
}

// takeFacts handles the keeper's events so far.
func (p *endingPart) takeFacts() {
	for p.facts != nil {
		select {
		case ev, ok := <-p.facts:
			p.onFact(ev, ok)
		default:
			return
		}
	}
}

// onFact handles an event of the keeper. The channel is closed when the keeper is gone.
func (p *endingPart) onFact(ev keeper.Event, ok bool) {
	if !ok {
		p.facts = nil
		if !p.j.st.empty || p.j.st.exit == nil {
			p.keeperLost()
		}
		return
	}
	switch ev.Kind {
	case keeper.Exited:
		if p.j.st.exit == nil {
			beyond := ev.Limit == keeper.LimitCPU
			if beyond && ev.ByItself {
				p.j.st.reason = "" // A pending end by the server came too late: the kernel's limit came first.
			}
			if beyond {
				p.j.st.intendLimit(LimitCPUMs)
			}
			p.j.st.leaderExited(ev.Code, ev.Signal, ev.Core, ev.ByItself && !beyond, time.Now())
			if ev.ByItself {
				p.j.runs.inTime()
			}
			p.leaderEnded(ev.Background)
			if beyond {
				p.j.limits.endBeyond(LimitCPUMs, p.j.mgr.settings.limits.ShutdownGrace) // the other processes
			}
		}
	case keeper.Stopped:
		p.j.changes.noteStopped(true, names.Signal(ev.Signal))
	case keeper.Continued:
		p.j.changes.noteStopped(false, "")
	case keeper.Killed:
		p.j.kills.onKilled(ev)
	case keeper.Empty:
		p.j.st.empty = true
	case keeper.Lost:
		if len(p.j.kills.all) > 0 { // The keeper did not report on these kills, so the server did the work itself.
			p.j.kills.report.add(ev.Report, &p.j.redaction)
		}
		for _, left := range ev.Report.Survivors {
			p.j.log.Warn("a process outlives its job, whose keeper was lost", "job", p.j.id, "pid", left.PID, "why", left.Why)
		}
		p.outlived = survivorsOf(ev.Report, &p.j.redaction)
		p.keeperLost()
	case keeper.Limited:
		p.j.limits.onLimited()
	}
}

func (p *endingPart) keeperLost() {
	p.j.log.Error("keeper lost", "job", p.j.id)
	live := p.j.st.exit == nil
	p.j.st.keeperLost(time.Now())
	if live {
		p.leaderEnded(nil)
	}
}

// leaderEnded begins the end: no more input is typed, and every stream is read until a read that was begun from now on
// returns nothing, since an exit status says nothing about output that is still on its way.
func (p *endingPart) leaderEnded(background []keeper.Proc) {
	p.j.info.EndedAt = p.j.st.exitedAt
	p.j.info.Background = p.j.changes.processes(background)
	ended := func() *Error {
		e := errorf(CodeJobExited, "job %d %s before it read all of this input", p.j.id, exitText(p.j.st.exit))
		e.Handle, e.Exit = p.j.id, p.j.st.exit
		return e
	}
	for _, other := range p.j.parts {
		other.exited(ended)
	}
	p.drain()
}

func (p *endingPart) drain() {
	for _, st := range p.j.output.streams {
		if !st.ended && (!st.src.Idle() || st.holding.Load() != holdsNothing) {
			st.draining = true
			st.pass() // first: the answer to the drain ends the pass
			st.src.Drain()
		}
	}
}

func (p *endingPart) drained() bool {
	return !slices.ContainsFunc(p.j.output.streams, func(st *stream) bool { return st.draining })
}

func (p *endingPart) onStreamEnd(e streamEnd) {
	e.st.draining = false
	e.st.ended = e.st.ended || e.ended
}

func (p *endingPart) review(now time.Time) {
	p.reviewSteps(now)
	p.reviewSettle(now)
}

// due is the time at which a step of the end is taken even if its condition does not hold.
func (p *endingPart) due(time.Time) time.Time {
	t := p.catchUpUntil()
	if p.j.st.step == stepHint {
		t = earliest(t, p.hintUntil)
	}
	return t
}

// reviewSteps takes the steps from the leader's exit to the job's end: the output is drained, matched and the exit
// reported; and the same again when no process is alive. Each step is taken once, in this order, so that exited and
// closed come after the output that they refer to and after its matches.
func (p *endingPart) reviewSteps(now time.Time) {
	for {
		before := p.j.st.step
		switch p.j.st.step {
		case stepDrainExit:
			if p.drained() {
				p.settle(stepSettleExit)
			}
		case stepSettleExit:
			switch {
			case p.settling != nil || !p.j.display.screenSettled(now):
			case p.needsHint():
				p.j.st.step = stepHint
				p.seekHint()
			default:
				p.tellExited(now)
			}
		case stepHint:
			if p.hint != nil || !now.Before(p.hintUntil) {
				p.tellExited(now)
			}
		case stepBackground:
			if p.j.st.empty {
				p.j.st.step = stepDrainClose
				p.drain()
			}
		case stepDrainClose:
			// The writeLoop was interrupted when the leader ended. Its report of how much input the kernel has accepted
			// must come first: later no request waits for it.
			if p.drained() && !p.j.input.queue.writing {
				p.settle(stepSettleClose)
			}
		case stepSettleClose:
			if p.settling == nil && p.j.display.screenSettled(now) {
				p.j.files.finishFiles()
			}
		case stepFiles:
			if p.j.files.filed {
				p.tellClosed()
			}
		case stepNone, stepDone:
		}
		if p.j.st.step == before {
			return
		}
	}
}

func (p *endingPart) tellExited(now time.Time) {
	p.j.display.tellLastScreen(now)
	p.j.shell.over()
	p.j.st.step, p.j.st.status = stepBackground, StatusExited
	p.j.limits.tellOutput()
	p.j.mgr.registry.releaseName(p.j)
	p.j.publish()
	p.j.files.record(now)
	p.j.files.recording.exited(p.j.st.exit, p.j.info.EndedAt)
	hint := p.hint
	for _, r := range p.j.runs.all {
		r.onExit(now, hint, len(p.j.info.Background) > 0)
	}
	p.j.sink.Event(Event{After: p.j.waits.barrier(), Exited: &Exited{
		Exit: *p.j.st.exit, Duration: p.j.info.EndedAt.Sub(p.j.info.StartedAt), Background: p.j.info.Background, Hint: hint,
	}})
}

// tellClosed ends the job: it releases everything that only a live job needs.
func (p *endingPart) tellClosed() {
	p.j.display.tellLastScreen(time.Now())
	p.j.st.step, p.j.st.status = stepDone, StatusClosed
	p.j.info.Background, p.j.info.Ports = nil, nil
	p.j.closeDescriptors()
	p.j.term, p.j.input.to = nil, nil
	p.j.process.Store(nil)
	p.j.forgetOwn()
	p.j.publish()
	p.j.sink.Event(Event{After: p.j.waits.barrier(), Closed: &Closed{p.outlived}})
	p.j.mgr.retire(p.j)
	close(p.j.ended)
	p.j.display.releaseView()
}

// end ends the job's processes by signals. It sets the reason before any signal is sent.
func (p *endingPart) end(why Reason, o KillOptions) {
	p.j.actor.lock.Check()
	if p.j.files.isVacant() {
		return // its keeper may serve another job by now
	}
	p.j.st.intend(why, o.NoForce)
	p.j.output.lift()
	err := p.j.proc.Kill(keeper.KillOptions{Grace: o.Grace, NoForce: o.NoForce, Hangup: p.interactiveShell(), Last: why == ReasonShutdown})
	if err != nil {
		p.j.log.Debug("kill", "job", p.j.id, "error", err) // the keeper is gone, which is an event of its own
	}
}

// interactiveShell reports whether the leader is a shell that reads from a person. Such a shell ignores TERM, and ends
// when its terminal is hung up.
func (p *endingPart) interactiveShell() bool {
	if p.j.term == nil {
		return false
	}
	return proc.IsPOSIXShell(p.j.info.Argv[0]) && !slices.ContainsFunc(p.j.info.Argv[1:], func(arg string) bool {
		option := strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "+")
		command := option && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c")
		return !option || command // a script, or -c, alone or among other options
	})
}

func survivorsOf(k keeper.Report, h *redaction) (all []Survivor) {
	for _, p := range k.Survivors {
		all = append(all, Survivor{Process{p.PID, h.command(p.Command)}, p.Why})
	}
	return all
}

// onShutdown ends the job because the server ends. Requests that wait for the job's end are answered then, all others
// now.
func (p *endingPart) onShutdown(grace time.Duration) {
	p.closing = true
	why := func() *Error {
		return errorf(CodeShuttingDown, "the server is shutting down; job %d is being ended", p.j.id)
	}
	for _, other := range slices.Backward(p.j.parts) { // as in failPending
		other.shutdown(why)
	}
	if p.j.st.status != StatusClosed {
		p.end(ReasonShutdown, KillOptions{Grace: grace})
	}
}
