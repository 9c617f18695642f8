package follow

import (
	"slices"

	"shelld.dev/shelld/jobs/internal/turn"
)

// A syncing is a Sync that is not answered yet.
type syncing struct {
	tok    *turn.Token
	settle bool
	all    bool // of all patterns
	goals  []goal
	haste  bool // see Hasten
}

// A goal is the offset that a cursor must reach, and the turn that it has next.
type goal struct {
	cursor *cursor
	to     int64
	turn   int
}

func (f *Follower) begin(tok *turn.Token, keys []int, settle bool) {
	s := &syncing{tok: tok, settle: settle, all: keys == nil}
	for _, c := range f.cursors {
		if s.all || slices.ContainsFunc(c.set.IDs(), func(id int) bool { return slices.Contains(keys, id) }) {
			s.goals = append(s.goals, goal{c, c.end(), c.turns})
		}
	}
	f.syncs = append(f.syncs, s)
}

func (f *Follower) hasten(tok *turn.Token) {
	for _, s := range f.syncs {
		s.haste = s.haste || s.tok == tok
	}
}

// open returns the goals that are not reached yet. A cursor without patterns is gone.
func (f *Follower) open(s *syncing) []goal {
	return slices.DeleteFunc(slices.Clone(s.goals), func(g goal) bool {
		return g.cursor.seen >= g.to || !slices.Contains(f.cursors, g.cursor)
	})
}

// answer answers each Sync that is done, or must not wait any longer.
func (f *Follower) answer() {
	f.syncs = slices.DeleteFunc(f.syncs, func(s *syncing) bool {
		open := f.open(s)
		waits := func(g goal) bool { return !s.haste || g.cursor.turns == g.turn }
		if slices.ContainsFunc(open, waits) {
			return false
		}
		if s.settle {
			f.settle(s, open)
		}
		if s.all {
			f.late.answered = s.tok
		}
		f.owner.Synced(s.tok, len(open) > 0)
		return true
	})
}

// settle treats the output as complete for the cursors of a Sync, except for those that are behind.
func (f *Follower) settle(s *syncing, behind []goal) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for _, g := range s.goals {
		if !slices.Contains(behind, g) && slices.Contains(f.cursors, g.cursor) {
			f.giveUpEcho(g.cursor, *buf)
			f.report(g.cursor, g.cursor.set.Settle())
		}
	}
}
