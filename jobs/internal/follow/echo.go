package follow

import "shelld.dev/shelld/jobs/internal/echo"

// search searches for the echo up to end or to the first line of the input that it finds.
func (c *cursor) search(buf []byte, end int64) (found echo.Found, ok bool) {
	for !ok && !c.echo.Done() && c.echo.Next() < end {
		n, at := c.src.Spool().Read(buf, c.echo.Next())
		if n == 0 || at != c.echo.Next() {
			return c.echo.End() // output was dropped: the echo cannot be found any more
		}
		found, ok = c.echo.Feed(buf[:n])
	}
	return found, ok
}

// pass takes a result of search: matching continues behind it, as if it began there.
func (f *Follower) pass(c *cursor, buf []byte, found echo.Found, ok bool) {
	if ok {
		f.feedTo(c, buf, found.Pass, budget{}) // it is not far away
		if n := found.To - c.set.Offset(); n > 0 {
			c.set.Restart(n)
		}
	}
	if c.echo.Done() {
		c.echo = nil
	}
}

// giveUpEcho ends the search, since the output so far is all for now.
func (f *Follower) giveUpEcho(c *cursor, buf []byte) {
	if c.echo != nil {
		found, ok := c.echo.End()
		f.pass(c, buf, found, ok)
		f.feedCursor(c, buf, budget{})
	}
}

// quietEcho reports silence to the search if its stream is quiet for long enough.
func (f *Follower) quietEcho(c *cursor, buf []byte) {
	for c.echo != nil && c.echo.Next() >= c.end() {
		patience := c.echo.Patience(QuietTime)
		if patience == 0 || c.src.QuietFor() < patience {
			return
		}
		found, ok := c.echo.Quiet()
		f.pass(c, buf, found, ok)
		f.feedCursor(c, buf, budget{})
	}
}
