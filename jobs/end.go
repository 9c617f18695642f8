package jobs

import (
	"slices"
	"strings"
	"time"

	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/proc"
)

// onFact takes what the keeper says. The channel ends when the keeper is gone.
func (j *Job) onFact(ev keeper.Event, ok bool) {
	if !ok {
		j.facts = nil
		if !j.st.empty || j.st.exit == nil {
			j.keeperLost()
		}
		return
	}
	switch ev.Kind {
	case keeper.Exited:
		if j.st.exit == nil {
			beyond := ev.Limit == keeper.LimitCPU
			if beyond && ev.ByItself {
				j.st.reason = "" // Who was about to end it came too late: the kernel has.
			}
			if beyond {
				j.st.intendLimit(LimitCPUMs)
			}
			j.st.leaderExited(ev.Code, ev.Signal, ev.Core, ev.ByItself && !beyond, time.Now())
			if ev.ByItself {
				j.runs.inTime()
			}
			j.leaderEnded(ev.Background)
			if beyond {
				j.limits.endBeyond(LimitCPUMs, j.mgr.limits.ShutdownGrace) // the rest of it
			}
		}
	case keeper.Stopped:
		j.changes.noteStopped(true, signalName(ev.Signal))
	case keeper.Continued:
		j.changes.noteStopped(false, "")
	case keeper.Killed:
		j.kills.onKilled(ev)
	case keeper.Empty:
		j.st.empty = true
	case keeper.Lost:
		if len(j.kills.all) > 0 { // What they would have told, the server has done itself.
			j.kills.report.add(ev.Report, &j.redaction)
		}
		for _, p := range ev.Report.Survivors {
			j.log.Warn("a process of a job whose keeper was lost lives on", "job", j.id, "pid", p.PID, "why", p.Why)
		}
		j.outlived = survivorsOf(ev.Report, &j.redaction)
		j.keeperLost()
	case keeper.Limited:
		j.limits.onLimited()
	}
}

func (j *Job) keeperLost() {
	j.log.Error("keeper lost", "job", j.id)
	live := j.st.exit == nil
	j.st.keeperLost(time.Now())
	if live {
		j.leaderEnded(nil)
	}
}

// leaderEnded begins the end: nothing more is typed, and every stream is read
// until a read begun now finds nothing, since a status says nothing about what is
// still on its way.
func (j *Job) leaderEnded(background []keeper.Proc) {
	j.info.EndedAt = j.st.exitedAt
	j.info.Background = j.changes.processes(background)
	ended := func() *Error {
		e := errorf(CodeJobExited, "job %d %s before it had read all of this input", j.id, exitText(j.st.exit))
		e.Handle, e.Exit = j.id, j.st.exit
		return e
	}
	j.dropInput(ended)
	j.asking.dropAsked(ended)
	j.drain()
}

func (j *Job) drain() {
	for _, st := range j.streams {
		if !st.ended && (!st.src.Idle() || st.holding.Load() != holdsNothing) {
			st.draining = true
			st.pass() // first: what answers to the drain ends it
			st.src.Drain()
		}
	}
}

func (j *Job) drained() bool {
	return !slices.ContainsFunc(j.streams, func(st *stream) bool { return st.draining })
}

func (j *Job) onStreamEnd(e streamEnd) {
	e.st.draining = false
	e.st.ended = e.st.ended || e.ended
}

// reviewEnd takes the steps from the leader's end to the job's: drained, seen by
// the matcher, told; and the same again when nothing is alive. Each is taken once,
// in this order, so that exited and closed come after the output they speak of and
// after its matches.
func (j *Job) reviewEnd(now time.Time) {
	for {
		before := j.st.step
		switch j.st.step {
		case stepDrainExit:
			if j.drained() {
				j.settle(stepSettleExit)
			}
		case stepSettleExit:
			switch {
			case j.settling != nil || !j.screenSettled(now):
			case j.needsHint():
				j.st.step = stepHint
				j.seekHint()
			default:
				j.tellExited(now)
			}
		case stepHint:
			if j.hint != nil || !now.Before(j.hintUntil) {
				j.tellExited(now)
			}
		case stepBackground:
			if j.st.empty {
				j.st.step = stepDrainClose
				j.drain()
			}
		case stepDrainClose:
			// The writeLoop says what the kernel has taken before nobody asks any
			// more; it was interrupted when the leader ended.
			if j.drained() && !j.queue.writing {
				j.settle(stepSettleClose)
			}
		case stepSettleClose:
			if j.settling == nil && j.screenSettled(now) {
				j.files.finishFiles()
			}
		case stepFiles:
			if j.files.filed {
				j.tellClosed()
			}
		case stepNone, stepDone:
		}
		if j.st.step == before {
			return
		}
	}
}

