package jobs

import "time"

// Output may come faster than it can be matched, and the end of a job waits for its
// matches: not for long.

const (
	// catchUpTime is how long the end of a job waits for what it wrote to be matched:
	// some 50 MiB of it with a pattern such as they are, and not so long that somebody
	// takes the job for stuck.
	catchUpTime = time.Second
	// catchUpKilled is the same where a kill waits. It may wait twice, at exited and
	// at closed, and is answered after fileTime: half of that is left for the files.
	catchUpKilled = fileTime / 4
	// catchUpShutdown is the same where the server ends, out of shutdownSlack.
	catchUpShutdown = shutdownSlack / 10
)

// catchUpUntil is when the end waits for the follower no longer.
func (p *endingPart) catchUpUntil() time.Time {
	if p.settling == nil || p.j.waits.follower.Load().GivesUp(p.settling) {
		return time.Time{}
	}
	return p.settleUntil()
}

// settleUntil is how long the end waits for matches.
func (p *endingPart) settleUntil() time.Time {
	switch {
	case p.closing:
		return p.settleFrom.Add(catchUpShutdown)
	case len(p.j.kills.all) > 0:
		return p.settleFrom.Add(catchUpKilled)
	}
	return p.settleFrom.Add(catchUpTime)
}

// reviewSettle tells the follower when it is waited for no longer. It answers when it
// is done with the few KiB that it has begun.
func (p *endingPart) reviewSettle(now time.Time) {
	if until := p.catchUpUntil(); !until.IsZero() && !now.Before(until) {
		p.j.log.Warn("patterns cannot keep up with the output of an ended job", "job", p.j.id)
		p.j.waits.follower.Load().GiveUp(p.settling, p.closing || len(p.j.kills.all) > 0)
	}
}
