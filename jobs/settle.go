package jobs

import "time"

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
	p.j.display.settleScreen()
	if f := p.j.waits.follower.Load(); f != nil {
		p.settling = new(token)
		f.Sync(p.settling, nil, true)
	}
}

// settleUntil returns until when the end waits for matches.
func (p *endingPart) settleUntil() time.Time {
	switch {
	case p.closing:
		return p.settleFrom.Add(catchUpShutdown)
	case len(p.j.kills.all) > 0:
		return p.settleFrom.Add(catchUpKilled)
	}
	return p.settleFrom.Add(catchUpTime)
}

// catchUpUntil returns until when the end waits for the follower; zero: it does not wait, or the follower gives up.
func (p *endingPart) catchUpUntil() time.Time {
	if p.settling == nil || p.j.waits.follower.Load().GivesUp(p.settling) {
		return time.Time{}
	}
	return p.settleUntil()
}

// reviewSettle has the follower give up when its time is over. It answers when it has matched the few KiB that it has
// begun.
func (p *endingPart) reviewSettle(now time.Time) {
	if until := p.catchUpUntil(); !until.IsZero() && !now.Before(until) {
		p.j.log.Warn("pattern matching cannot keep up with the output of an ended job", "job", p.j.id)
		p.j.waits.follower.Load().GiveUp(p.settling, p.closing || len(p.j.kills.all) > 0)
	}
}
