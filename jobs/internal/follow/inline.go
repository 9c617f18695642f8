package follow

import "time"

// A goroutine that stores output may do the matching itself (OutputCame). It must not be held up by that: not by output
// that is stored and not matched yet, not by the owner, and by a slow pattern only now and then.

const (
	// inlineBytes is how many unmatched bytes a stream may have for such an inline turn.
	inlineBytes = 4 << 10
	// inlineTime is how long a turn may take: a few times the duration with a handful of patterns.
	inlineTime = 2 * time.Millisecond
	// inlineRest is how often run does the matching instead after a turn that took longer.
	inlineRest = 16
)

// An inline is the state of inline turns.
type inline struct {
	on   bool  // an inline turn is running
	hits []Hit // the hits of this turn
	owed bool  // the owner has not taken the hits of the last turn
	rest int   // how often run does the matching before the next turn
}

// OutputCame matches newly stored output. The calling goroutine does that itself if few is set, little output is
// unmatched, no request is queued and no other goroutine is matching; otherwise run does it. The caller must hold no
// lock that the owner takes. After the call it must check Leans, because Owner.Leans is not called then.
func (f *Follower) OutputCame(few bool) {
	if !few || !f.busy.TryLock() {
		f.Poke()
		return
	}
	defer f.busy.Unlock()
	if !f.mayInline() {
		f.Poke()
		return
	}
	began := time.Now()
	f.inline.on = true
	more := f.work()
	f.inline.on = false
	if hits := f.inline.hits; len(hits) > 0 {
		f.inline.hits, f.inline.owed = nil, true
		f.owner.Hits(hits, f.taken)
	}
	if time.Since(began) > inlineTime {
		f.inline.rest = inlineRest
	}
	if more {
		f.Poke()
	}
}

// mayInline reports whether the calling goroutine may match the output itself.
func (f *Follower) mayInline() bool {
	if f.inline.owed {
		select {
		case <-f.taken:
			f.inline.owed = false
		default:
			return false
		}
	}
	if f.inline.rest > 0 {
		f.inline.rest--
		return false
	}
	for _, c := range f.cursors {
		if c.end()-c.set.Offset() > inlineBytes {
			return false
		}
	}
	return len(f.syncs) == 0 && f.mail.Empty() && !f.late.isOver()
}

// awaitTaken waits until the owner has taken the hits of the last inline turn. It returns false if the Follower ends.
func (f *Follower) awaitTaken() bool {
	if f.inline.owed {
		select {
		case <-f.taken:
			f.inline.owed = false
		case <-f.quit:
			return false
		}
	}
	return true
}
