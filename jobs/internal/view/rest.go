package view

import (
	"math"
	"slices"

	"shelld/jobs/internal/spool"
	"shelld/screen"
)

// A job that is closed stays known for long, and its terminal, which may have a quarter of a
// million places and a thousand lines before them, is not kept for that: output that was drawn
// from its first byte on is drawn once more for whoever asks. Where that would take too long,
// or would not show the same, what was shown last is kept.

const (
	// viewAgain is how much output is drawn once more.
	viewAgain = 8 << 20
	// viewAgainWork is how much work that may be: all of viewAgain, where it is text.
	viewAgainWork = 96 << 20
)

// Rest lets go of the terminal of a job that is closed, once output up to end is drawn, which is all.
func (v *View) Rest(end int64) {
	v.busy.Lock()
	defer v.busy.Unlock()
	v.draw(end, nil)
	v.rest()
}

// rest lets go of the terminal, where no output will come any more.
func (v *View) rest() {
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
	} else if v.last = v.shown(History); v.last == nil {
		return // it has begun anew
	}
	v.term = nil
}

// canRedraw says whether drawing all output once more shows the same.
func (v *View) canRedraw() bool {
	all := []spool.Range{{From: 0, To: v.next}}
	return !v.patchy && v.next <= viewAgain && v.term.Work() <= viewAgainWork && v.src.Sizes.exact() &&
		(v.next == 0 || slices.Equal(v.src.Spool.Kept(), all))
}

// redraw draws from the first byte on what was drawn before. It is not bounded but by what
// canRedraw has found, so that it shows the same.
func (v *View) redraw() {
	m, _ := v.src.Sizes.at(0)
	v.term, v.size = v.newTerminal(m), m.number
	c := catchUp{end: v.next, begun: true, work: math.MaxInt64}
	revision := v.base
	v.next, v.base = 0, 0
	for v.slice(&c) {
	}
	if v.patchy {
		revision++ // output that was kept cannot be read
	}
	v.base = revision - v.term.Revision()
}

// revision counts the changes of what is shown.
func (v *View) revision() uint64 {
	switch {
	case v.last != nil:
		return v.last.Revision
	case v.term == nil:
		return v.base
	}
	return v.base + v.term.Revision()
}

// snapshot is what is shown, with so many lines of what came before.
func (v *View) snapshot(history int) *screen.Snapshot {
	if v.last == nil {
		s := v.term.Snapshot(history)
		s.Revision += v.base
		return s
	}
	s := *v.last
	s.History = s.History[max(len(s.History)-history, 0):]
	return &s
}
