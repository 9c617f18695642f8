package view

import (
	"sort"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/screen"
)

// A Pattern is searched on the screen: in its lines, without the blanks at their ends, joined by line breaks. Only the
// first match on a screen counts, and the same text counts again only after a screen without it.
type Pattern struct {
	// Immutable:
	Key     int
	Pattern *match.Pattern
	After   int64 // screens count whose Offset is greater; -1: all

	shown *string // the text matched on the last screen; nil: none. Owned by Poll
}

// A Place is a cell of a screen.
type Place struct{ Row, Col int } // from 0

// A Hit is a match of a pattern, or the reason why the pattern must be removed.
type Hit struct {
	Key     int
	Match   *match.Match // nil: see Removed. Start and End are the Offset of Shown
	Place   *Place       // of the match's first character
	Shown   *Screen      // the screen that contains it
	Removed error
}

// Poll draws the output up to end and searches the screen for patterns. It returns the offset and the revision of that
// screen. The same patterns must not be polled for by two goroutines at a time.
func (v *View) Poll(end int64, patterns []*Pattern) (offset int64, revision uint64, hits []Hit) {
	if len(patterns) == 0 {
		offset, revision = v.drawTo(end)
		return offset, revision, nil
	}
	shown := v.Show(end, 0, nil)
	return shown.Offset, shown.Revision, v.tryFind(&shown, patterns)
}

// tryFind returns the hits on a screen, or none after a panic.
func (v *View) tryFind(shown *Screen, patterns []*Pattern) []Hit {
	defer func() {
		if p := recover(); p != nil {
			v.busy.Lock()
			defer v.busy.Unlock()
			v.restart(p, v.next)
		}
	}()
	return find(shown, patterns)
}

// find returns the hits on a screen.
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

// textOf joins the lines of a screen, and returns the index in the text at which each begins.
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

// placeOf returns the cell that shows the byte of the text at an index.
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
			left -= max(n, 1) // an empty cell is a blank
		}
	}
	return &Place{row, max(l.Len()-1, 0)} // the line break
}
