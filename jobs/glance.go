package jobs

import (
	"errors"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/view"
)

// Somebody may want to know what becomes of a job's screen: a client that is told of its
// changes, and patterns that are looked for on it. Then the job takes a glance at it when
// output has come: one at a time, each in a goroutine that ends with it. While nobody wants
// to know there is neither.

const (
	// patternEvery is the least time from one glance to the next where patterns wait.
	patternEvery = 5 * time.Millisecond
	// Of a flood more is left out than drawn, and still a glance takes its time: the next
	// one begins no sooner than so many times that later.
	patternRest = 4
	changeRest  = 10
)

// A glancer is what the job's turns know of all this.
type glancer struct {
	every atomic.Int64 // how often the client is told of changes, in nanoseconds; 0: never. Anybody may set it

	// Guarded by turns:
	patterns []*view.Pattern // replaced, and never changed
	begun    int             // glances
	under    bool            // the last one has not ended
	want     int             // the one that must begin at once: somebody waits for it
	seen     int64           // up to where the last one has drawn
	size     int             // and the sizeMark then
	after    time.Time       // the next one begins no sooner
	revision uint64          // that it has found
	telling  bool            // the client is told
	told     uint64          // the one that it was told last
	tellAt   time.Time       // the next one is told no sooner
	settleTo int64           // up to where the job's end waits for a glance
	behind   bool            // but not any more
}

// A seenMsg is what a glance has found.
type seenMsg struct {
	number   int
	offset   int64
	size     int
	revision uint64
	hits     []view.Hit
	took     time.Duration
}

func (m seenMsg) deliver(j *Job) { j.display.onSeen(m) }

// tells says how often the client is told of changes; 0: never.
func (p *displayPart) tells() time.Duration {
	if p.heard == nil || p.j.st.status == StatusClosed {
		return 0
	}
	return time.Duration(p.glance.every.Load())
}

// review takes a glance where it is time for one.
func (p *displayPart) review(now time.Time) {
	g := &p.glance
	if telling := p.tells() != 0; telling != g.telling {
		g.telling, g.told, g.revision, g.tellAt = telling, 0, 0, time.Time{} // who asks again is told how it is then
		if p.j.End(PTY) > 0 {
			p.needGlance()
		}
	}
	if at := p.glanceAt(); !at.IsZero() && !now.Before(at) {
		p.beginGlance(now)
	}
	p.tellScreen(now)
}

