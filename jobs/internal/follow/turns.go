package follow

import (
	"slices"
	"time"

	"shelld/jobs/internal/turn"
)

// Patterns have turns: some output for those with one cursor, then for the next, and in
// between what the loop has asked for. So a pattern that is far behind delays no other, and
// no wait that begins or is to end.

const (
	// turnTime and turnBytes bound a turn. turnTime is also how long the loop's messages
	// may lie there, beside the one step that a slow pattern may take.
	turnTime  = 5 * time.Millisecond
	turnBytes = 256 << 10
)

// A followTurn is how long patterns may look at output. The zero one has no end.
type followTurn struct {
	ends  int64     // the offset at which it ends; feedTo counts it from where it begins
	until time.Time // and the time
}

func (t followTurn) over(at int64) bool {
	return !t.until.IsZero() && (at >= t.ends || !time.Now().Before(t.until))
}

// feed gives the sets turns, as many as there is time for, and says whether there is more
// to do at once. What comes meanwhile has its own poke.
func (f *Follower) feed() (more bool) {
	buf := feedBuffers.Get().(*[]byte)
	defer feedBuffers.Put(buf)
	t := followTurn{turnBytes, time.Now().Add(turnTime)}
	for range f.sets {
		s := f.sets[0]
		copy(f.sets, f.sets[1:])
		f.sets[len(f.sets)-1] = s
		s.turns++
		if f.feedSet(s, *buf, t) {
			f.quietEcho(s, *buf)
		} else {
			more = true
		}
		if !time.Now().Before(t.until) && !f.stops() {
			return true
		}
	}
	return more && !f.stops()
}

// feedTurn is feedTo, and says whether it has come to end, or could come no further.
func (f *Follower) feedTurn(s *followSet, buf []byte, end int64, t followTurn) bool {
	from := s.set.Offset()
	f.feedTo(s, buf, end, t)
	return !s.cut && (s.set.Offset() >= end || s.set.Offset() == from)
}

// A syncing is a followSync that is not answered yet.
type syncing struct {
	followSync
	goals []syncGoal
	haste bool
}

// A syncGoal is up to where a set must have come, and which turn it has next.
type syncGoal struct {
	set  *followSet
	to   int64
	turn int
}

// begin notes where the output is that a sync is about.
func (f *Follower) begin(m followSync) *syncing {
	s := &syncing{followSync: m}
	for _, set := range f.sets {
		if m.keys == nil || slices.ContainsFunc(set.set.IDs(), func(id int) bool { return slices.Contains(m.keys, id) }) {
			s.goals = append(s.goals, syncGoal{set, set.src.Spool().End(), set.turns})
		}
	}
	return s
}

func (f *Follower) hasten(tok *turn.Token) {
	for _, s := range f.syncs {
		s.haste = s.haste || s.tok == tok
	}
}

// open are the goals of a sync that were not reached yet. A set without patterns is gone.
func (f *Follower) open(s *syncing) []syncGoal {
	return slices.DeleteFunc(slices.Clone(s.goals), func(g syncGoal) bool {
		return g.set.seen >= g.to || !slices.Contains(f.sets, g.set)
	})
}

// answer tells the loop of the syncs that are reached, or may wait no longer.
func (f *Follower) answer() {
	f.syncs = slices.DeleteFunc(f.syncs, func(s *syncing) bool {
		open := f.open(s)
		waits := func(g syncGoal) bool { return !s.haste || g.set.turns == g.turn }
		if slices.ContainsFunc(open, waits) {
			return false
		}
		if s.settle {
			f.settle(s, open)
		}
		if s.keys == nil {
			f.synced = s.tok
		}
		f.owner.Synced(s.tok, len(open) > 0)
		return true
	})
}

// settle says to the sets of a sync, but for those that are behind, that this is all.
func (f *Follower) settle(s *syncing, behind []syncGoal) {
	buf := feedBuffers.Get().(*[]byte)
	defer feedBuffers.Put(buf)
	for _, g := range s.goals {
		if !slices.Contains(behind, g) && slices.Contains(f.sets, g.set) {
			f.giveUpEcho(g.set, *buf)
			f.report(g.set, g.set.set.Settle())
		}
	}
}
