package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

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
	// lastLook is what the follower has beyond that, by its own clock: on a machine
	// that stands still nothing is given up that would have been done at once.
	lastLook = 100 * time.Millisecond
)

// A haste is when the follower has heard that it is waited for no longer.
type haste struct {
	tok    *token
	from   time.Time
	struck int // how often it has begun anew
}

// mostStruck bounds how often a haste begins anew: two patterns that are removed for their time
// limit, of up to 2 s of a processor each.
const mostStruck = 4

// struck has what is waited for begin anew after a search that ran out of time: the others have a
// look at what is there, for a pattern that explodes harms itself alone. Who kills the job or ends
// the server is not made to wait for that.
func (f *follower) struck() {
	if f.haste.tok != nil && f.haste.struck < mostStruck && !f.pressed.Load() {
		f.haste.from = time.Now()
		f.haste.struck++
	}
}

// hurried says whether what has not been matched is to be given up.
func (f *follower) hurried() bool {
	t := f.hurry.Load()
	if t == nil || t == f.synced {
		return false
	}
	if f.haste.tok != t {
		f.haste = haste{tok: t, from: time.Now()}
	}
	return time.Since(f.haste.from) >= lastLook
}

// stops says whether nobody waits for what would be matched now.
func (f *follower) stops() bool { return isClosed(f.quit) || f.hurried() }

// giveUp brings every cursor to the end of what is stored, and tells which patterns
// have not seen it, and from where on.
func (f *follower) giveUp() {
	unseen := map[int][]string{}
	var keys []int
	for _, s := range f.sets {
		at := s.set.Unseen()
		if !s.cut && s.echo == nil && at == s.set.Offset() {
			continue
		}
		for _, key := range s.set.IDs() {
			if unseen[key] == nil {
				keys = append(keys, key)
			}
			unseen[key] = append(unseen[key], fmt.Sprintf("%s from offset %d on", s.st.name, at))
		}
		s.set.Skip(s.st.spool.End() - s.set.Offset())
		s.echo, s.cut, s.seen = nil, false, s.set.Offset()
	}
	slices.Sort(keys)
	var hits []followerHit
	for _, key := range keys {
		hits = append(hits, followerHit{key: key, behind: errors.New("the job ended, and its output had come faster than it could be matched; not looked at was " + strings.Join(unseen[key], ", and "))})
	}
	if len(hits) > 0 {
		f.post(hits)
	}
}

// catchUpUntil is when the end waits for the follower no longer.
func (p *endingPart) catchUpUntil() time.Time {
	if p.settling == nil || p.j.waits.follower.Load().hurry.Load() == p.settling {
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
		f := p.j.waits.follower.Load()
		f.pressed.Store(p.closing || len(p.j.kills.all) > 0)
		f.hurry.Store(p.settling)
	}
}
