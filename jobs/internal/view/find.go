package view

import (
	"sort"

	"shelld/jobs/internal/match"
	"shelld/screen"
)

// A Pattern is one that is looked for in what a screen shows: its lines, without the
// blanks at their ends, one below the other. Only the first place counts at which it
// matches, and that not again while the same text stays on the screen.
type Pattern struct {
	// Immutable:
	Key     int
	Pattern *match.Pattern
	After   int64 // only a screen counts that shows more output than this; -1: any

	// Owned by the Poll that is under way:
	shown *string // what matched in the last one; nil: nothing
}

// A Place is where something stands on a screen.
type Place struct{ Row, Col int } // from 0

// A Hit is a pattern that has matched, or that had to be removed.
type Hit struct {
	Key     int
	Match   *match.Match // nil: Removed says why. The offsets are what the screen shows
	Place   *Place
	Shown   *Screen // in which it matched
	Removed error
}

// Poll draws what was stored up to end, and looks for patterns in what is shown then.
func (v *View) Poll(end int64, patterns []*Pattern) (offset int64, revision uint64, hits []Hit) {
	if len(patterns) == 0 {
		return v.follow(end)
	}
	shown := v.Show(end, 0, nil)
	return shown.Offset, shown.Revision, v.find(&shown, patterns)
}

// find looks for patterns on a screen; where that fails, there is none.
func (v *View) find(shown *Screen, patterns []*Pattern) []Hit {
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
func (v *View) follow(end int64) (offset int64, revision uint64, hits []Hit) {
	v.busy.Lock()
	defer v.busy.Unlock()
	v.draw(end, nil)
	return v.next, v.revision(), nil
}

// find looks for patterns on a screen.
func find(shown *Screen, patterns []*Pattern) (hits []Hit) {
	text, rows := textOf(shown.Lines)
	set := match.NewSet(0)
	for _, p := range patterns {
		if shown.Offset > p.After {
			set.Add(p.Key, p.Pattern, match.Options{Raw: true, Once: true})
		}
	}
	found := map[int]match.Hit{}
	for _, h := range append(set.Feed(text), set.Settle()...) {
		found[h.ID] = h
	}
	for _, p := range patterns {
		h, ok := found[p.Key]
		switch {
		case h.Removed != nil:
			hits = append(hits, Hit{Key: p.Key, Removed: h.Removed})
		case !ok:
			p.shown = nil
		case p.shown == nil || *p.shown != h.Match.Text:
			p.shown = &h.Match.Text
			hits = append(hits, Hit{Key: p.Key, Match: h.Match, Place: placeOf(shown.Lines, rows, h.Match.Start), Shown: shown})
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
