package rpc_test

import (
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// screen returns the screen of a job's terminal.
func (s *session) screen(handle any, more ...any) schema.JobScreenResult {
	s.t.Helper()
	return do[schema.JobScreenResult](s, "job/screen", merged(obj{"handle": handle}, more))
}

// TestScreenText checks rows as text, the cursor's position, and the modes that the program has set.
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

// TestScreenANSISince: a colour that no text has yet changes only ansi.
func TestScreenANSISince(t *testing.T) {
	s := start(t)
	h := s.pty(`stty -echo; printf 'x'; read x; printf '\033[31m\033[2;4r\033[1;2H'; cat`, "cols", 20, "rows", 5)
	s.see(h, "x")
	first := s.screen(h, "format", "ansi")
	if r := s.screen(h, "format", "ansi", "sinceRevision", first.Revision); r.Unchanged == nil || r.Ansi != nil {
		t.Errorf("of what has not changed: %+v", r)
	}
	w := s.write(h, "\n", "wait", obj{"until": until(obj{"bytes": 17})})
	equal(t, "all of it", w.Outcome.Reason, schema.OutcomeReasonBytes)
	second := s.screen(h, "format", "ansi", "sinceRevision", first.Revision)
	if second.Unchanged != nil || str(second.Ansi) == str(first.Ansi) || second.Revision != first.Revision {
		t.Errorf("with another colour: %+v", second)
	}
	if r := s.screen(h, "sinceRevision", first.Revision); r.Unchanged == nil {
		t.Errorf("what one sees of it: %+v", r)
	}
	s.kill(h)
}

// TestScreenCells checks the runs of one style.
func TestScreenCells(t *testing.T) {
	s := start(t)
	h := s.pty(`printf 'ab\033[1;31mcd\033[0m \033[38;2;1;2;255;44;4:3me世\033[0m'`, "cols", 10, "rows", 2)
	s.event(h, "job/closed")
	r := s.screen(h, "format", "cells")
	want := `[[{"col":0,"width":2,"text":"ab"},{"col":2,"width":2,"text":"cd","fg":1,"bold":true},{"col":4,"width":1,"text":" "},` +
		`{"col":5,"width":3,"text":"e世","fg":"#0102ff","bg":4,"underline":"curly"}],[]]`
	equal(t, "cells", encode(r.Cells), want)
}

// TestScreenHistory checks the lines that have left the screen, up to the requested number.
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

// TestScreenTooLong: an answer that does not fit is refused, and a smaller one is sent.
func TestScreenTooLong(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"maxMessageBytes": 1 << 20}})
	h := s.pty(`yes "$(printf '\033[1ma\033[0mb')" | head -n 30000 | tr -d '\n'`, "cols", 1000, "rows", 50, "events", []string{"closed"})
	s.event(h, "job/closed")
	d := refused[schema.LimitExceededData](s.begin("job/screen", obj{"handle": h, "format": "cells"}), schema.KindLimitExceeded)
	equal(t, "limit", d.Limit, "maxMessageBytes")
	equal(t, "less of it", len(s.screen(h).Lines[9]), 1000)
}

// TestScreenResized: output is drawn in the terminal's size at that time.
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

// TestScreenChanged: a change is reported once it is drawn, after its output, the last one before the end. Nothing is
// reported if the screen is the same.
func TestScreenChanged(t *testing.T) {
	s := start(t)
	h := s.pty(`stty -echo; printf one; read x; printf '\033[0m'; read x; printf two`, "events", []string{"output", "screenChanged", "exited", "closed"})
	first := s.event(h, "job/screenChanged")
	equal(t, "revision", s.screen(h).Revision, first.Revision)
	s.write(h, "\n", "wait", obj{"until": until(obj{"bytes": 1})}) // a colour alone is not visible
	s.write(h, "\n")
	s.event(h, "job/closed")
	all := s.all(h, "job/screenChanged")
	if len(all) != 2 || all[1].Revision <= all[0].Revision {
		t.Fatalf("%d changes: %+v", len(all), all)
	}
	exited := s.event(h, "job/exited")
	equal(t, "seq before that of exited", all[1].Seq, exited.Seq-1)
	equal(t, "offset", all[1].Offset, s.get(h).Streams["pty"].NextOffset)
	equal(t, "revision", s.screen(h).Revision, all[1].Revision)
}

