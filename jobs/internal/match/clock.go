package match

import (
	"runtime"
	"time"
)

// The engine's clock is the wall's, and on a busy machine a search may stand still for as
// long as its limit, and every few milliseconds anew. So one search that took long makes its
// scan count the time of the processor from there on, which costs two system calls for each;
// and what was counted until then by the wall's clock is no more than the whole process has had
// of processors. How many searches of a scan are late says nothing of the pattern: that is as
// often as the machine stands still meanwhile.
const (
	slowSearch = clockPeriod
	mostTries  = 20 // of one search, by the engine's clock: such a machine does not get on with it
)

var programStart = time.Now()

func wallTime() time.Duration { return time.Since(programStart) }

// timed is engine.find within what is left of the scan's time. A search that was out of time is
// tried again where time is left, and no try counts for more than the limit: at least two
// have to be slow before the pattern is to blame.
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
