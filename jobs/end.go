package jobs

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/names"
	"shelld.dev/shelld/jobs/internal/plain"
	"shelld.dev/shelld/jobs/internal/proc"
)

// The end of a job goes through its parts, each of which has a share in it.
type (
	endingChanges interface{ noteStopped(is bool, signal string) }
	endingScreen  interface {
		settleScreen()
		screenSettled(now time.Time) bool
		tellLastScreen(now time.Time)
		releaseView()
	}
	endingFiles interface {
		record(now time.Time)
		recordExit()
		finishFiles()
		isFiled() bool
	}
	endingInput interface{ isWriting() bool }
	endingKills interface {
		onKilled(ev keeper.Event)
		onLost(report keeper.Report)
		isKilling() bool
	}
	endingLimits interface {
		onLimited()
		endBeyond(limit LimitName, grace time.Duration)
		tellOutput()
	}
	endingRuns interface {
		inTime()
		onExit(now time.Time, hint *Hint)
	}
	endingShell interface{ over() }
	// A jobList is the list of the server's jobs.
	jobList interface {
		releaseName(j *Job)
		retire(j *Job)
	}
)

// endingPart handles the end of a job, from the leader's exit to the closed event.
type endingPart struct {
	noPart
	j *base

	jobs    jobList
	changes endingChanges
	display endingScreen
	files   endingFiles
	input   endingInput
	kills   endingKills
	limits  endingLimits
	runs    endingRuns
	shell   endingShell

	facts      <-chan keeper.Event // keeper -> the holder of the turn; nil before the start and after its end
	hints      chan *Hint          // seekHint -> run, at most once; capacity 1
	settling   *token              // the request to the follower whose answer the end waits for
	settleFrom time.Time           // when that wait began
	hint       *Hint               // why the shell could not run its command; nil = not known
	hintUntil  time.Time           // deadline of the search for it
	outlived   []Survivor          // processes that a lost keeper has left and that could not be ended
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
				p.runs.inTime()
			}
			p.leaderEnded(ev.Background)
			if beyond {
				p.limits.endBeyond(LimitCPUMs, p.j.grace()) // the other processes
			}
		}
	case keeper.Stopped:
		p.changes.noteStopped(true, names.Signal(ev.Signal))
	case keeper.Continued:
		p.changes.noteStopped(false, "")
	case keeper.Killed:
		p.kills.onKilled(ev)
	case keeper.Empty:
		p.j.st.empty = true
	case keeper.Lost:
		p.kills.onLost(ev.Report)
		for _, left := range ev.Report.Survivors {
			p.j.log.Warn("a process outlives its job, whose keeper was lost", "job", p.j.id, "pid", left.PID, "why", left.Why)
		}
		p.outlived = survivorsOf(ev.Report, &p.j.redaction)
		p.keeperLost()
	case keeper.Limited:
		p.limits.onLimited()
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
	p.j.info.Background = p.j.redaction.processes(background)
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
			case p.settling != nil || !p.display.screenSettled(now):
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
			if p.drained() && !p.input.isWriting() {
				p.settle(stepSettleClose)
			}
		case stepSettleClose:
			if p.settling == nil && p.display.screenSettled(now) {
				p.files.finishFiles()
			}
		case stepFiles:
			if p.files.isFiled() {
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
	p.display.tellLastScreen(now)
	p.shell.over()
	p.j.st.step, p.j.st.status = stepBackground, StatusExited
	p.limits.tellOutput()
	p.jobs.releaseName(p.j.self)
	p.j.publish()
	p.files.record(now)
	p.files.recordExit()
	hint := p.hint
	p.runs.onExit(now, hint)
	p.j.sink.Event(Event{After: p.j.barrier(), Exited: &Exited{
		Exit: *p.j.st.exit, Duration: p.j.info.EndedAt.Sub(p.j.info.StartedAt), Background: p.j.info.Background, Hint: hint,
	}})
}

// tellClosed ends the job: it releases everything that only a live job needs.
func (p *endingPart) tellClosed() {
	p.display.tellLastScreen(time.Now())
	p.j.st.step, p.j.st.status = stepDone, StatusClosed
	p.j.info.Background, p.j.info.Ports = nil, nil
	p.j.closeDescriptors()
	p.j.term, p.j.stdin = nil, nil
	p.j.process.Store(nil)
	p.j.forgetOwn()
	p.j.publish()
	p.j.sink.Event(Event{After: p.j.barrier(), Closed: &Closed{p.outlived}})
	p.jobs.retire(p.j.self)
	close(p.j.ended)
	p.display.releaseView()
}

