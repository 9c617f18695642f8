package view

import (
	"math"
	"slices"

	"shelld.dev/shelld/jobs/internal/spool"
)

// A closed job stays known for long, and so does its view. Its terminal is released: with a thousand lines above the
// screen it takes 0.8 MB of text on 80×24, and more than 20 MB on the largest size. If all of its output is stored and
// was drawn, drawing it again shows the same, and nothing is kept (BenchmarkScreenClosed compares the two). Otherwise,
// or if drawing would take too long, the last snapshot is kept, which is little smaller than the terminal.

const (
	// redrawBytes is the most output that is drawn again.
	redrawBytes = 8 << 20
	// redrawWork is the most work that it may take. All of redrawBytes stays below it if it is text.
	redrawWork = 96 << 20
)

// Release draws the rest of a closed terminal's output, which ends at end, and then releases the terminal.
func (v *View) Release(end int64) {
	v.busy.Lock()
	defer v.busy.Unlock()
	v.draw(end, nil)
	v.release()
}

// release releases the terminal if no more output will come and everything is drawn.
func (v *View) release() {
	select {
	case <-v.src.Ended:
	default:
		return
	}
	if v.term == nil || v.next < v.src.Spool.End() {
		return
	}
	if v.canRedraw() {
		v.base = v.revision()
	} else if v.final = v.trySnapshot(History); v.final == nil {
		return // the terminal was replaced
	}
	v.term = nil
}

// canRedraw reports whether drawing all output again shows the same, and soon.
func (v *View) canRedraw() bool {
	all := []spool.Range{{From: 0, To: v.next}}
	return !v.incomplete && v.next <= redrawBytes && v.term.Work() <= redrawWork && v.src.Sizes.complete() &&
		(v.next == 0 || slices.Equal(v.src.Spool.Kept(), all))
}

// redraw draws the output again, from its first byte up to the offset reached before. Its only bounds are those of
// canRedraw, so that it shows the same.
func (v *View) redraw() {
	v.newTerminal(0)
	c := catchUp{end: v.next, begun: true, work: math.MaxInt64}
	revision := v.base
	v.next, v.base = 0, 0
	for v.slice(&c) {
	}
	if v.incomplete {
		revision++ // a file that was readable before is not any more
	}
	v.base = revision - v.term.Revision()
}
