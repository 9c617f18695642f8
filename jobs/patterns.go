package jobs

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

// roomForPatterns refuses patterns that there is no room for, before they are compiled.
// They are counted when they are armed, so that what was asked for at the same time may go
// beyond.
func (m *Manager) roomForPatterns(cost int64) *Error {
	if cost == 0 || m.patternBytes.Load()+cost <= maxPatternBytes {
		return nil
	}
	e := errorf(CodeLimitExceeded, "the patterns of all waits and watches would take more than %d bytes, with %d more for each; end some first, or give shorter ones", maxPatternBytes, patternCost)
	e.Limit, e.Max, e.Retryable = "patternBytes", maxPatternBytes, true
	return e
}

// admit compiles the patterns of a wait, if there is room for them.
func (m *Manager) admit(spec *WaitSpec) *Error {
	if err := m.roomForPatterns(spec.cost()); err != nil {
		return err
	}
	return spec.compile()
}

// countPattern counts one more that is looked for.
func (j *Job) countPattern(w *watch) { j.mgr.patternBytes.Add(w.spec.cost()) }

// uncountPattern counts one less; nil is none.
func (j *Job) uncountPattern(w *watch) {
	if w != nil {
		j.mgr.patternBytes.Add(-w.spec.cost())
	}
}

// uncountPatterns gives up all that the job had, when its loop ends.
func (j *Job) uncountPatterns() {
	for _, w := range j.watches {
		j.uncountPattern(w)
	}
	clear(j.watches)
}
