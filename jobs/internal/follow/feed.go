package follow

import (
	"slices"
	"sync"

	"shelld.dev/shelld/jobs/internal/echo"
	"shelld.dev/shelld/jobs/internal/match"
)

// A cursor reads one stream for a set of patterns.
type cursor struct {
	src   Source
	set   *match.Set
	typed *echo.Typed  // the input whose echo is not matched; nil: none
	echo  *echo.Finder // searches for that echo; nil: not, or not any more
	cut   bool         // feedTo was stopped before the end
	turns int          // that it has had
	seen  int64        // the output before this offset is matched, except for a possible echo
}

func (c *cursor) end() int64 { return c.src.Spool().End() }

// batchMatches is how many matches of one pattern are reported for up to 8 KiB of output: the first ones and the last.
// A client reads no more of them, and would have to wait for them all.
const batchMatches = 64

var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

func (f *Follower) add(p Pattern) {
	f.cursorFor(p).set.Add(p.Key, p.Pattern, match.Options{Raw: p.Raw, Once: p.Once})
}

// cursorFor returns the cursor for a new pattern. Patterns of one start share a cursor: a pattern joins one whose next
// byte is the first that the pattern is to see.
func (f *Follower) cursorFor(p Pattern) *cursor {
	for _, c := range f.cursors {
		if c.src == p.Source && c.typed == p.Typed && c.set.Offset() == p.From && c.set.AtStart() {
			return c
		}
	}
	c := &cursor{src: p.Source, set: match.NewSet(p.From), typed: p.Typed}
	c.set.Most, c.set.Stop, c.set.Struck = batchMatches, f.stops, f.late.restart
	if p.Typed != nil {
		c.echo = echo.New(p.Typed, p.Source.Spool())
	}
	f.cursors = slices.Insert(f.cursors, 0, c) // it has its turn at once
	return c
}

// remove removes the patterns with a key, and the cursors that have no other.
func (f *Follower) remove(key int) {
	f.cursors = slices.DeleteFunc(f.cursors, func(c *cursor) bool {
		c.set.Remove(key)
		return c.set.Len() == 0
	})
}

// feedCursor matches the output stored so far, except for a possible echo, within the budget. It reports whether it has
// matched all of that.
func (f *Follower) feedCursor(c *cursor, buf []byte, b budget) bool {
	end := c.end()
	if c.echo != nil && !f.feedTurn(c, buf, min(end, c.echo.Free()), b) {
		return false
	}
	for c.echo != nil && c.echo.Next() < end {
		found, ok := c.search(buf, end)
		f.pass(c, buf, found, ok)
	}
	to := end
	if c.echo != nil {
		to = min(end, c.echo.Free())
	}
	if !f.feedTurn(c, buf, to, b) {
		return false
	}
	c.seen = end
	return true
}

// feedTurn is feedTo. It reports whether it has come to end, or cannot come any further.
func (f *Follower) feedTurn(c *cursor, buf []byte, end int64, b budget) bool {
	from := c.set.Offset()
	f.feedTo(c, buf, end, b)
	return !c.cut && (c.set.Offset() >= end || c.set.Offset() == from)
}

// feedTo matches the output up to end. It stops early if the budget is used up, or if nothing waits for matches any
// more.
func (f *Follower) feedTo(c *cursor, buf []byte, end int64, b budget) {
	b.ends += c.set.Offset()
	for c.set.Offset() < end {
		n, at, err := c.src.Spool().TryRead(buf, c.set.Offset())
		if err != nil {
			f.unreadable(c, end, err)
			return
		}
		if gap := at - c.set.Offset(); gap > 0 {
			c.set.Skip(gap) // it was dropped
		}
		if n = int(min(int64(n), end-at)); n <= 0 {
			break
		}
		for rest := buf[:n]; len(rest) > 0; {
			if c.cut = f.stops(); c.cut {
				return
			}
			n, hits := c.set.Step(rest)
			f.report(c, hits)
			rest = rest[n:]
			if b.isOver(c.set.Offset()) {
				return
			}
		}
	}
}

// unreadable removes the patterns of a cursor: the output up to end cannot be read, and whether they match there is
// unknown.
func (f *Follower) unreadable(c *cursor, end int64, err error) {
	err = f.owner.Unreadable(c.set.Offset(), err)
	var hits []Hit
	for _, key := range c.set.IDs() {
		hits = append(hits, Hit{Key: key, Stream: c.src.Name(), Removed: err})
		c.set.Remove(key)
	}
	c.set.Skip(end - c.set.Offset())
	f.post(hits)
}

func (f *Follower) report(c *cursor, hits []match.Hit) {
	out := make([]Hit, 0, len(hits))
	for _, h := range hits {
		out = append(out, Hit{Key: h.ID, Stream: c.src.Name(), Match: h.Match, Passed: h.Passed, Removed: h.Removed})
	}
	f.post(out)
}