// TestScreenChangedIsAskedForLate: a late subscriber gets the current revision, and nothing is sent after the
// subscription has ended.
func TestScreenChangedIsAskedForLate(t *testing.T) {
	s := start(t)
	h := s.pty(`stty -echo; printf one; read x; printf two; read x; printf three; read x`, "events", []string{"closed"})
	s.see(h, "one")
	subscribe := func(events ...string) { do[none](s, "job/subscribe", obj{"handle": h, "events": events}) }
	subscribe("screenChanged")
	s.event(h, "job/screenChanged")
	subscribe("closed")
	s.write(h, "\n", "wait", obj{"until": until(obj{"pattern": "two"})})
	revision := s.screen(h).Revision
	subscribe("screenChanged", "closed")
	s.wait("a change", func() bool {
		n := len(s.events)
		return s.events[n-1].Method == "job/screenChanged" && s.events[n-1].Revision == revision
	})
	equal(t, "changes", len(s.all(h, "job/screenChanged")), 2)
	s.kill(h)
}

// TestScreenChangedInAFlood: of much output only a few changes are reported.
func TestScreenChangedInAFlood(t *testing.T) {
	s := start(t)
	h := s.pty("seq 2000000", "events", []string{"screenChanged", "closed"})
	s.event(h, "job/closed")
	changes := s.all(h, "job/screenChanged")
	r := s.screen(h)
	if n := len(changes); n < 2 || changes[n-1].Revision != r.Revision || r.Lines[22] != "2000000" {
		t.Fatalf("%d changes, the last to %+v; the screen is %+v", n, changes[n-1], r)
	}
	took := s.get(h).DurationMs
	if most := int(took/100) + 3; len(changes) > most {
		t.Errorf("%d changes in %d ms", len(changes), took)
	}
}

// TestScreenPatterns: a watch on the screen reports the position of a match. It reports the match again only after it
// was gone or has another text.
func TestScreenPatterns(t *testing.T) {
	s := start(t)
	h := s.pty(`stty -echo; printf 'ab\n  世x=1'; read x; printf ' more'; read x; printf '\rx=2 '; read x; printf '\033[2J'; read x; printf 'x=2'; read x`,
		"cols", 20, "rows", 5, "watch", []obj{{"pattern": `(?<name>x)=\d`, "on": "screen"}})
	told := func(n int) event {
		t.Helper()
		s.wait("a match", func() bool {
			found := 0
			for _, e := range s.events {
				if e.Method == "job/patternMatched" {
					found++
				}
			}
			return found >= n
		})
		return s.all(h, "job/patternMatched")[n-1]
	}
	m := told(1)
	equal(t, "match", m.Match+" "+m.Line+" "+str(m.Groups[0])+" "+str(m.Named["name"]), "x=1   世x=1 x x")
	equal(t, "place", [2]int64{num(m.Row), num(m.Col)}, [2]int64{1, 4})
	equal(t, "stream", m.Stream, "pty")
	next := func(pattern string) schema.Outcome {
		t.Helper()
		w := s.write(h, "\n", "wait", obj{"until": until(obj{"pattern": pattern, "on": "screen"}), "format": "screen"})
		equal(t, "reason", w.Outcome.Reason, schema.OutcomeReasonPattern)
		return deref(t, w.Outcome)
	}
	o := next("more")
	equal(t, "screen", strings.Join(o.Screen.Lines, "|"), "ab|  世x=1 more|||")
	equal(t, "place", [2]int64{num(o.Match.Row), num(o.Match.Col)}, [2]int64{1, 8})
	equal(t, "output", len(o.Output), 0)
	next("(?<!.)x=2")
	equal(t, "another text", told(2).Match, "x=2")
	next("^\\s*$")
	next("x=2")
	m = told(3)
	equal(t, "the same text again", m.Match, "x=2")
	equal(t, "place", [2]int64{num(m.Row), num(m.Col)}, [2]int64{1, 4})
	equal(t, "watch", string(s.get(h).Watches[0].On), "screen")
	do[none](s, "job/unwatch", obj{"handle": h, "watchId": 1})
	s.kill(h)
	equal(t, "matches", len(s.all(h, "job/patternMatched")), 3)
}

