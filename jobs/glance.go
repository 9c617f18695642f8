package jobs

import (
	"errors"
	"slices"
	"time"

	"shelld.dev/shelld/jobs/internal/view"
)

// A client that is notified of screen changes and patterns that are searched on the screen both need the state of a
// job's screen. The job then takes a glance, which is a probe of the screen, when output has come. It takes one glance
// at a time, each in a goroutine that ends with the glance. Without such a client or pattern there is neither glance
// nor goroutine.

const (
	// patternEvery is the minimum time from one glance to the next while patterns wait.
	patternEvery = 5 * time.Millisecond
	// During a flood more output is left out than drawn, but a glance still takes time. So the next glance begins no
	// sooner than this many times the duration of the last one later.
	patternRest = 4
	changeRest  = 10
)

// A glancer is the state of glances that the job's turns hold.
type glancer struct {
	// Guarded by turns:
	patterns []*view.Pattern // replaced, never changed
	begun    int             // number of glances begun
	under    bool            // the last glance has not ended
	want     int             // the number of a glance that must begin at once: something waits for it
	seen     int64           // the offset up to which the last glance has drawn
	size     int             // sizes.Count() at that time
	after    time.Time       // the next glance begins no sooner
	revision uint64          // the screen's revision at the last glance
	telling  bool            // the client is notified
	told     uint64          // the revision last reported to the client
	tellAt   time.Time       // the next notification is sent no sooner
	settleTo int64           // the offset up to which the job's end waits for a glance
	behind   bool            // but it has given up waiting
}

// A seenMsg is the result of a glance.
type seenMsg struct {
	number   int
	offset   int64
	size     int
	revision uint64
	hits     []view.Hit
	took     time.Duration
}

func (seenMsg) message() {}

// tells returns the interval of notifications to the client. It is 0 if there are none.
func (p *displayPart) tells() time.Duration {
	if p.j.heard == nil || p.j.st.status == StatusClosed {
		return 0
	}
	return time.Duration(p.j.wants.screen.Load())
}

// review takes a glance if one is due.
func (p *displayPart) review(now time.Time) {
	g := &p.glance
	if telling := p.tells() != 0; telling != g.telling {
		// A client that subscribes again is sent the current state.
		g.telling, g.told, g.revision, g.tellAt = telling, 0, 0, time.Time{}
		if p.j.End(PTY) > 0 {
			p.needGlance()
		}
	}
	if at := p.glanceAt(); !at.IsZero() && !now.Before(at) {
		p.beginGlance(now)
	}
	p.tellScreen(now)
}

// glanceAt returns when the next glance is to begin. It is zero if that depends on an event.
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

// beginGlance begins a probe of the screen as it is after all stored output.
func (p *displayPart) beginGlance(now time.Time) {
	g := &p.glance
	g.begun++
	g.under = true
	m := seenMsg{number: g.begun, size: p.sizes.Count()}
	v, end, patterns := p.theView(), p.j.End(PTY), g.patterns
	release := p.j.Hold()
	p.j.background(func() {
		defer release()
		m.offset, m.revision, m.hits = v.Poll(end, patterns)
		m.took = time.Since(now)
		p.j.ask(m)
	})
}

// onSeen handles the result of a glance.
func (p *displayPart) onSeen(m seenMsg) {
	g := &p.glance
	g.under, g.seen, g.size, g.revision = false, m.offset, m.size, m.revision
	now := time.Now()
	if len(g.patterns) > 0 {
		g.after = now.Add(max(patternEvery, patternRest*m.took) - m.took)
	} else {
		g.after = now.Add((changeRest - 1) * m.took)
	}
	p.waits.onShown(m.hits)
	p.waits.glanced(m.number)
}

// tellScreen notifies the client that the screen has changed, if a notification is due.
func (p *displayPart) tellScreen(now time.Time) {
	g, every := &p.glance, p.tells()
	if every == 0 || g.revision == g.told || now.Before(g.tellAt) {
		return
	}
	g.told, g.tellAt = g.revision, now.Add(every)
	p.j.sink.Event(Event{After: map[Stream]int64{PTY: g.seen}, Screen: &ScreenChanged{g.revision, g.seen}})
}

// tellLastScreen reports the last change before the job's end. No change may follow the end.
func (p *displayPart) tellLastScreen(now time.Time) {
	p.glance.tellAt = time.Time{}
	p.tellScreen(now)
}

// glanceDue returns when a turn has work to do for the screen. It is zero if that depends on an event.
func (p *displayPart) glanceDue() (t time.Time) {
	if g := &p.glance; p.tells() != 0 && g.revision != g.told {
		t = g.tellAt
	}
	if at := p.glanceAt(); t.IsZero() || !at.IsZero() && at.Before(t) {
		return at
	}
	return t
}

// needGlance makes a glance begin at once, or when the current glance has ended. It returns the number of that glance.
func (p *displayPart) needGlance() int {
	p.j.lock.Check()
	p.glance.want = p.glance.begun + 1
	return p.glance.want
}

// settleScreen makes the job's end wait until a glance has seen all output stored so far.
func (p *displayPart) settleScreen() { p.glance.settleTo, p.glance.behind = p.j.End(PTY), false }

// screenSettled reports whether the job's end waits for the screen no longer. If the wait takes too long, it gives up
// the screen.
func (p *displayPart) screenSettled(now time.Time) bool {
	if until := p.screenUntil(); !until.IsZero() && now.Before(until) {
		return false
	} else if !until.IsZero() {
		p.giveUpScreen()
	}
	return true
}

// screenUntil returns the time limit of the end's wait for a glance. It is zero if the end does not wait.
func (p *displayPart) screenUntil() (t time.Time) {
	g := &p.glance
	settles := p.j.st.step == stepSettleExit || p.j.st.step == stepSettleClose
	if !settles || g.seen >= g.settleTo || g.behind || p.tells() == 0 && len(g.patterns) == 0 {
		return t
	}
	return p.ending.settleUntil()
}

// giveUpScreen ends the patterns that have not seen all of the screen in time.
func (p *displayPart) giveUpScreen() {
	p.j.log.Warn("the screen of an ended job could not be drawn in time", "job", p.j.id)
	p.glance.behind = true
	var keys []int
	for _, sp := range p.glance.patterns {
		keys = append(keys, sp.Key)
	}
	p.waits.onUnseen(keys, errors.New("the job ended, and its screen could not be drawn in time"))
	p.waits.glanced(p.glance.want)
}

// due returns when a turn has work to do for the screen.
func (p *displayPart) due(time.Time) time.Time { return earliest(p.screenUntil(), p.glanceDue()) }

// lookFor adds a pattern that is searched on the screen. The next glance begins at once, because the screen may already
// show a match.
func (p *displayPart) lookFor(key int, w *WatchSpec, after int64) {
	sp := &view.Pattern{Key: key, Pattern: w.compiled, After: after}
	p.glance.patterns = append(slices.Clip(p.glance.patterns), sp)
	p.needGlance()
}

// lookNoMore removes a pattern if it is one that is searched on the screen.
func (p *displayPart) lookNoMore(key int) {
	has := func(sp *view.Pattern) bool { return sp.Key == key }
	if slices.ContainsFunc(p.glance.patterns, has) {
		p.glance.patterns = slices.DeleteFunc(slices.Clone(p.glance.patterns), has)
	}
}
