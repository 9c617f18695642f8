package jobs

import (
	"slices"

	"shelld/jobs/internal/spool"
	"shelld/screen"
)

// A job that is closed stays known for long, and its terminal, which may have a quarter of a
// million places and a thousand lines before them, is not kept for that: output that was drawn
// from its first byte on is drawn once more for whoever asks. Where that would take too long,
// or would not show the same, what was shown last is kept.

// viewAgain is how much output is drawn once more.
const viewAgain = 8 << 20

// restView lets go of the terminal of a job that is closed, once all of its output is drawn.
func (j *Job) restView() {
	if j.view == nil {
		return
	}
	v, end, release := j.view, j.End(PTY), j.Hold()
	j.loops.Go(func() {
		defer release()
		v.busy.Lock()
		defer v.busy.Unlock()
		v.draw(end)
		v.rest()
	})
}

// rest lets go of the terminal, where no output will come any more.
func (v *view) rest() {
	select {
	case <-v.job.ended:
	default:
		return
	}
	if v.term == nil || v.next < v.st.spool.End() {
		return
	}
	if v.canRedraw() {
		v.base = v.revision()
	} else if v.last = v.shown(ScreenHistory); v.last == nil {
		return // it has begun anew
	}
	v.term = nil
}

// canRedraw says whether drawing all output once more shows the same.
func (v *view) canRedraw() bool {
	all := []spool.Range{{From: 0, To: v.next}}
	return !v.patchy && v.next <= viewAgain && v.job.sizes.exact() &&
		(v.next == 0 || slices.Equal(v.st.spool.Kept(), all))
}

// begin has a terminal draw from the first byte on what was drawn before, and returns where
// that ends.
func (v *view) begin() (end int64) {
	m, _ := v.job.sizes.at(0)
	v.term, v.size = screen.NewTerminal(m.cols, m.rows, ScreenHistory), m.number
	end, v.next, v.base = v.next, 0, 0
	return end
}

// redrawn gives what was drawn once more the revision that it had, if it is the same.
func (v *view) redrawn(revision uint64) {
	if v.patchy {
		revision++ // output that was kept cannot be read
	}
	v.base = revision - v.term.Revision()
}

// revision counts the changes of what is shown.
func (v *view) revision() uint64 {
	switch {
	case v.last != nil:
		return v.last.Revision
	case v.term == nil:
		return v.base
	}
	return v.base + v.term.Revision()
}

// snapshot is what is shown, with so many lines of what came before.
func (v *view) snapshot(history int) *screen.Snapshot {
	if v.last == nil {
		s := v.term.Snapshot(history)
		s.Revision += v.base
		return s
	}
	s := *v.last
	s.History = s.History[max(len(s.History)-history, 0):]
	return &s
}
