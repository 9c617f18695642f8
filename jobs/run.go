package jobs

import (
	"slices"
	"time"
)

// A runReq waits for the end of the job.
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

type (
	// A runEnder ends a job, and knows why its shell could not run its command; nil: that is not known.
	runEnder interface {
		end(why Reason, o KillOptions)
		theHint() *Hint
	}
	// A lastProber probes once more whether the job waits for input.
	lastProber interface {
		asksInput(look *parting, now time.Time) bool
	}
)

// runsPart has the requests that wait for the end of the job.
type runsPart struct {
	noPart
	j *base

	ending  runEnder
	waiting lastProber

	all []*runReq
}

func (p *runsPart) onRun(m runMsg) {
	r := &runReq{opts: m.opts, reply: m.reply}
	if m.opts.Timeout >= 0 {
		r.deadline = p.j.info.StartedAt.Add(m.opts.Timeout)
	}
	if p.j.told() { // the job ended before this message
		r.onExit(time.Now(), p.ending.theHint(), len(p.j.info.Background) > 0)
	}
	p.all = append(p.all, r)
}

// nobodyLeft is the maximum time that a run waits for the report that no process is left, if none was seen at the
// leader's end. The report is immediate, but it is not synchronized with the leader's end.
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

// reviewEnded answers a request if no more output is to be expected: no process is left, or the remaining ones hold no
// stream, or the drain time is over.
func (p *runsPart) reviewEnded(r *runReq, now time.Time) bool {
	ended := len(p.j.info.Background) > 0 && p.allEnded()
	if p.j.st.status != StatusClosed && !ended && now.Before(r.drainUntil) {
		return false
	}
	r.reply.ok(p.result(r, ended || p.j.isVacant()))
	return true
}

func (p *runsPart) allEnded() bool {
	return !slices.ContainsFunc(p.j.output.streams, func(st *stream) bool { return !st.ended })
}

func (p *runsPart) reviewRunning(r *runReq, now time.Time) bool {
	if p.j.st.exit != nil {
		r.deadline = time.Time{} // The leader has ended in time, and its output is still being read.
	}
	if r.deadline.IsZero() || now.Before(r.deadline) {
		return false
	}
	if p.waiting.asksInput(&r.look, now) {
		return false
	}
	r.deadline, r.timedOut, r.waiting = time.Time{}, true, p.j.waitingFor
	if r.opts.Background {
		r.reply.ok(p.result(r, false))
		return true
	}
	p.ending.end(ReasonTimeout, KillOptions{Grace: p.j.grace()})
	return false
}

func (p *runsPart) result(r *runReq, complete bool) RunResult {
	p.j.lock.Check()
	res := RunResult{Info: p.j.snapshot(), TimedOut: r.timedOut, Complete: complete, Hint: r.hint, Waiting: r.waiting, Output: map[Stream]Range{}}
	for _, s := range res.Info.Streams {
		res.Output[s.Name] = Range{From: 0, To: s.NextOffset}
		p.j.output.unread[s.Name] = max(p.j.output.unread[s.Name], s.NextOffset)
	}
	return res
}

// inTime notes that the leader has ended by itself. If the timeout of a run expired at the same moment, and did
// nothing to the job, the run is not reported as timed out.
func (p *runsPart) inTime() {
	for _, r := range p.all {
		r.timedOut = false
	}
}

// cancel handles the job as the timeout would have done.
func (p *runsPart) cancel(tok *token) bool {
	i := slices.IndexFunc(p.all, func(r *runReq) bool { return r.reply.tok == tok })
	if i < 0 {
		return false
	}
	r := p.all[i]
	p.all = slices.Delete(p.all, i, i+1)
	err := p.j.canceled()
	if !r.opts.Background {
		p.ending.end(ReasonKilled, KillOptions{Grace: p.j.grace()})
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

// onExit handles the report of the exit.
func (p *runsPart) onExit(now time.Time, hint *Hint) {
	for _, r := range p.all {
		r.onExit(now, hint, len(p.j.info.Background) > 0)
	}
}
