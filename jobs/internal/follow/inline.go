package follow

import "time"

// A readLoop that does the follower's work must not be held up by it: not by what
// is stored and has not been matched, not by the job's loop, and by a pattern that
// takes its time only now and then.

const (
	// hereBytes is the most of a stream that is matched in such a turn.
	hereBytes = 4 << 10
	// hereTime is how long one may take; a few times what a handful of patterns does.
	hereTime = 2 * time.Millisecond
	// hereRest is how many outputs are left to run after one that took longer.
	hereRest = 16
)

// hereTurns is what a follower remembers of these turns.
type hereTurns struct {
	on   bool  // one goes on
	hits []Hit // that it has found
	owed bool  // the job's loop has not said that it took the hits of the last one
	rest int   // outputs that are left to run
}

// OutputCame takes a turn for a readLoop, or leaves it to run.
func (f *Follower) OutputCame(few bool) {
	if !few || !f.busy.TryLock() {
		f.Poke()
		return
	}
	defer f.busy.Unlock()
	if !f.mayHere() {
		f.Poke()
		return
	}
	began := time.Now()
	f.here.on = true
	more := f.work()
	f.here.on = false
	if hits := f.here.hits; len(hits) > 0 {
		f.here.hits, f.here.owed = nil, true
		f.owner.Hits(hits, f.taken)
	}
	if time.Since(began) > hereTime {
		f.here.rest = hereRest
	}
	if more {
		f.Poke()
	}
}

// mayHere says whether there is little to do.
func (f *Follower) mayHere() bool {
	if f.here.owed {
		select {
		case <-f.taken:
			f.here.owed = false
		default:
			return false
		}
	}
	if f.here.rest > 0 {
		f.here.rest--
		return false
	}
	for _, s := range f.sets {
		if s.src.Spool().End()-s.set.Offset() > hereBytes {
			return false
		}
	}
	return len(f.syncs) == 0 && f.mail.Empty() && !f.hurried()
}

// settleHere waits until the job's loop has taken what the last such turn has found. It
// returns false where the follower ends.
func (f *Follower) settleHere() bool {
	if f.here.owed {
		select {
		case <-f.taken:
			f.here.owed = false
		case <-f.quit:
			return false
		}
	}
	return true
}
