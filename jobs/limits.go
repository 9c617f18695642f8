package jobs

import "time"

// A jobEnder ends the processes of a job.
type jobEnder interface {
	end(why Reason, o KillOptions)
}

// limitsPart ends a job that exceeds a limit or its lifetime.
type limitsPart struct {
	noPart
	j *base

	ending jobEnder

	killAt        time.Time // when it is ended; zero: never, or already done
	wroteTooMuch  bool      // so it is being ended
	manyProcesses bool      // so it is being ended
}

// lifetime returns how long the job may live. 0 means no limit.
func (p *limitsPart) lifetime() time.Duration {
	own, all := p.j.spec.KillAfter, p.j.mgr.settings.limits.JobTimeout
	if own == 0 || all > 0 && all < own {
		return all
	}
	return own
}

// begin sets the limits of a job that runs, including its lifetime.
func (p *limitsPart) begin() {
	if life := p.lifetime(); life > 0 {
		p.j.info.KillAfter, p.killAt = life, p.j.info.StartedAt.Add(life)
	}
	p.j.info.Limits = p.j.spec.Limits.inEffect()
}

// review ends a job that has exceeded its lifetime or its limit of output. It acts on each only once: the server may
// not be permitted to signal the processes that survive.
func (p *limitsPart) review(now time.Time) {
	if !p.killAt.IsZero() && !now.Before(p.killAt) {
		p.killAt = time.Time{}
		p.ending.end(ReasonTimeout, KillOptions{Grace: p.j.grace()})
	}
	if !p.wroteTooMuch && p.j.output.budget.isOver() {
		p.wroteTooMuch = true
		p.endBeyond(LimitOutputBytes, p.j.grace())
	}
}

// onLimited handles the keeper's report that the job has too many processes. A second report says that their number
// does not fall: then waiting is useless.
func (p *limitsPart) onLimited() {
	grace := p.j.grace()
	if p.manyProcesses {
		grace = 0
	}
	p.manyProcesses = true
	p.endBeyond(LimitProcesses, grace)
}

// endBeyond ends a job because of a limit.
func (p *limitsPart) endBeyond(limit LimitName, grace time.Duration) {
	p.j.st.intendLimit(limit)
	p.ending.end(ReasonLimit, KillOptions{Grace: grace})
}

// intendLimit does the same as intend for a limit.
func (s *state) intendLimit(limit LimitName) {
	if s.undecided() {
		s.limit = limit
		s.intend(ReasonLimit, false)
	}
}

// tellOutput changes the reason of a leader that ended by itself to the limit, if the job has written more than may be
// kept. So output is never cut silently, no matter which came first.
func (p *limitsPart) tellOutput() {
	if e := *p.j.st.exit; p.j.output.budget.isOver() && (e.Reason == ReasonExited || e.Reason == ReasonSignaled) {
		e.Reason, e.Limit = ReasonLimit, LimitOutputBytes
		p.j.st.exit = &e
	}
}

func (p *limitsPart) due(time.Time) time.Time { return p.killAt }
