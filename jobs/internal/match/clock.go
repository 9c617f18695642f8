package match

import (
	"runtime"
	"time"
)

// The engine's clock is the wall clock, and on a busy machine a search may stand still for as long as its limit, and
// again every few milliseconds. So after one slow search a scan counts processor time instead, which costs two system
// calls for each search; the wall time counted before is reduced to at most the processor time that the whole process
// has used meanwhile. The number of late searches in a scan says nothing about the pattern: it depends on how often the
// machine stands still meanwhile.
const (
	slowSearch = clockPeriod
	mostTries  = 20 // of one search, by the engine's clock: on such a machine it makes no progress
)

var programStart = time.Now()

func wallTime() time.Duration { return time.Since(programStart) }

// timed is engine.find within the rest of the scan's time. A search that ran out of time is tried again if time is
// left, and no try counts for more than the limit: at least two have to be slow before the pattern is to blame.
func (s *scan) timed(text []byte, from int) ([]span, error) {
	e := s.pattern.engine
	if e.limit == 0 {
		return e.find(text, from, s.scratch)
	}
	if s.began == 0 {
		s.began = processTime()
	}
	for tries := 0; s.used < 2*e.limit && tries < mostTries; tries++ {
		careful := s.careful
		spans, used, err := s.clocked(text, from)
		if err != errTimeout {
			used = max(used-perMatch, 0)
		}
		s.used += min(used, e.limit)
		if s.careful && !careful {
			s.used = min(s.used, processTime()-s.began)
		}
		if err != errTimeout {
			return spans, err
		}
	}
	return nil, errTimeout
}

// clocked is engine.find, and also returns its duration.
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
