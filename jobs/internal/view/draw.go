package view

// What it costs to catch up with output is bounded, whatever the output is: in bytes, and in
// what the terminal counts as work, about a nanosecond each. No clock decides what is drawn.

const (
	// viewWork is how much is drawn at once. All of viewLag is less, where it is text, or
	// what programs draw on terminals of usual sizes.
	viewWork = 40 << 20
	// viewSlice is how much of that is done before others that wait have the view.
	viewSlice = 4 << 20
	// Where viewWork is used up, viewNewest bytes are left to be drawn, and viewMore is
	// allowed for that, and as much for what is skimmed before them.
	viewNewest = 16 << 10
	viewMore   = viewWork / 10
)

// A catchUp is somebody's wish that output is drawn, and what may be done for it.
type catchUp struct {
	end   int64 // of the output
	drawn int64 // what lies before is skimmed
	work  int64 // that may still be done
	begun bool  // drawn is known
	short bool  // it was too much work to draw all, once
	lost  bool  // it was too much to skim: what is not drawn is left out
}

// draw takes output up to end, unless that is wanted no more, and says whether it was.
// Somebody else may have taken more already, and may do so while this is under way.
func (v *View) draw(end int64, wanted func() bool) bool {
	c := catchUp{end: end, work: viewWork}
	for v.last == nil {
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
		v.busy.Lock() // those that wait for it already come first
	}
	return true
}

// slice takes some output, and says whether there is more to be taken.
func (v *View) slice(c *catchUp) (more bool) {
	defer v.mended(c.end)
	if !c.begun {
		v.begin(c)
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	begin, most := v.term.Work(), min(c.work, viewSlice)
	for {
		if c.lost {
			v.pass(c.drawn)
		}
		stop := min(v.resize(), v.asks(), c.end)
		if v.next >= c.end {
			return false
		}
		take := v.term.WriteSome
		if v.next < c.drawn {
			take, stop = v.term.SkimSome, min(stop, c.drawn)
		}
		from := v.next
		b := (*buf)[:min(int64(len(*buf)), stop-v.next)]
		n, at := v.src.Spool.Read(b, v.next)
		switch {
		case at > v.next:
			v.skip(at) // it was dropped
		case n == 0:
			v.skip(c.end) // it cannot be read any more
		default:
			v.next += int64(take(b[:n], most-(v.term.Work()-begin)))
		}
		v.replied(from)
		if did := v.term.Work() - begin; did >= most {
			if c.work -= did; c.work <= 0 {
				v.shorten(c)
			}
			return true
		}
	}
}

// begin decides what is drawn of output that is more than is drawn at once.
func (v *View) begin(c *catchUp) {
	c.begun, c.drawn = true, v.next
	if c.end-v.next > viewLag {
		c.drawn = c.end - viewDrawn
		v.skip(c.drawn - viewSkimmed)
		v.patchy = true
	}
}

// shorten has a catching up be over soon whose work is used up: what is newest is drawn, if
// that is less work; if it is not, all is skimmed, and if that is too much, left out.
func (v *View) shorten(c *catchUp) {
	switch {
	case v.next < c.drawn:
		c.lost = true
	case c.short:
		c.drawn = c.end
	default:
		c.short, c.drawn = true, max(v.next, c.end-viewNewest)
	}
	c.work, v.patchy = viewMore, true
}

// pass leaves out what lies before an offset, up to the next query: who has asked waits for
// an answer.
func (v *View) pass(to int64) {
	if q, ok := v.src.Queries.next(v.next); ok {
		to = min(to, q.From)
	}
	v.skip(to)
}