// settle asks the follower to match what is stored, as the end of the data.
func (j *Job) settle(next step) {
	j.st.step, j.settleFrom = next, time.Now()
	j.settleScreen()
	if f := j.follower.Load(); f != nil {
		j.settling = new(token)
		f.mail.Put(followSync{j.settling, true, nil})
	}
}

func (j *Job) tellExited(now time.Time) {
	j.tellLastScreen(now)
	j.shellEnd()
	j.st.step, j.st.status = stepBackground, StatusExited
	j.limits.tellOutput()
	j.mgr.releaseName(j)
	j.publish()
	j.files.record(now)
	j.files.recording.exited(j.st.exit, j.info.EndedAt)
	hint := j.hint
	for _, r := range j.runs.all {
		r.onExit(now, hint, len(j.info.Background) > 0)
	}
	j.sink.Event(Event{After: j.barrier(), Exited: &Exited{
		Exit: *j.st.exit, Duration: j.info.EndedAt.Sub(j.info.StartedAt), Background: j.info.Background, Hint: hint,
	}})
}

// tellClosed is the end: what only a live job needs is given back.
func (j *Job) tellClosed() {
	j.tellLastScreen(time.Now())
	j.st.step, j.st.status = stepDone, StatusClosed
	j.info.Background, j.info.Ports = nil, nil
	j.closeDescriptors()
	j.term, j.input = nil, nil
	j.process.Store(nil)
	j.forgetOwn()
	j.publish()
	j.sink.Event(Event{After: j.barrier(), Closed: &Closed{j.outlived}})
	j.mgr.retire(j)
	close(j.ended)
	j.restView()
}

// end sends the signals, with the reason for it settled first.
func (j *Job) end(why Reason, o KillOptions) {
	if j.files.isVacant() {
		return // its keeper may have another job by now
	}
	j.st.intend(why, o.NoForce)
	j.lift()
	err := j.proc.Kill(keeper.KillOptions{Grace: o.Grace, NoForce: o.NoForce, Hangup: j.interactiveShell(), Last: why == ReasonShutdown})
	if err != nil {
		j.log.Debug("kill", "job", j.id, "error", err) // the keeper is gone, and says so itself
	}
}

// interactiveShell says whether the leader is a shell that waits for a person: such
// a one ignores TERM, and ends when its terminal is hung up.
func (j *Job) interactiveShell() bool {
	if j.term == nil {
		return false
	}
	return proc.IsPOSIXShell(j.info.Argv[0]) && !slices.ContainsFunc(j.info.Argv[1:], func(arg string) bool {
		option := strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "+")
		command := option && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c")
		return !option || command // a script, or -c in any company
	})
}

func survivorsOf(k keeper.Report, h *redaction) (all []Survivor) {
	for _, p := range k.Survivors {
		all = append(all, Survivor{Process{p.PID, h.command(p.Command)}, p.Why})
	}
	return all
}

// onShutdown ends the job because the server ends. What waits for its end is
// answered then; what waits for anything else, now.
func (j *Job) onShutdown(grace time.Duration) {
	j.closing = true
	const why = "the server is shutting down; job %d is being ended"
	j.armHeldWaits()
	j.abortWaits(CodeShuttingDown, why, j.id)
	ending := func() *Error { return errorf(CodeShuttingDown, why, j.id) }
	j.dropInput(ending)
	j.asking.dropAsked(ending)
	if j.shell != nil {
		j.failExecs(ending)
		j.failTasks(ending)
	}
	if j.st.status != StatusClosed {
		j.end(ReasonShutdown, KillOptions{Grace: grace})
	}
}
