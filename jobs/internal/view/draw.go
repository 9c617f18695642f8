package view

// Catching up with the output is bounded: in bytes, and in the work that the terminal counts, whose unit is about a
// nanosecond. The drawn screen depends on these counts and never on a clock.

const (
	// lagBytes is how far a view may be behind and still draw everything. A terminal draws 100 to 200 MB per second
	// (BenchmarkTerminal); a client that asks ten times a second must not take a processor from a job that floods.
	lagBytes = 1 << 20
	// drawnBytes is the size of the newest output that a view draws if it is further behind: hundreds of screens and
	// usually more than History lines.
	drawnBytes = 256 << 10
	// skimmedBytes is the size of the output before that, which is only skimmed for lasting state, such as modes and
	// margins.
	skimmedBytes = 1 << 20

	// callWork bounds the work of one call. Text, and the drawing of usual programs on usual sizes, stays below it
	// for all of lagBytes.
	callWork = 40 << 20
	// sliceWork is the part of it after which waiting callers get the view.
	sliceWork = 4 << 20
	// newestBytes is the size of the output that is still drawn after callWork is used up. extraWork is the work
	// that may be spent on that, and the same again on the output that is skimmed before it.
	newestBytes = 16 << 10
	extraWork   = callWork / 10
)

// A catchUp is one call's progress through the output.
type catchUp struct {
	end   int64 // draw up to here
	drawn int64 // skim up to here
	work  int64 // budget left
	begun bool  // drawn is set
	short bool  // the budget was exceeded once
	lost  bool  // even skimming exceeded it: skip to drawn
}

// draw draws the output up to end. It returns false if wanted, unless nil, returns false. Other callers may draw
// between the slices, and may have drawn everything already.
func (v *View) draw(end int64, wanted func() bool) bool {
	c := catchUp{end: end, work: callWork}
	for v.final == nil {
		if wanted != nil && !wanted() {
			return false
		}
		if v.term == nil {
			v.redraw()
			break
		}
		if !v.slice(&c) {
			break
		}
		v.busy.Unlock()
		v.busy.Lock() // waiting callers come first
	}
	return true
}

// slice draws for at most sliceWork, and reports whether there is more to draw.
func (v *View) slice(c *catchUp) (more bool) {
	defer v.recoverAt(c.end)
	if !c.begun {
		v.begin(c)
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	begin := v.term.Work()
	limit := begin + min(c.work, sliceWork)
	for v.step(c, *buf, limit) {
		if v.term.Work() >= limit {
			if c.work -= v.term.Work() - begin; c.work <= 0 {
				v.shorten(c)
			}
			return true
		}
	}
	return false
}

// step draws or skims at most one buffer of output, until the terminal has counted limit. It returns false at the end.
func (v *View) step(c *catchUp, buf []byte, limit int64) bool {
	if c.lost {
		v.skipToQuery(c.drawn)
	}
	stop := min(v.resize(), v.queryStop(), c.end)
	if v.next >= c.end {
		return false
	}
	take := v.term.WriteSome
	if v.next < c.drawn {
		take, stop = v.term.SkimSome, min(stop, c.drawn)
	}
	from := v.next
	b := buf[:min(int64(len(buf)), stop-v.next)]
	n, at := v.src.Spool.Read(b, v.next)
	switch {
	case at > v.next:
		v.skip(at) // the spool has dropped it
	case n == 0:
		v.skip(c.end) // it cannot be read any more
	default:
		v.next += int64(take(b[:n], limit-v.term.Work()))
	}
	v.takeReplies(from)
	return true
}

// resize gives the terminal the size that applies at the cursor, and returns the offset of the next change.
func (v *View) resize() (next int64) {
	m, next := v.src.Sizes.at(v.next)
	if m.number != v.size {
		v.term.Resize(m.cols, m.rows)
		v.size = m.number
	}
	return next
}

// begin skips the output that a call does not draw because the view is too far behind.
func (v *View) begin(c *catchUp) {
	c.begun, c.drawn = true, v.next
	if c.end-v.next > lagBytes {
		c.drawn = c.end - drawnBytes
		v.skip(c.drawn - skimmedBytes)
		v.incomplete = true
	}
}

// shorten reduces the rest of a call whose budget is used up. At first, only the newest output is still drawn. If that
// exceeds the extra budget, the rest is only skimmed. If skimming exceeds it, the output is skipped.
func (v *View) shorten(c *catchUp) {
	switch {
	case v.next < c.drawn:
		c.lost = true
	case c.short:
		c.drawn = c.end
	default:
		c.short, c.drawn = true, max(v.next, c.end-newestBytes)
	}
	c.work, v.incomplete = extraWork, true
}

// skip moves the cursor forward to an offset without drawing.
func (v *View) skip(to int64) {
	if to > v.next {
		v.term.Lost(v.src.Told().Modes)
		v.next, v.incomplete = to, true
	}
}

// skipToQuery skips to an offset or to the next query, whichever comes first: a program waits for the answer.
func (v *View) skipToQuery(to int64) {
	if q, ok := v.src.Queries.next(v.next); ok {
		to = min(to, q.From)
	}
	v.skip(to)
}
