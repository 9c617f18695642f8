package jobs

import (
	"slices"
	"time"
)

// RunOptions say how long a job is awaited, and what happens then.
type RunOptions struct {
	Timeout    time.Duration // < 0 = none
	Background bool          // at the timeout, and when cancelled: let it run on; else kill it
	Drain      time.Duration // how long output that others hold open is read after the exit
}

// A RunResult is a job at its end, or at the timeout.
type RunResult struct {
	Info     Info
	TimedOut bool
	Complete bool // every byte that will ever come is in Output
	Output   map[Stream]Range
	Hint     *Hint
	Waiting  *WaitingForInput // in which the job was at the timeout; nil: in none that is known
}

// A runReq awaits the end of the job.
type runReq struct {
	opts       RunOptions
	deadline   time.Time // zero: none, or over
	drainUntil time.Time // zero: the leader lives
	timedOut   bool
	hint       *Hint
	look       parting
	waiting    *WaitingForInput // at the timeout
	reply      reply[RunResult]
}

// runsPart has those who wait for the end of the job.
type runsPart struct {
	noPart
	j *Job

	all []*runReq
}

func (p *runsPart) onRun(m runMsg) {
	r := &runReq{opts: m.opts, reply: m.reply}
	if m.opts.Timeout >= 0 {
		r.deadline = p.j.info.StartedAt.Add(m.opts.Timeout)
	}
	if p.j.told() { // it was faster than this message
		r.onExit(time.Now(), p.j.ending.hint, len(p.j.info.Background) > 0)
	}
	p.all = append(p.all, r)
}

// nobodyLeft is how long at most a run waits for the word that nobody is left,
// where the leader's end has shown nobody: it comes at once, but in its own time.
const nobodyLeft = 500 * time.Millisecond

func (r *runReq) onExit(now time.Time, hint *Hint, background bool) {
	drain := r.opts.Drain
	if !background {
		drain = max(drain, nobodyLeft)
	}
	r.hint, r.deadline, r.drainUntil = hint, time.Time{}, now.Add(drain)
}

func (p *runsPart) review(now time.Time) {
	p.all = slices.DeleteFunc(p.all, func(r *runReq) bool {
		if p.j.told() {
			return p.reviewEnded(r, now)
		}
		return p.reviewRunning(r, now)
	})
}

// reviewEnded answers where no more output is to be expected: nobody is left, or
// those that are hold no stream, or they had their time.
func (p *runsPart) reviewEnded(r *runReq, now time.Time) bool {
	ended := len(p.j.info.Background) > 0 && p.allEnded()
	if p.j.st.status != StatusClosed && !ended && now.Before(r.drainUntil) {
		return false
	}
	r.reply.ok(p.result(r, ended || p.j.files.isVacant()))
	return true
}

func (p *runsPart) allEnded() bool {
	return !slices.ContainsFunc(p.j.output.streams, func(st *stream) bool { return !st.ended })
}

func (p *runsPart) reviewRunning(r *runReq, now time.Time) bool {
	if p.j.st.exit != nil {
		r.deadline = time.Time{} // It has ended in time, and its output is still being read.
	}
	if r.deadline.IsZero() || now.Before(r.deadline) {
		return false
	}
	if p.j.waiting.asksInput(&r.look, now) {
		return false
	}
	r.deadline, r.timedOut, r.waiting = time.Time{}, true, p.j.waiting.watch.now
	if r.opts.Background {
		r.reply.ok(p.result(r, false))
		return true
	}
	p.j.ending.end(ReasonTimeout, KillOptions{Grace: p.j.mgr.settings.limits.ShutdownGrace})
	return false
}

func (p *runsPart) result(r *runReq, complete bool) RunResult {
	p.j.actor.lock.Check()
	res := RunResult{Info: p.j.snapshot(), TimedOut: r.timedOut, Complete: complete, Hint: r.hint, Waiting: r.waiting, Output: map[Stream]Range{}}
	for _, s := range res.Info.Streams {
		res.Output[s.Name] = Range{From: 0, To: s.NextOffset}
		p.j.reads.unread[s.Name] = max(p.j.reads.unread[s.Name], s.NextOffset)
	}
	return res
}

// inTime says that the leader has ended by itself: of a run whose time was over in the same
// instant, and did nothing to it, it is not told.
func (p *runsPart) inTime() {
	for _, r := range p.all {
		r.timedOut = false
	}
}

// cancel does with the job what the timeout would have done.
func (p *runsPart) cancel(tok *token) bool {
	i := slices.IndexFunc(p.all, func(r *runReq) bool { return r.reply.tok == tok })
	if i < 0 {
		return false
	}
	r := p.all[i]
	p.all = slices.Delete(p.all, i, i+1)
	err := p.j.canceled()
	if !r.opts.Background {
		p.j.ending.end(ReasonKilled, KillOptions{Grace: p.j.mgr.settings.limits.ShutdownGrace})
		err.Message = "the request was cancelled; its job is being ended"
	}
	r.reply.fail(err)
	return true
}

func (p *runsPart) due(time.Time) (t time.Time) {
	for _, r := range p.all {
		t = earliest(earliest(t, r.look.later(r.deadline)), r.drainUntil)
	}
	return t
}

func (p *runsPart) pending() int { return len(p.all) }

func (p *runsPart) fail(err *Error) {
	for _, r := range p.all {
		r.reply.fail(err)
	}
	p.all = nil
}
