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

const noScreen = "a job on pipes has no screen; start it in pty mode, or "

// checkScreen refuses a pattern on the screen if the job has no screen.
func (w *WatchSpec) checkScreen(has bool) *Error {
	if w.Screen && !has {
		return Invalid(w.sibling("on"), noScreen+"match on plain or raw")
	}
	return nil
}

// checkScreen does the same for a wait, whose result may be the screen too.
func (s *WaitSpec) checkScreen(has bool) *Error {
	if s.Screen && !has {
		return Invalid(s.Pointer+"/format", noScreen+"ask for plain or text")
	}
	for _, c := range s.Until {
		if err := c.Watch.checkScreen(has); err != nil {
			return err
		}
		if c.Watch.Screen && c.AfterInput != nil && *c.AfterInput {
			return Invalid(c.Watch.sibling("afterInput"), "the screen also shows typed input, so afterInput cannot be true with it; leave it out")
		}
	}
	return nil
}

// needsScreen reports whether a start needs a screen, which jobs on pipes do not have.
func (s *Spec) needsScreen() bool {
	onScreen := func(w WatchSpec) bool { return w.Screen }
	return slices.ContainsFunc(s.Watches, onScreen) ||
		s.Wait != nil && (s.Wait.Screen || slices.ContainsFunc(s.Wait.Until, func(c Condition) bool { return c.Watch.Screen }))
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
