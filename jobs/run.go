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

// Run awaits the job's end. The answer comes with the leader's exit, once its
// output has been read, and that of others for a moment longer.
func (j *Job) Run(o RunOptions) Pending[RunResult] {
	r := newReply[RunResult]()
	j.ask(runMsg{o, r})
	return pend(j, r)
}

func (j *Job) onRun(m runMsg) {
	r := &runReq{opts: m.opts, reply: m.reply}
	if m.opts.Timeout >= 0 {
		r.deadline = j.info.StartedAt.Add(m.opts.Timeout)
	}
	if j.told() { // it was faster than this message
		r.onExit(time.Now(), j.hint, len(j.info.Background) > 0)
	}
	j.runs = append(j.runs, r)
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

func (j *Job) reviewRuns(now time.Time) {
	j.runs = slices.DeleteFunc(j.runs, func(r *runReq) bool {
		if j.told() {
			return j.reviewEnded(r, now)
		}
		return j.reviewRunning(r, now)
	})
}

// reviewEnded answers where no more output is to be expected: nobody is left, or
// those that are hold no stream, or they had their time.
func (j *Job) reviewEnded(r *runReq, now time.Time) bool {
	ended := len(j.info.Background) > 0 && j.allEnded()
	if j.st.status != StatusClosed && !ended && now.Before(r.drainUntil) {
		return false
	}
	r.reply.ok(j.runResult(r, ended || j.isVacant()))
	return true
}

func (j *Job) allEnded() bool {
	return !slices.ContainsFunc(j.streams, func(st *stream) bool { return !st.ended })
}

func (j *Job) reviewRunning(r *runReq, now time.Time) bool {
	if j.st.exit != nil {
		r.deadline = time.Time{} // It has ended in time, and its output is still being read.
	}
	if r.deadline.IsZero() || now.Before(r.deadline) {
		return false
	}
	if j.asksInput(&r.look, now) {
		return false
	}
	r.deadline, r.timedOut, r.waiting = time.Time{}, true, j.inputs.now
	if r.opts.Background {
		r.reply.ok(j.runResult(r, false))
		return true
	}
	j.end(ReasonTimeout, KillOptions{Grace: j.mgr.limits.ShutdownGrace})
	return false
}

func (j *Job) runResult(r *runReq, complete bool) RunResult {
	res := RunResult{Info: j.snapshot(), TimedOut: r.timedOut, Complete: complete, Hint: r.hint, Waiting: r.waiting, Output: map[Stream]Range{}}
	for _, s := range res.Info.Streams {
		res.Output[s.Name] = Range{From: 0, To: s.NextOffset}
		j.reads.unread[s.Name] = max(j.reads.unread[s.Name], s.NextOffset)
	}
	return res
}

// inTime says that the leader has ended by itself: of a run whose time was over in the same
// instant, and did nothing to it, it is not told.
func (j *Job) inTime() {
	for _, r := range j.runs {
		r.timedOut = false
	}
}

// cancelRun does with the job what the timeout would have done.
func (j *Job) cancelRun(tok *token) bool {
	i := slices.IndexFunc(j.runs, func(r *runReq) bool { return r.reply.tok == tok })
	if i < 0 {
		return false
	}
	r := j.runs[i]
	j.runs = slices.Delete(j.runs, i, i+1)
	err := j.canceled()
	if !r.opts.Background {
		j.end(ReasonKilled, KillOptions{Grace: j.mgr.limits.ShutdownGrace})
		err.Message = "the request was cancelled; its job is being ended"
	}
	r.reply.fail(err)
	return true
}
