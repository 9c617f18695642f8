package jobs

import (
	"slices"
	"sync/atomic"
)

// A compiled pattern takes more than a hundred bytes per character, and at least ten kilobytes. So the patterns that
// are searched for in all jobs share one limit.
const (
	// maxPatternBytes limits the total length of their texts. Each text counts patternCost bytes more.
	maxPatternBytes = 2 << 20
	patternCost     = 64
)

// cost returns the cost of a pattern.
func (w *WatchSpec) cost() int64 { return patternCost + int64(len(w.Pattern)) }

// cost returns the cost of a wait's patterns.
func (w *WaitSpec) cost() (n int64) {
	if w == nil {
		return 0
	}
	for i := range w.Until {
		if c := &w.Until[i]; c.Kind == UntilPattern {
			n += c.Watch.cost()
		}
	}
	return n
}

// patternCost returns the cost of a start's patterns.
func (s *Spec) patternCost() int64 {
	n := s.Wait.cost()
	for i := range s.Watches {
		n += s.Watches[i].cost()
	}
	return n
}

// A patternRoom is a cost that was counted for some patterns. nil means none.
type patternRoom struct {
	total *atomic.Int64
	cost  atomic.Int64 // 0: it was given back
}

// giveBack subtracts the cost of the patterns from the total. Only the first call has an effect.
func (r *patternRoom) giveBack() {
	if r != nil {
		r.total.Add(-r.cost.Swap(0))
	}
}

// roomFor counts the cost of patterns before they are compiled, or refuses them. The cost counts for as long as the
// compiled patterns may be in memory: those of a wait until its request is answered, those of a watch until it is
// removed.
func (m *Manager) roomFor(cost int64) (*patternRoom, *Error) {
	for cost > 0 {
		total := m.patternBytes.Load()
		if total+cost > maxPatternBytes {
			e := errorf(CodeLimitExceeded, "the patterns of all waits and watches would take more than %d bytes, counting %d extra for each; end some first, or give shorter ones", maxPatternBytes, patternCost)
			e.Limit, e.Max, e.Retryable = "patternBytes", maxPatternBytes, true
			return nil, e
		}
		if m.patternBytes.CompareAndSwap(total, total+cost) {
			r := &patternRoom{total: &m.patternBytes}
			r.cost.Store(cost)
			return r, nil
		}
	}
	return nil, nil
}

// admit returns a copy of a wait with its patterns compiled, if there is room for them. A nil wait stays nil.
func (m *Manager) admit(spec *WaitSpec) (*WaitSpec, *patternRoom, *Error) {
	room, err := m.roomFor(spec.cost())
	if err != nil {
		return nil, nil, err
	}
	spec = spec.clone()
	if err := spec.compile(); err != nil {
		room.giveBack()
		return nil, nil, err
	}
	return spec, room, nil
}

// clone returns a copy of a spec, so that the caller's does not change.
func (w *WaitSpec) clone() *WaitSpec {
	if w == nil {
		return nil
	}
	c := *w
	c.Until = slices.Clone(w.Until)
	return &c
}

// admitPatterns counts the patterns of a start: each watch has a room of its own, and the room of the wait is returned.
// If the start has patterns, the lists in the spec are then copies of the caller's.
func (m *Manager) admitPatterns(s *Spec) (*patternRoom, *Error) {
	room, err := m.roomFor(s.patternCost())
	if room == nil {
		return nil, err
	}
	s.Watches, s.Wait = slices.Clone(s.Watches), s.Wait.clone()
	for i := range s.Watches {
		w := &s.Watches[i]
		w.room = &patternRoom{total: room.total}
		w.room.cost.Store(w.cost())
		room.cost.Add(-w.cost())
	}
	return room, nil
}

// forgetWatches gives back the rooms of the watches of a start that failed.
func (s *Spec) forgetWatches() {
	for i := range s.Watches {
		s.Watches[i].room.giveBack()
	}
	s.Watches, s.Wait = nil, nil
}

// letGo clears the compiled pattern and its room, after other code has taken them over.
func (w *WatchSpec) letGo() { w.compiled, w.room = nil, nil }

// giveBackPatterns gives back the rooms of all patterns of the job, when its loop ends.
func (p *waitsPart) giveBackPatterns() {
	for _, w := range p.watches {
		w.room.giveBack()
	}
	clear(p.watches)
}
