package follow

import "shelld/jobs/internal/echo"

// feedSet matches the output stored by now, as far as it is known not to be echo and the turn lasts,
// and reports whether that was all.
func (f *Follower) feedSet(s *followSet, buf []byte, t followTurn) bool {
	end := s.src.Spool().End()
	if s.echo != nil && !f.feedTurn(s, buf, min(end, s.echo.Free()), t) {
		return false
	}
	for s.echo != nil && s.echo.Next() < end {
		found, ok := s.search(buf, end)
		f.pass(s, buf, found, ok)
	}
	to := end
	if s.echo != nil {
		to = min(end, s.echo.Free())
	}
	if !f.feedTurn(s, buf, to, t) {
		return false
	}
	s.seen = end
	return true
}

// search searches for the echo up to end or to the first line of the input that it finds.
func (s *followSet) search(buf []byte, end int64) (found echo.Found, ok bool) {
	for !ok && !s.echo.Done() && s.echo.Next() < end {
		n, at := s.src.Spool().Read(buf, s.echo.Next())
		if n == 0 || at != s.echo.Next() {
			return s.echo.End() // output was dropped: the echo cannot be found any more
		}
		found, ok = s.echo.Feed(buf[:n])
	}
	return found, ok
}

// pass takes a result of search: matching continues behind it, as if it began there.
func (f *Follower) pass(s *followSet, buf []byte, found echo.Found, ok bool) {
	if ok {
		f.feedTo(s, buf, found.Pass, followTurn{}) // it is not far away
		if n := found.To - s.set.Offset(); n > 0 {
			s.set.Restart(n)
		}
	}
	if s.echo.Done() {
		s.echo = nil
	}
}

// giveUpEcho ends the search, as the output so far is all for now.
func (f *Follower) giveUpEcho(s *followSet, buf []byte) {
	if s.echo != nil {
		found, ok := s.echo.End()
		f.pass(s, buf, found, ok)
		f.feedSet(s, buf, followTurn{})
	}
}

// quietEcho reports silence to the search if its stream is quiet for long enough.
func (f *Follower) quietEcho(s *followSet, buf []byte) {
	for s.echo != nil && s.echo.Next() >= s.src.Spool().End() {
		patience := s.echo.Patience(QuietTime)
		if patience == 0 || s.src.QuietFor() < patience {
			return
		}
		found, ok := s.echo.Quiet()
		f.pass(s, buf, found, ok)
		f.feedSet(s, buf, followTurn{})
	}
}
