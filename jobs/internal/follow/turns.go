package follow

import "time"

// Cursors take turns: some output for the patterns of one, then for the next, and in between what the owner asks for.
// So a pattern that is far behind delays neither another one nor a Sync.

// turnTime and turnBytes bound a turn. turnTime is also how long the owner's requests may lie there, in addition to one
// step of a slow pattern.
const (
	turnTime  = 5 * time.Millisecond
	turnBytes = 256 << 10
)

// A budget bounds how much output is matched in a turn. The zero value is no bound.
type budget struct {
	ends  int64     // the offset at which it ends; feedTo counts it from where it begins
	until time.Time // and the time
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
