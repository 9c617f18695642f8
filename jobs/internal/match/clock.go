package match

import (
	"runtime"
	"time"
)

// The engine's clock is the wall's, and on a busy machine a search may stand still for as
// long as its limit, and every few milliseconds anew. So one search that took long makes its
// scan count the time of the processor from there on, which costs two system calls for each.
const (
	slowSearch = clockPeriod
	mostLate   = 20 // searches of one scan that may be out of time, by the engine's clock
)

var programStart = time.Now()

func wallTime() time.Duration { return time.Since(programStart) }

// timed is engine.find within what is left of the scan's time. One that was out of time is
// tried again where time is left, and no search counts for more than its limit: at least two
// have to be slow before the pattern is to blame.
func (s *scan) timed(text []byte, from int) ([]span, error) {
	e := s.pattern.engine
	if e.limit == 0 {
		return e.find(text, from, s.scratch)
	}
	for s.used < 2*e.limit && s.late < mostLate {
		spans, used, err := s.clocked(text, from)
		if err != errTimeout {
			s.used += min(max(used-perMatch, 0), e.limit)
			return spans, err
		}
		s.used += min(used, e.limit)
		s.late++
	}
	return nil, errTimeout
}

// clocked is engine.find, and says how long it took.
func (s *scan) clocked(text []byte, from int) ([]span, time.Duration, error) {
	clock := wallTime
	if s.careful {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		clock = threadTime
	}
	began := clock()
	spans, err := s.pattern.engine.find(text, from, s.scratch)
	used := clock() - began
	s.careful = s.careful || used >= slowSearch
	return spans, used, err
}
