//go:build unix

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A shownScreen is what our terminal shows of the job. The fields are owned by the loop of the attacher.
type shownScreen struct {
	plain bool   // the output of a job without a terminal
	raw   bool   // the output as it is
	drawn bool   // the job's screen, drawn on our alternate screen
	note  string // for the line below a drawn screen

	awaits bool // output is of the subscription before: the screen that was written has it
	busy   bool // a screen is being fetched
	again  bool // and is to be fetched once more
}

const (
	// resetModes undoes what programs set in a terminal, but does not clear it. ?1047 is, unlike ?1049, harmless on the
	// main screen.
	resetModes = "\x1b[?1047l\x1b[?1;5;6;9;1000;1002;1003;1004;1005;1006;1015;1016;2004;2026l\x1b[?7h\x1b[4l\x1b>\x1b[<u\x1b(B\x0f\x1b[0m\x1b[r\x1b[0 q\x1b[?25h"
	// freshScreen makes our terminal one that can be drawn on.
	freshScreen = resetModes + "\x1b[H\x1b[2J"
	toDrawn     = "\x1b[?1049h"
	fromDrawn   = "\x1b[0m\x1b[?25h\x1b[?1049l"
)

// write writes to our terminal. An error means that it is gone, which its input or a signal reports.
func (*shownScreen) write(s string) { _, _ = os.Stdout.WriteString(s) }

// leave makes our terminal one for the shell again. The last output stays visible.
func (s *shownScreen) leave() {
	switch {
	case s.raw:
		s.write(resetModes + "\x1b[999;1H\r\n")
	case s.drawn:
		s.write(fromDrawn)
	}
	s.raw, s.drawn = false, false
}

// pass shows the output as it is from now on.
func (a *attacher) pass() {
	if a.screen.drawn {
		a.screen.write(fromDrawn)
	}
	a.screen.raw, a.screen.drawn = true, false
	a.refresh()
}

// look draws the job's screen from now on.
func (a *attacher) look(note string) {
	a.screen.note = note
	if !a.screen.drawn {
		if a.screen.raw {
			a.screen.write(resetModes)
		}
		a.screen.write(toDrawn)
		a.screen.raw, a.screen.drawn = false, true
		a.subscribe(map[string]any{"events": []string{"screenChanged", "inputChanged", "exited"}}, func() {})
	}
	a.refresh()
}

// subscribe sets the events that we get.
func (a *attacher) subscribe(params map[string]any, then func()) {
	a.ask("job/subscribe", params, nil, func(err error) {
		if err != nil {
			a.gone(err)
			return
		}
		then()
	})
}

// refresh shows the job's present screen.
func (a *attacher) refresh() {
	s := &a.screen
	if s.busy {
		s.again = true
		return
	}
	switch {
	case s.raw:
		s.busy = true
		a.redraw(a.refreshed)
	case s.drawn:
		a.draw()
	}
}

// refreshed ends a refresh.
func (a *attacher) refreshed() {
	a.screen.busy = false
	if a.screen.again {
		a.screen.again = false
		a.refresh()
	}
}

// redraw writes the job's screen, and has the output from there on sent.
func (a *attacher) redraw(then func()) {
	var res schema.JobScreenResult
	a.ask("job/screen", map[string]any{"format": schema.ScreenFormatAnsi}, &res, func(err error) {
		switch {
		case err != nil:
			a.say("the screen cannot be drawn: %s", explainCall(err))
			a.finish(1)
			return
		case !a.screen.raw:
			then()
			return
		}
		a.screen.write(freshScreen + deref0(res.Ansi))
		a.screen.awaits = true
		a.subscribe(map[string]any{
			"events": []string{"output", "inputChanged", "exited"}, "encoding": schema.EncodingBase64,
			"from": res.Offset, "queries": schema.QueriesStrip, "whenSlow": "skip",
		}, then)
	})
}

// output writes a piece of output, once.
func (a *attacher) output(p *schema.JobOutputParams) {
	_ = a.member.Notify("job/ack", map[string]any{"handle": p.Handle, "stream": p.Stream, "offset": p.Offset + p.Bytes}) // The loop notices a lost host.
	if a.screen.plain {
		a.print(p)
		return
	}
	if !a.screen.raw || a.screen.awaits && p.Restart == nil {
		return
	}
	a.screen.awaits = false
	if p.Gap != nil {
		a.refresh() // Our terminal was too slow.
		return
	}
	_, _ = os.Stdout.Write(data(p)) // See shownScreen.write.
}

// print prints output of a job without a terminal.
func (a *attacher) print(p *schema.JobOutputParams) {
	if p.Gap != nil {
		a.say("%d bytes of %s are not kept any more, and were left out", p.Gap.To-p.Gap.From, p.Stream)
	}
	to := os.Stdout
	if p.Stream == "stderr" {
		to = os.Stderr
	}
	_, _ = to.Write(data(p)) // See shownScreen.write.
}

