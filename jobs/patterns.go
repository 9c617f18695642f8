package jobs

import (
	"slices"
	"sync/atomic"
)

// A compiled pattern takes more than a hundred bytes for each of its characters, and ten kilobytes
// at the least: those that are looked for in all jobs are bounded together.
const (
	// maxPatternBytes bounds their texts, each of which counts patternCost bytes more.
	maxPatternBytes = 2 << 20
	patternCost     = 64
)

// cost is what a pattern counts.
func (w *WatchSpec) cost() int64 { return patternCost + int64(len(w.Pattern)) }

// cost is what the patterns of a wait count.
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

// patternCost is what the patterns of a start count.
func (s *Spec) patternCost() int64 {
	n := s.Wait.cost()
	for i := range s.Watches {
		n += s.Watches[i].cost()
	}
	return n
}

// A patternRoom is what was counted for some patterns. nil is none.
type patternRoom struct {
	total *atomic.Int64
	cost  atomic.Int64 // 0: it was given back
}

// giveBack counts the patterns no more. Only the first time counts.
func (r *patternRoom) giveBack() {
	if r != nil {
		r.total.Add(-r.cost.Swap(0))
	}
}

// roomFor counts patterns before they are compiled, or refuses them. They count for as long as
// anybody may hold what is compiled: those of a wait until its request is answered, those of a
// watch until it is removed.
func (m *Manager) roomFor(cost int64) (*patternRoom, *Error) {
	for cost > 0 {
		total := m.patternBytes.Load()
		if total+cost > maxPatternBytes {
			e := errorf(CodeLimitExceeded, "the patterns of all waits and watches would take more than %d bytes, with %d more for each; end some first, or give shorter ones", maxPatternBytes, patternCost)
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

// admit returns a wait with its patterns compiled, if there is room for them. nil is none.
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

// clone returns a spec of which the caller's does not change.
func (w *WaitSpec) clone() *WaitSpec {
	if w == nil {
		return nil
	}
	c := *w
	c.Until = slices.Clone(w.Until)
	return &c
}

// admitPatterns counts what the patterns of a start take: each watch has its own room, and what
// is returned is that of the wait. The spec is a copy of the caller's then.
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

// forgetWatches gives back what the watches of a start have counted that comes to nothing.
func (s *Spec) forgetWatches() {
	for i := range s.Watches {
		s.Watches[i].room.giveBack()
	}
	s.Watches, s.Wait = nil, nil
}

// letGo forgets what was compiled, and its room, where another has taken them over.
func (w *WatchSpec) letGo() { w.compiled, w.room = nil, nil }

// giveBackPatterns gives up all that the job had, when its loop ends.
func (p *waitsPart) giveBackPatterns() {
	for _, w := range p.watches {
		w.room.giveBack()
	}
	clear(p.watches)
}
