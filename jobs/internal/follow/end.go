package follow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shelld/jobs/internal/turn"
)

// Output may come faster than it can be matched, and the end of a job waits for its
// matches: not for long.

const (
	// lastLook is what the follower has beyond that, by its own clock: on a machine
	// that stands still nothing is given up that would have been done at once.
	lastLook = 100 * time.Millisecond
)

// A haste is when the follower has heard that it is waited for no longer.
type haste struct {
	tok    *turn.Token
	from   time.Time
	struck int // how often it has begun anew
}

// mostStruck bounds how often a haste begins anew: two patterns that are removed for their time
// limit, of up to 2 s of a processor each.
const mostStruck = 4

// struck has what is waited for begin anew after a search that ran out of time: the others have a
// look at what is there, for a pattern that explodes harms itself alone. Who kills the job or ends
// the server is not made to wait for that.
func (f *Follower) struck() {
	if f.haste.tok != nil && f.haste.struck < mostStruck && !f.pressed.Load() {
		f.haste.from = time.Now()
		f.haste.struck++
	}
}

// hurried says whether what has not been matched is to be given up.
func (f *Follower) hurried() bool {
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
func (f *Follower) stops() bool { return isClosed(f.quit) || f.hurried() }

// giveUp brings every cursor to the end of what is stored, and tells which patterns
// have not seen it, and from where on.
func (f *Follower) giveUp() {
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
			unseen[key] = append(unseen[key], fmt.Sprintf("%s from offset %d on", s.src.Name(), at))
		}
		s.set.Skip(s.src.Spool().End() - s.set.Offset())
		s.echo, s.cut, s.seen = nil, false, s.set.Offset()
	}
	slices.Sort(keys)
	var hits []Hit
	for _, key := range keys {
		hits = append(hits, Hit{Key: key, Behind: errors.New("the job ended, and its output had come faster than it could be matched; not looked at was " + strings.Join(unseen[key], ", and "))})
	}
	if len(hits) > 0 {
		f.post(hits)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
