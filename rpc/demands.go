package rpc

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"shelld.dev/shelld/jobs"
)

// Demands are what the listeners of a job ask of it. The job knows only what they ask together: a report that one of
// them wants is made, and the program waits for the slowest of those for which it is to wait.
type demands struct {
	job *jobs.Job // set once, before anything is demanded; nil in tests

	mu   sync.Mutex // no other lock is taken under it
	of   map[*lane]*demand
	away []*demand // of clients that are gone, and may come back, in the order in which they left
}

// A demand is what one listener asks for.
type demand struct {
	waiting bool                  // events about waits for input
	screen  time.Duration         // the interval of events about the screen; 0: none
	answers bool                  // it answers the queries of programs
	holds   map[jobs.Stream]*held // the streams that wait for it
	stays   bool                  // they go on waiting while it is away

	// Of a client that is away:
	client string
	over   *time.Timer // not nil: then streams no longer wait for it
}

// A held stream is at most window bytes ahead of what was sent.
type held struct{ window, sent int64 }

func (d *demands) ofLocked(l *lane) *demand {
	one := d.of[l]
	if one == nil {
		one = &demand{holds: map[jobs.Stream]*held{}}
		d.of[l] = one
	}
	return one
}

// tell sets which reports a listener wants, and whether it answers the queries of programs. It returns whether any
// listener does.
func (d *demands) tell(l *lane, waiting bool, screen time.Duration, answers bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.ofLocked(l)
	one.waiting, one.screen, one.answers = waiting, screen, answers
	d.tellLocked()
	return d.answeredLocked()
}

func (d *demands) tellLocked() {
	waiting, screen := false, time.Duration(0)
	for _, one := range d.allLocked() {
		waiting = waiting || one.waiting
		if one.screen > 0 && (screen == 0 || one.screen < screen) {
			screen = one.screen
		}
	}
	if d.job != nil {
		d.job.TellScreen(screen)
		d.job.TellWaiting(waiting)
	}
}

// answered reports whether a listener answers the queries of programs.
func (d *demands) answered() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.answeredLocked()
}

func (d *demands) answeredLocked() bool {
	for _, one := range d.allLocked() {
		if one.answers {
			return true
		}
	}
	return false
}

// begin is called for a listener before the first sent.
func (d *demands) begin(l *lane) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ofLocked(l)
}

// drop ends what a listener of a closed job has asked for: nothing waits for it.
func (d *demands) drop(l *lane) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, l)
}

// sent reports how far a stream was sent to a listener, which may be gone by now.
func (d *demands) sent(l *lane, name jobs.Stream, off int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.of[l]
	if one == nil {
		return
	}
	if one.holds[name] == nil {
		one.holds[name] = &held{}
	}
	one.holds[name].sent = off
	sent, _ := d.slowestLocked(name, one.holds[name])
	d.job.Sent(name, sent)
}

// holdTo makes a stream wait for a listener, or no longer wait if the window is 0.
func (d *demands) holdTo(l *lane, name jobs.Stream, window int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.ofLocked(l)
	if one.holds[name] == nil {
		one.holds[name] = &held{}
	}
	one.holds[name].window = window
	d.holdLocked(name)
}

func (d *demands) holdLocked(name jobs.Stream) {
	sent, window := d.slowestLocked(name, nil)
	if window > 0 {
		d.job.Sent(name, sent)
	}
	d.job.HoldTo(name, window)
}

// slowestLocked returns how far a stream was sent to the slowest listener for which it waits, or to this one, and the
// smallest window; 0: it waits for none.
func (d *demands) slowestLocked(name jobs.Stream, this *held) (sent, window int64) {
	sent, window = math.MaxInt64, math.MaxInt64
	for _, one := range d.allLocked() {
		if h := one.holds[name]; h != nil && (h.window > 0 || h == this) {
			sent = min(sent, h.sent)
			if h.window > 0 {
				window = min(window, h.window)
			}
		}
	}
	if window == math.MaxInt64 {
		window = 0
	}
	return sent, window
}

// stay sets whether the program goes on waiting for a listener while that is away.
func (d *demands) stay(l *lane, is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ofLocked(l).stays = is
}

// mostAway is for how many clients that are away a job keeps what they have asked for: the last to leave.
const mostAway = 100

// An absence says what becomes of the demand of a listener that is gone.
type absence struct {
	client string                // that may come back; "": none will
	sent   map[jobs.Stream]int64 // how far output was sent to it
	holds  time.Duration         // how long the program may wait for it; negative: until it comes
}

// leave ends what a listener that is gone has asked for. Until its client comes back, events about waits for input go on,
// since they are kept for it, and the program waits from where output was sent up to, if it is to.
func (d *demands) leave(l *lane, a absence) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.of[l]
	if one == nil {
		return
	}
	delete(d.of, l)
	gone := &demand{waiting: one.waiting, client: a.client, holds: map[jobs.Stream]*held{}}
	if one.stays && a.holds != 0 {
		for name, off := range a.sent {
			gone.holds[name] = &held{l.out.window.Load(), off}
		}
	}
	if a.client != "" && (gone.waiting || len(gone.holds) > 0) {
		d.returnedLocked(a.client)
		d.away = append(d.away, gone)
		if len(d.away) > mostAway {
			d.returnedLocked(d.away[0].client)
		}
		for name := range gone.holds {
			d.holdLocked(name)
		}
		if len(gone.holds) > 0 && a.holds > 0 {
			gone.over = time.AfterFunc(a.holds, func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.releaseLocked(gone)
			})
		}
	}
	d.releaseLocked(one)
	d.tellLocked()
}

// returned ends what a client had asked for before it left: it has come back, and asks anew.
func (d *demands) returned(client string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.returnedLocked(client)
	d.tellLocked()
}

func (d *demands) returnedLocked(client string) {
	i := slices.IndexFunc(d.away, func(one *demand) bool { return one.client == client })
	if i < 0 {
		return
	}
	one := d.away[i]
	d.away = slices.Delete(d.away, i, i+1)
	one.forgo()
	d.releaseLocked(one)
}

// forgo stops the clock of a listener that is away.
func (one *demand) forgo() {
	if one.over != nil {
		one.over.Stop()
	}
}

// end is called when nothing more comes of the job.
func (d *demands) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.away {
		one.forgo()
	}
	d.away = nil
}

// allLocked returns the demands of the listeners that are there, and of those that are away.
func (d *demands) allLocked() []*demand {
	return slices.AppendSeq(slices.Clone(d.away), maps.Values(d.of))
}

// releaseLocked lets streams go on that have waited for a listener.
func (d *demands) releaseLocked(one *demand) {
	names := slices.Collect(maps.Keys(one.holds))
	clear(one.holds)
	for _, name := range names {
		d.holdLocked(name)
	}
}
