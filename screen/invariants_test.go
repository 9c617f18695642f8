package screen

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits on the state and the answers of a terminal, for any amount of output.
const (
	maxHistory = 7
	maxCluster = 256      // bytes of one character with its combining characters
	maxReply   = 64 << 10 // bytes for 4 KiB of input
	maxTitle   = 4 << 10
)

// unsound describes the invariant that a snapshot violates; "" if there is none.
func unsound(s *Snapshot) string {
	switch c := s.Cursor; {
	case s.Cols < 1 || s.Rows < 1:
		return fmt.Sprintf("%d×%d cells", s.Cols, s.Rows)
	case c.Row < 0 || c.Row >= s.Rows || c.Col < 0 || c.Col >= s.Cols:
		return fmt.Sprintf("cursor %d,%d on %d×%d", c.Row, c.Col, s.Rows, s.Cols)
	case c.Shape > BarCursor:
		return fmt.Sprintf("cursor of shape %d", c.Shape)
	case len(s.Lines) != s.Rows:
		return fmt.Sprintf("%d lines for %d rows", len(s.Lines), s.Rows)
	case len(s.History) > maxHistory:
		return fmt.Sprintf("%d lines of history", len(s.History))
	case len(s.Title) > maxTitle || !utf8.ValidString(s.Title) || strings.ContainsFunc(s.Title, isControl):
		return fmt.Sprintf("title %.99q", s.Title)
	case s.Palette == nil:
		return "no palette"
	}
	for row, line := range s.Lines {
		if line.Len() != s.Cols {
			return fmt.Sprintf("row %d has %d cells of %d", row, line.Len(), s.Cols)
		}
		if bad := unsoundLine(line); bad != "" {
			return fmt.Sprintf("row %d: %s", row, bad)
		}
	}
	for i, line := range s.History {
		if bad := unsoundLine(line); bad != "" {
			return fmt.Sprintf("history %d: %s", i, bad)
		}
	}
	return ""
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// unsoundLine describes the defect of a line: a half of a wide character without the other, or text in a cell that is
// not one character.
func unsoundLine(l Line) string {
	before := Cell{Width: 1}
	for col := range l.Len() {
		c := l.Cell(col)
		switch {
		case (before.Width == 2) != (c.Width == 0):
			return fmt.Sprintf("col %d has width %d behind %d", col, c.Width, before.Width)
		case c.Width == 0 && c.Text != "":
			return fmt.Sprintf("col %d, behind a wide character, has %q", col, c.Text)
		case c.Width == 2 && c.Text == "":
			return fmt.Sprintf("col %d is wide and empty", col)
		case len(c.Text) > maxCluster || !utf8.ValidString(c.Text) || strings.ContainsFunc(c.Text, isControl):
			return fmt.Sprintf("col %d has %.99q", col, c.Text)
		}
		before = c
	}
	if before.Width == 2 {
		return "the last place has half a wide character"
	}
	return ""
}

// difference describes the first difference of two snapshots; "" if they show the same.
func difference(a, b *Snapshot) string {
	switch {
	case a.Cols != b.Cols || a.Rows != b.Rows:
		return fmt.Sprintf("%d×%d and %d×%d cells", a.Cols, a.Rows, b.Cols, b.Rows)
	case a.Cursor != b.Cursor:
		return fmt.Sprintf("cursor %+v and %+v", a.Cursor, b.Cursor)
	case a.Title != b.Title:
		return fmt.Sprintf("title %.99q and %.99q", a.Title, b.Title)
	case a.Modes != b.Modes:
		return fmt.Sprintf("modes %+v and %+v", a.Modes, b.Modes)
	case a.reverse != b.reverse:
		return fmt.Sprintf("reverse %t and %t", a.reverse, b.reverse)
	case a.Palette != b.Palette && *a.Palette != *b.Palette:
		return "palettes"
	}
	if d := differentLines(a.Lines, b.Lines); d != "" {
		return "row " + d
	}
	if d := differentLines(a.History, b.History); d != "" {
		return "history " + d
	}
	return ""
}

func differentLines(a, b []Line) string {
	if len(a) != len(b) {
		return fmt.Sprintf("lines: %d and %d", len(a), len(b))
	}
	for i := range a {
		if a[i].Len() != b[i].Len() || a[i].Wrapped != b[i].Wrapped {
			return fmt.Sprintf("%d: %d cells (wrapped %t) and %d (%t)", i, a[i].Len(), a[i].Wrapped, b[i].Len(), b[i].Wrapped)
		}
		for col := range a[i].Len() {
			if x, y := a[i].Cell(col), b[i].Cell(col); x != y {
				return fmt.Sprintf("%d col %d: %+v and %+v", i, col, x, y)
			}
		}
	}
	return ""
}

// dump returns the whole content of a snapshot's lines.
func dump(s *Snapshot) string {
	var b strings.Builder
	for _, lines := range [][]Line{s.Lines, s.History} {
		for _, line := range lines {
			fmt.Fprintln(&b, line.Wrapped, line.FullText(), line.Runs())
		}
	}
	return b.String()
}