// TestScreenConditions: text that is on the screen matches at once, but not in the wait of a write. At the end all
// output has been searched.
func TestScreenConditions(t *testing.T) {
	s := start(t)
	h := s.pty(`stty -echo; printf 'ready\n'; cat`)
	s.see(h, "ready")
	on := func(pattern string) []obj { return until(obj{"pattern": pattern, "on": "screen"}) }
	o := s.await(h, obj{"pattern": "ready", "on": "screen"}, "timeoutMs", 0, "format", "screen")
	equal(t, "reason", o.Reason, schema.OutcomeReasonPattern)
	equal(t, "what is there already, in a poll", s.await(h, obj{"pattern": "nothing", "on": "screen"}, "timeoutMs", 0).Reason, schema.OutcomeReasonTimeout)
	equal(t, "from now on", s.await(h, obj{"pattern": "ready", "on": "screen"}, "timeoutMs", 0, "from", "now").Reason, schema.OutcomeReasonTimeout)
	w := s.write(h, "x", "wait", obj{"until": on("ready"), "timeoutMs": 0})
	equal(t, "before there is an answer", w.Outcome.Reason, schema.OutcomeReasonTimeout)
	w = s.write(h, "\n", "wait", obj{"until": on("ready")})
	equal(t, "behind the answer", w.Outcome.Reason, schema.OutcomeReasonPattern)
	refused[none](s.begin("job/wait", obj{"handle": h, "until": until(obj{"pattern": "x", "on": "screen", "afterInput": true})}), schema.KindInvalidParams)
	s.kill(h)
	a := do[schema.JobStartResult](s, "job/start", obj{"command": "printf last", "wait": obj{"until": on("last"), "format": "screen"}})
	equal(t, "at the end", a.Outcome.Reason, schema.OutcomeReasonPattern)
	equal(t, "screen", a.Outcome.Screen.Lines[0], "last")
	s.event(a.Job.Handle, "job/closed")
	equal(t, "after it", s.await(a.Job.Handle, obj{"pattern": "last", "on": "screen"}).Reason, schema.OutcomeReasonPattern)
}

// TestScreenOfPipes: a job without a terminal has no screen.
func TestScreenOfPipes(t *testing.T) {
	s := start(t)
	h := s.pipe("sleep 60")
	for where, c := range map[string]*call{
		"/watch/0/on":      s.begin("job/start", obj{"command": "true", "mode": "pipe", "watch": []obj{{"pattern": "x", "on": "screen"}}}),
		"/wait/until/0/on": s.begin("job/start", obj{"command": "true", "mode": "pipe", "wait": obj{"until": until(obj{"pattern": "x", "on": "screen"})}}),
		"/wait/format":     s.begin("job/start", obj{"command": "true", "mode": "pipe", "wait": obj{"until": []obj{}, "format": "screen"}}),
		"/on":              s.begin("job/watch", obj{"handle": h, "pattern": "x", "on": "screen"}),
		"/until/0/on":      s.begin("job/wait", obj{"handle": h, "until": until(obj{"pattern": "x", "on": "screen"})}),
		"/format":          s.begin("job/wait", obj{"handle": h, "until": []obj{}, "format": "screen"}),
	} {
		d := refused[schema.InvalidParamsData](c, schema.KindInvalidParams)
		equal(t, "pointer", d.Errors[0].Pointer, where)
	}
}