// data returns the bytes of a piece of output.
func data(p *schema.JobOutputParams) []byte {
	if p.Base64 == nil {
		return []byte(deref0(p.Text))
	}
	b, _ := base64.StdEncoding.DecodeString(*p.Base64) // The server has encoded it.
	return b
}

// draw draws the job's screen, cut to ours.
func (a *attacher) draw() {
	if a.screen.busy {
		a.screen.again = true
		return
	}
	a.screen.busy = true
	var res schema.JobScreenResult
	a.ask("job/screen", map[string]any{"format": schema.ScreenFormatCells}, &res, func(err error) {
		cols, rows, ok := a.console.size()
		switch {
		case client.KindOf(err) == schema.KindJobNotFound:
			a.say("%s", explainCall(err))
			a.finish(statusNoSession)
			return
		case err == nil && ok && a.screen.drawn:
			_, _ = os.Stdout.Write(paintScreen(&res, cols, rows, a.line(&res, cols, rows)))
		}
		a.refreshed()
	})
}

// line returns the line below a drawn screen.
func (a *attacher) line(res *schema.JobScreenResult, cols, rows int) string {
	text := fmt.Sprintf("job %d of %s", a.handle, a.member.session)
	if res.Cols > int64(cols) || res.Rows > int64(rows-1) {
		text += fmt.Sprintf(", cut from %dx%d", res.Cols, res.Rows)
	}
	if a.screen.note != "" {
		text = a.screen.note
	}
	key := a.opts.key.shown()
	if !a.opts.view {
		text += "; " + key + " t: take it"
	}
	return text + "; " + key + " " + key + ": detach"
}

// paintScreen returns the output that draws a screen in so many columns and rows, the last of which is the line. The row with
// the cursor is always among them.
func paintScreen(s *schema.JobScreenResult, cols, rows int, line string) []byte {
	height := max(rows-1, 1)
	top := max(0, int(s.Cursor.Row)-height+1)
	b := []byte("\x1b[?2026h\x1b[?25l\x1b[?7l")
	for i := range height {
		b = fmt.Appendf(b, "\x1b[0m\x1b[%d;1H\x1b[2K", i+1)
		if top+i < len(s.Cells) {
			b = appendRuns(b, s.Cells[top+i], cols)
		}
	}
	if rows > 1 {
		b = fmt.Appendf(b, "\x1b[0;7m\x1b[%d;1H\x1b[2K%s\x1b[0m", rows, cutLine(printable(line), cols))
	}
	if c := s.Cursor; c.Visible && int(c.Col) < cols {
		b = fmt.Appendf(b, "\x1b[%d;%dH\x1b[?25h", int(c.Row)-top+1, c.Col+1)
	}
	return append(b, "\x1b[?7h\x1b[?2026l"...)
}

// appendRuns appends the part of a row that fits in so many columns.
func appendRuns(b []byte, runs []schema.ScreenRun, cols int) []byte {
	for _, r := range runs {
		if int(r.Col) >= cols {
			break
		}
		text := r.Text
		if over := int(r.Col+r.Width) - cols; over > 0 {
			text = string([]rune(text)[:min(cols-int(r.Col), len([]rune(text)))]) // Wide characters beyond it do not wrap.
		}
		b = fmt.Appendf(b, "\x1b[%dG\x1b[0", r.Col+1)
		b = append(appendStyle(b, &r), 'm')
		b = append(b, text...)
	}
	return b
}

// appendStyle appends the parameters of SGR for a run.
func appendStyle(b []byte, r *schema.ScreenRun) []byte {
	for _, s := range []struct {
		on   *bool
		code string
	}{
		{r.Bold, ";1"}, {r.Faint, ";2"}, {r.Italic, ";3"}, {r.Blink, ";5"}, {r.Inverse, ";7"}, {r.Invisible, ";8"},
		{r.Strike, ";9"}, {r.Overline, ";53"},
	} {
		if deref0(s.on) {
			b = append(b, s.code...)
		}
	}
	if r.Underline != nil {
		b = append(b, ";4"...)
	}
	return appendColour(appendColour(b, 38, r.Fg), 48, r.Bg)
}

// appendColour appends a colour: a number in the palette or "#rrggbb".
func appendColour(b []byte, code int, colour []byte) []byte {
	var red, green, blue int
	if n, err := fmt.Sscanf(string(bytes.Trim(colour, `"`)), "#%02x%02x%02x", &red, &green, &blue); err == nil && n == 3 {
		return fmt.Appendf(b, ";%d;2;%d;%d;%d", code, red, green, blue)
	}
	if len(colour) > 0 {
		return fmt.Appendf(b, ";%d;5;%s", code, colour)
	}
	return b
}
