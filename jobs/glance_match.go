package jobs

import (
	"slices"

	"shelld/jobs/internal/view"
)

// lookFor adds a pattern that is searched on the screen. The next glance begins at once, because the screen may already
// show a match.
func (p *displayPart) lookFor(key int, w *WatchSpec, after int64) {
	sp := &view.Pattern{Key: key, Pattern: w.compiled, After: after}
	p.glance.patterns = append(slices.Clip(p.glance.patterns), sp)
	p.needGlance()
}

// lookNoMore removes a pattern if it is one that is searched on the screen.
func (p *displayPart) lookNoMore(key int) {
	has := func(sp *view.Pattern) bool { return sp.Key == key }
	if slices.ContainsFunc(p.glance.patterns, has) {
		p.glance.patterns = slices.DeleteFunc(slices.Clone(p.glance.patterns), has)
	}
}

// screenAfter returns the offset that a screen must be past for a match to count; -1: none. Text that is on the screen
// already counts, unless the pattern is about later output.
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
