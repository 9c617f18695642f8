package jobs

import (
	"slices"
	"sort"

	"shelld/jobs/internal/match"
	"shelld/screen"
)

// A screenPattern is one that is looked for in what a screen shows: its lines, without the
// blanks at their ends, one below the other. Only the first place counts at which it
// matches, and that not again while the same text stays on the screen.
type screenPattern struct {
	// Immutable:
	key     int
	pattern *match.Pattern
	after   int64 // only a screen counts that shows more output than this; -1: any

	// Owned by the glance that is under way:
	shown *string // what matched in the last one; nil: nothing
}

// A Place is where something stands on a screen.
type Place struct{ Row, Col int } // from 0

// lookFor has a pattern be looked for on the screen. A glance begins at once: it may be
// there already.
func (p *displayPart) lookFor(key int, w *WatchSpec, after int64) {
	sp := &screenPattern{key: key, pattern: w.compiled, after: after}
	p.glance.patterns = append(slices.Clip(p.glance.patterns), sp)
	p.needGlance()
}

// lookNoMore takes a pattern away, if it is one of a screen.
func (p *displayPart) lookNoMore(key int) {
	has := func(sp *screenPattern) bool { return sp.key == key }
	if slices.ContainsFunc(p.glance.patterns, has) {
		p.glance.patterns = slices.DeleteFunc(slices.Clone(p.glance.patterns), has)
	}
}

// glance draws what was stored up to end, and looks for patterns in what is shown then.
func (v *view) glance(end int64, patterns []*screenPattern) (offset int64, revision uint64, hits []followerHit) {
	if len(patterns) == 0 {
		return v.follow(end)
	}
	shown := v.show(end, 0, anyway)
	return shown.Offset, shown.Revision, v.find(&shown, patterns)
}

// find looks for patterns on a screen; where that fails, there is none.
func (v *view) find(shown *Screen, patterns []*screenPattern) []followerHit {
	defer func() {
		if p := recover(); p != nil {
			v.busy.Lock()
			defer v.busy.Unlock()
			v.beginAnew(p, v.next)
		}
	}()
	return find(shown, patterns)
}

// follow draws what was stored up to end.
func (v *view) follow(end int64) (offset int64, revision uint64, hits []followerHit) {
	v.busy.Lock()
	defer v.busy.Unlock()
	v.draw(end, anyway)
	return v.next, v.revision(), nil
}

// find looks for patterns on a screen.
func find(shown *Screen, patterns []*screenPattern) (hits []followerHit) {
	text, rows := textOf(shown.Lines)
	set := match.NewSet(0)
	for _, p := range patterns {
		if shown.Offset > p.after {
			set.Add(p.key, p.pattern, match.Options{Raw: true, Once: true})
		}
	}
	found := map[int]match.Hit{}
	for _, h := range append(set.Feed(text), set.Settle()...) {
		found[h.ID] = h
	}
	for _, p := range patterns {
		h, ok := found[p.key]
		switch {
		case h.Removed != nil:
			hits = append(hits, followerHit{key: p.key, stream: PTY, removed: h.Removed})
		case !ok:
			p.shown = nil
		case p.shown == nil || *p.shown != h.Match.Text:
			p.shown = &h.Match.Text
			hits = append(hits, followerHit{key: p.key, stream: PTY, match: h.Match, place: placeOf(shown.Lines, rows, h.Match.Start), shown: shown})
			h.Match.Start, h.Match.End = shown.Offset, shown.Offset
		}
	}
	return hits
}

// textOf joins the lines of a screen, and returns where in the text each begins.
func textOf(lines []screen.Line) (text []byte, rows []int) {
	for i, l := range lines {
		if i > 0 {
			text = append(text, '\n')
		}
		rows = append(rows, len(text))
		text = append(text, l.Text()...)
	}
	return text, rows
}

// placeOf is where on the screen a byte of its text stands.
func placeOf(lines []screen.Line, rows []int, at int64) *Place {
	row := sort.SearchInts(rows, int(at)+1) - 1
	left, l := int(at)-rows[row], lines[row]
	for col := range l.Len() {
		c := l.Cell(col)
		switch n := len(c.Text); {
		case c.Width == 0:
			continue
		case left < max(n, 1):
			return &Place{row, col}
		default:
			left -= max(n, 1) // a place where nothing was written is a blank
		}
	}
	return &Place{row, max(l.Len()-1, 0)} // at the line's end
}

const noScreen = "a job on pipes has no screen; start it in pty mode, or "

// checkScreen refuses a pattern on the screen of a job that has none.
func (w *WatchSpec) checkScreen(has bool) *Error {
	if w.Screen && !has {
		return Invalid(w.sibling("on"), noScreen+"match on plain or raw")
	}
	return nil
}

// checkScreen is the same for a wait, which may also want to be answered with the screen.
func (s *WaitSpec) checkScreen(has bool) *Error {
	if s.Screen && !has {
		return Invalid(s.Pointer+"/format", noScreen+"ask for plain or text")
	}
	for _, c := range s.Until {
		if err := c.Watch.checkScreen(has); err != nil {
			return err
		}
		if c.Watch.Screen && c.AfterInput != nil && *c.AfterInput {
			return Invalid(c.Watch.sibling("afterInput"), "the screen shows what was typed as well, so that afterInput cannot be true for it; leave it out")
		}
	}
	return nil
}

// needsScreen says whether a start asks for what pipes do not have.
func (s *Spec) needsScreen() bool {
	onScreen := func(w WatchSpec) bool { return w.Screen }
	return slices.ContainsFunc(s.Watches, onScreen) ||
		s.Wait != nil && (s.Wait.Screen || slices.ContainsFunc(s.Wait.Until, func(c Condition) bool { return c.Watch.Screen }))
}

// screenAfter is how much output a screen must show for a pattern to count; -1: any. What
// stands there already is what a pattern is asked for, but where it is about what comes.
func (w *watch) screenAfter(from map[Stream]int64) int64 {
	switch {
	case from == nil: // from the start on
		return -1
	case w.wait == nil:
		return from[PTY]
	}
	switch k := w.wait.spec.From.Kind; {
	case k == FromNow, k == FromOffset, k == FromDefault && w.wait.afterInput:
		return from[PTY]
	}
	return -1
}
