package follow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs/internal/turn"
)

// Output may come faster than it can be matched. The end of a job waits for its matches, but not for long: then GiveUp
// is called.

const (
	// lastLook is how long the matching goes on after GiveUp, by the Follower's own clock: on a machine that was
	// suspended, nothing is given up that would have been done at once.
	lastLook = 100 * time.Millisecond
	// mostRestarts bounds how often lastLook begins again: two patterns that are removed for their time limit, with up
	// to 2 s of a processor each.
	mostRestarts = 4
)

// A lateness is how long the Sync that GiveUp was called for still has.
type lateness struct {
	asked   atomic.Pointer[turn.Token] // see GiveUp; any goroutine may set it
	pressed atomic.Bool                // the same

	// Guarded by busy:
	tok      *turn.Token // the Sync to which from and restarts belong
	from     time.Time   // when lastLook began
	restarts int
	answered *turn.Token // the last Sync of all patterns that was answered
}

// restart begins lastLook again after a search has exceeded its time limit: a pattern whose search explodes must not
// use up the time of the others. A kill or a shutdown does not wait for that (pressed).
func (l *lateness) restart() {
	if l.tok != nil && l.restarts < mostRestarts && !l.pressed.Load() {
		l.from = time.Now()
		l.restarts++
	}
}

// isOver reports whether the output that is not matched yet must be given up.
func (l *lateness) isOver() bool {
	t := l.asked.Load()
	if t == nil || t == l.answered {
		return false
	}
	if l.tok != t {
		l.tok, l.from, l.restarts = t, time.Now(), 0
	}
	return time.Since(l.from) >= lastLook
}

// stops reports whether nothing waits for further matches.
func (f *Follower) stops() bool { return isClosed(f.quit) || f.late.isOver() }

// giveUp moves each cursor to the end of the stored output. It reports each pattern that has not seen all of the
// output, with the offsets from which on it has not.
func (f *Follower) giveUp() {
	unseen := map[int][]string{} // by key
	var keys []int
	for _, c := range f.cursors {
		at := c.set.Unseen()
		if !c.cut && c.echo == nil && at == c.set.Offset() {
			continue
		}
		for _, key := range c.set.IDs() {
			if unseen[key] == nil {
				keys = append(keys, key)
			}
			unseen[key] = append(unseen[key], fmt.Sprintf("%s from offset %d on", c.src.Name(), at))
		}
		c.set.Skip(c.end() - c.set.Offset())
		c.echo, c.cut, c.seen = nil, false, c.set.Offset()
	}
	slices.Sort(keys)
	var hits []Hit
	for _, key := range keys {
		hits = append(hits, Hit{Key: key, Behind: errors.New("the job ended, and its output came faster than it could be matched; not searched: " + strings.Join(unseen[key], ", and "))})
	}
	f.post(hits)
}