// end ends the job's processes by signals. It sets the reason before any signal is sent.
func (p *endingPart) end(why Reason, o KillOptions) {
	p.j.lock.Check()
	if p.j.isVacant() {
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
	p.j.closing = true
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

// Output may come faster than it can be matched. The end of a job waits for its matches, but not for long.

const (
	// catchUpTime is how long the end of a job waits for its output to be matched: enough for some 50 MiB with an
	// ordinary pattern, and not so long that the job seems to be stuck.
	catchUpTime = time.Second
	// catchUpKilled is the same if a kill waits. It may wait twice, at exited and at closed, and is answered after
	// fileTime: half of that is left for the files.
	catchUpKilled = fileTime / 4
	// catchUpShutdown is the same if the server ends, out of shutdownSlack.
	catchUpShutdown = shutdownSlack / 10
)

// settle has the stored output matched and drawn, as the end of the output.
func (p *endingPart) settle(next step) {
	p.j.st.step, p.settleFrom = next, time.Now()
	p.display.settleScreen()
	if f := p.j.output.follower.Load(); f != nil {
		p.settling = new(token)
		f.Sync(p.settling, nil, true)
	}
}

// settleUntil returns until when the end waits for matches.
func (p *endingPart) settleUntil() time.Time {
	switch {
	case p.j.closing:
		return p.settleFrom.Add(catchUpShutdown)
	case p.kills.isKilling():
		return p.settleFrom.Add(catchUpKilled)
	}
	return p.settleFrom.Add(catchUpTime)
}

// catchUpUntil returns until when the end waits for the follower; zero: it does not wait, or the follower gives up.
func (p *endingPart) catchUpUntil() time.Time {
	if p.settling == nil || p.j.output.follower.Load().GivesUp(p.settling) {
		return time.Time{}
	}
	return p.settleUntil()
}

// reviewSettle has the follower give up when its time is over. It answers when it has matched the few KiB that it has
// begun.
func (p *endingPart) reviewSettle(now time.Time) {
	if until := p.catchUpUntil(); !until.IsZero() && !now.Before(until) {
		p.j.log.Warn("pattern matching cannot keep up with the output of an ended job", "job", p.j.id)
		p.j.output.follower.Load().GiveUp(p.settling, p.j.closing || p.kills.isKilling())
	}
}

// onSettled notes that the follower has answered a request.
func (p *endingPart) onSettled(tok *token) {
	if p.settling == tok {
		p.settling = nil
	}
}

func (p *endingPart) isSettling() bool { return p.settling != nil }

// hintBytes is the length of the end of the output that is searched for a hint: shells print their reason last.
const hintBytes = 4 << 10

// The messages of POSIX shells, and of zsh and fish, for a command that is not found (status 127) or cannot be run
// (126). The name is one of the groups.
var (
	notFound = regexp.MustCompile(`(?m)(?:^|: )([^\s:]+): (?:command )?not found\s*$|: (?:command not found|Unknown command): (\S+)\s*$`)
	notRun   = regexp.MustCompile(`(?m)(?:^|: )([^\n:]+): (?:cannot execute: )?(?:Permission denied|Is a directory)\s*$|: permission denied: (\S.*?)\s*$|: Unknown command\. '(.+)' exists but is not an executable file\.\s*$`)
)

// hintTime is the maximum delay of a job's end while the reason is determined why a shell could not run its command.
// This usually takes a few milliseconds; 250 ms were too short on a machine with ten times the load that it can handle.
// The full time is used only if a directory on PATH does not respond.
const hintTime = time.Second

// needsHint reports whether the leader was a shell that ended because it could not run a command.
func (p *endingPart) needsHint() bool {
	e := p.j.st.exit
	return p.j.spec.Command != nil && e.Code != nil && (*e.Code == 126 || *e.Code == 127)
}

// seekHint starts a goroutine that searches for the hint, since the search reads directories. The goroutine ends when
// they have been read, and sends its result to hints, which has room for it.
func (p *endingPart) seekHint() {
	p.hintUntil = time.Now().Add(hintTime)
	code, dir, mode := *p.j.st.exit.Code, p.j.info.Cwd, p.j.info.Mode
	go func() { p.hints <- p.findHint(code, dir, mode) }()
}

// findHint returns the reason why a shell could not run a command, in the terms of a failed start.
func (p *endingPart) findHint(code int, dir string, mode Mode) *Hint {
	return p.j.hintIn(p.lastWords(mode), code, dir, mode)
}

// lastWords returns the end of the output to the terminal, or to standard error. It is "" if that is not a stream.
func (p *endingPart) lastWords(mode Mode) string {
	st := p.j.output.stream(p.j.spec.errorStream(mode))
	if st == nil {
		return ""
	}
	end := st.spool.End()
	b, _ := st.spool.ReadRange(max(end-hintBytes, 0), end)
	return plain.Text(b)
}

// hintIn returns the same for the given output of a shell.
func (j *base) hintIn(words string, code int, dir string, mode Mode) *Hint {
	re, kind := notFound, CodeCommandNotFound
	if code == 126 {
		re, kind = notRun, CodePermissionDenied
	}
	m := re.FindStringSubmatch(words)
	if m == nil {
		return nil
	}
	h := &Hint{Kind: kind, Command: strings.Join(m[1:], "")} // one of them is not empty
	env := j.spec.environ(mode, dir)
	if kind == CodeCommandNotFound {
		h.Suggestions = proc.Suggest(h.Command, env, j.mgr.settings.commands.mayRun)
		return h
	}
	_, err := proc.LookPath(h.Command, dir, env)
	if le := (*proc.LookError)(nil); errors.As(err, &le) && !errors.Is(err, fs.ErrNotExist) {
		h.Path = le.Path
	}
	return h
}

func (p *endingPart) theHint() *Hint { return p.hint }
