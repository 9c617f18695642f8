package jobs

import (
	"slices"

	"shelld/jobs/internal/view"
)

// lookFor has a pattern be looked for on the screen. A glance begins at once: it may be
// there already.
func (p *displayPart) lookFor(key int, w *WatchSpec, after int64) {
	sp := &view.Pattern{Key: key, Pattern: w.compiled, After: after}
	p.glance.patterns = append(slices.Clip(p.glance.patterns), sp)
	p.needGlance()
}

// lookNoMore takes a pattern away, if it is one of a screen.
func (p *displayPart) lookNoMore(key int) {
	has := func(sp *view.Pattern) bool { return sp.Key == key }
	if slices.ContainsFunc(p.glance.patterns, has) {
		p.glance.patterns = slices.DeleteFunc(slices.Clone(p.glance.patterns), has)
	}
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
