package follow

import "time"

// Cursors take turns: some output for the patterns of one, then for the next, and in between the owner's requests.
// So a pattern that is far behind delays neither another one nor a Sync.

// turnTime and turnBytes bound a turn. turnTime also bounds how long a request of the owner waits, apart from one step
// of a slow pattern.
const (
	turnTime  = 5 * time.Millisecond
	turnBytes = 256 << 10
)

// A budget bounds how much output is matched in a turn. The zero value is no bound.
type budget struct {
	ends  int64     // the offset at which the turn ends; relative to the cursor until feedTo adds its offset
	until time.Time // the time at which it ends
}

func (b budget) isOver(at int64) bool {
	return !b.until.IsZero() && (at >= b.ends || !time.Now().Before(b.until))
}

// feed gives turns to as many cursors as there is time for, and reports whether there is more to do at once. Output
// that comes meanwhile has its own Poke.
func (f *Follower) feed() (more bool) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	b := budget{turnBytes, time.Now().Add(turnTime)}
	for range f.cursors {
		c := f.cursors[0]
		copy(f.cursors, f.cursors[1:])
		f.cursors[len(f.cursors)-1] = c
		c.turns++
		if f.feedCursor(c, *buf, b) {
			f.quietEcho(c, *buf)
		} else {
			more = true
		}
		if !time.Now().Before(b.until) && !f.stops() {
			return true
		}
	}
	return more && !f.stops()
}
