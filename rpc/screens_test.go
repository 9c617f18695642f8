package rpc_test

import (
	"strings"
	"testing"

	"shelld/schema"
)

// screen asks what the terminal of a job shows.
func (s *session) screen(handle any, more ...any) schema.JobScreenResult {
	s.t.Helper()
	return do[schema.JobScreenResult](s, "job/screen", merged(obj{"handle": handle}, more))
}

// TestScreenText: rows as text, where the cursor is, what the program has asked for.
func TestScreenText(t *testing.T) {
	s := start(t)
	h := s.pty(`stty -echo; printf '\033]0;a title\007one\n  two  \n\033[?2004h\033[?1h\033[4 qready'; cat`, "cols", 20, "rows", 4)
	s.see(h, "ready")
	r := s.screen(h)
	equal(t, "lines", strings.Join(r.Lines, "|"), "one|  two|ready|")
	equal(t, "cursor", r.Cursor, schema.ScreenCursor{Row: 2, Col: 5, Visible: true, Shape: schema.CursorShapeUnderline})
	equal(t, "title", r.Title, "a title")
	equal(t, "size", [2]int64{r.Cols, r.Rows}, [2]int64{20, 4})
	equal(t, "alternate", r.Alternate, false)
	equal(t, "modes", r.Modes, schema.TerminalModes{
		ApplicationCursor: true, BracketedPaste: true, Mouse: schema.MouseModeOff, MouseEncoding: schema.MouseEncodingLegacy,
	})
	equal(t, "offset", r.Offset, s.get(h).Streams["pty"].NextOffset)
	full := s.screen(h, "trim", false)
	equal(t, "untrimmed", strings.Join(full.Lines, "|"), "one                 |  two               |ready               |"+strings.Repeat(" ", 20))
	same := s.screen(h, "sinceRevision", r.Revision)
	equal(t, "unchanged", same.Unchanged != nil && *same.Unchanged, true)
	equal(t, "lines of what is unchanged", len(same.Lines), 0)
	s.write(h, "\n", "wait", obj{"until": until(obj{"bytes": 1})})
	if r := s.screen(h, "sinceRevision", r.Revision); r.Unchanged != nil || r.Cursor.Row != 3 {
		t.Errorf("after a line: %+v", r)
	}
}

// TestScreenCells: runs of one style.
func TestScreenCells(t *testing.T) {
	s := start(t)
	h := s.pty(`printf 'ab\033[1;31mcd\033[0m \033[38;2;1;2;255;44;4:3me世\033[0m'`, "cols", 10, "rows", 2)
	s.event(h, "job/closed")
	r := s.screen(h, "format", "cells")
	want := `[[{"col":0,"width":2,"text":"ab"},{"col":2,"width":2,"text":"cd","fg":1,"bold":true},{"col":4,"width":1,"text":" "},` +
		`{"col":5,"width":3,"text":"e世","fg":"#0102ff","bg":4,"underline":"curly"}],[]]`
	equal(t, "cells", encode(r.Cells), want)
}

// TestScreenHistory: what has left the screen, as far as it was asked for.
func TestScreenHistory(t *testing.T) {
	s := start(t)
	h := s.pty("seq 2000; printf end", "cols", 10, "rows", 3)
	s.event(h, "job/closed")
	r := s.screen(h, "scrollback", 2)
	equal(t, "screen", strings.Join(r.Lines, " "), "1999 2000 end")
	equal(t, "before it", strings.Join(r.ScrollbackLines, " "), "1997 1998")
	equal(t, "all before it", len(s.screen(h, "scrollback", 1000).ScrollbackLines), 1000)
	cells := s.screen(h, "scrollback", 1, "format", "cells")
	equal(t, "cells before it", encode(cells.ScrollbackCells), `[[{"col":0,"width":4,"text":"1998"}]]`)
	ansi := s.screen(h, "scrollback", 1, "format", "ansi")
	if !strings.Contains(str(ansi.Ansi), "1998") || strings.Contains(str(s.screen(h, "format", "ansi").Ansi), "1998") {
		t.Errorf("ansi: %q", str(ansi.Ansi))
	}
	refused[none](s.begin("job/screen", obj{"handle": h, "scrollback": 1, "format": "png"}), schema.KindInvalidParams)
}

// TestScreenResized: output is drawn in the size that the terminal had.
func TestScreenResized(t *testing.T) {
	s := start(t)
	h := s.pty(`stty -echo; printf 'ready\n'; read x; stty size; printf '%030d' 7; cat`, "cols", 20, "rows", 4)
	s.see(h, "ready")
	do[none](s, "job/resize", obj{"handle": h, "cols": 10, "rows": 6})
	s.write(h, "\n", "wait", obj{"until": until(obj{"pattern": "7"})})
	r := s.screen(h)
	equal(t, "screen", strings.Join(r.Lines, "|"), "ready|6 10|0000000000|0000000000|0000000007|")
	equal(t, "size", [2]int64{r.Cols, r.Rows}, [2]int64{10, 6})
}