// glanceAt is when the next glance is to begin; zero: when something has happened.
func (p *displayPart) glanceAt() (t time.Time) {
	g, every := &p.glance, p.tells()
	switch {
	case g.under || every == 0 && len(g.patterns) == 0:
		return t
	case g.want > g.begun, g.settleTo > g.seen && !g.behind:
		return p.j.epoch
	case p.j.End(PTY) == g.seen && p.sizes.Count() == g.size:
		return t
	case len(g.patterns) == 0 && g.tellAt.After(g.after):
		return g.tellAt
	}
	return latest(g.after, p.j.epoch)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// earliest is the earlier of two times, of which a zero one never comes.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// beginGlance looks at what the screen shows of all output that is stored.
func (p *displayPart) beginGlance(now time.Time) {
	g := &p.glance
	g.begun++
	g.under = true
	m := seenMsg{number: g.begun, size: p.sizes.Count()}
	v, end, patterns := p.theView(), p.j.End(PTY), g.patterns
	release := p.j.Hold()
	p.j.output.loops.Go(func() {
		defer release()
		m.offset, m.revision, m.hits = v.Poll(end, patterns)
		m.took = time.Since(now)
		p.j.ask(m)
	})
}

// onSeen takes what a glance has found.
func (p *displayPart) onSeen(m seenMsg) {
	g := &p.glance
	g.under, g.seen, g.size, g.revision = false, m.offset, m.size, m.revision
	now := time.Now()
	if len(g.patterns) > 0 {
		g.after = now.Add(max(patternEvery, patternRest*m.took) - m.took)
	} else {
		g.after = now.Add((changeRest - 1) * m.took)
	}
	p.j.waits.onHits(hitsOf(m.hits))
	p.glanced(m.number)
}

// hitsOf converts hits on the screen to those of the follower.
func hitsOf(shown []view.Hit) (hits []followerHit) {
	for _, h := range shown {
		hits = append(hits, followerHit{key: h.Key, stream: PTY, match: h.Match, place: h.Place, shown: h.Shown, removed: h.Removed})
	}
	return hits
}

// glanced says to those who wait for a glance that it was taken.
func (p *displayPart) glanced(number int) {
	for _, w := range p.j.waits.armed {
		if w.glance <= number {
			w.glance = 0
		}
	}
	for tok, u := range p.j.waits.unwatches {
		if u.glance != 0 && u.glance <= number {
			p.j.waits.onSynced(tok, false)
		}
	}
}

// tellScreen tells that the screen has changed, where it is time for that.
func (p *displayPart) tellScreen(now time.Time) {
	g, every := &p.glance, p.tells()
	if every == 0 || g.revision == g.told || now.Before(g.tellAt) {
		return
	}
	g.told, g.tellAt = g.revision, now.Add(every)
	p.j.sink.Event(Event{After: map[Stream]int64{PTY: g.seen}, Screen: &ScreenChanged{g.revision, g.seen}})
}

// tellLastScreen tells the last change before the job's end, which nothing may follow.
func (p *displayPart) tellLastScreen(now time.Time) {
	p.glance.tellAt = time.Time{}
	p.tellScreen(now)
}

// glanceDue is when a turn has something to do about the screen; zero: it waits for others.
func (p *displayPart) glanceDue() (t time.Time) {
	if g := &p.glance; p.tells() != 0 && g.revision != g.told {
		t = g.tellAt
	}
	if at := p.glanceAt(); t.IsZero() || !at.IsZero() && at.Before(t) {
		return at
	}
	return t
}

// needGlance has one begin at once, or when the one that is under way has ended, and
// returns its number.
func (p *displayPart) needGlance() int {
	p.j.actor.lock.Check()
	p.glance.want = p.glance.begun + 1
	return p.glance.want
}

// settleScreen has the job's end wait until what is stored was seen on the screen.
func (p *displayPart) settleScreen() { p.glance.settleTo, p.glance.behind = p.j.End(PTY), false }

// screenSettled says whether it waits no longer. Where that takes too long it gives up.
func (p *displayPart) screenSettled(now time.Time) bool {
	if until := p.screenUntil(); !until.IsZero() && now.Before(until) {
		return false
	} else if !until.IsZero() {
		p.giveUpScreen()
	}
	return true
}

// screenUntil is how long the end waits for a glance; zero: it does not.
func (p *displayPart) screenUntil() (t time.Time) {
	g := &p.glance
	settles := p.j.st.step == stepSettleExit || p.j.st.step == stepSettleClose
	if !settles || g.seen >= g.settleTo || g.behind || p.tells() == 0 && len(g.patterns) == 0 {
		return t
	}
	return p.j.ending.settleUntil()
}

// giveUpScreen ends the patterns that have not seen all of the screen in time.
func (p *displayPart) giveUpScreen() {
	p.j.log.Warn("the screen of an ended job cannot be drawn in time", "job", p.j.id)
	p.glance.behind = true
	var hits []followerHit
	for _, sp := range p.glance.patterns {
		hits = append(hits, followerHit{key: sp.Key, behind: errors.New("the job ended, and its screen could not be drawn in time")})
	}
	p.j.waits.onHits(hits)
	p.glanced(p.glance.want)
}

// due is when a turn has something to do about the screen.
func (p *displayPart) due(time.Time) time.Time { return earliest(p.screenUntil(), p.glanceDue()) }
