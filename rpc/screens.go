package rpc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
	"shelld.dev/shelld/screen"
)

// screenFormats are the formats of job/screen.
var screenFormats = []schema.ScreenFormat{schema.ScreenFormatText, schema.ScreenFormatCells, schema.ScreenFormatAnsi, schema.ScreenFormatPng}

func (s *Server) jobScreen(r *request) error {
	var p schema.JobScreenParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	history := int(or(p.Scrollback, 0))
	if history > 0 && or(p.Format, "") == schema.ScreenFormatPng {
		return invalidParams(schema.FieldError{Pointer: "/scrollback", Message: "scrollback is not shown in a png; ask for text, cells or ansi"})
	}
	pending := j.Screen(history, r.roomForScreen)
	r.await(func() (any, error) {
		shown, err := wait(r, pending)
		if err != nil {
			return nil, err
		}
		return r.screenResult(&shown, &p)
	})
	return nil
}

// screenResult returns a screen in the requested format. Only one screen at a time is encoded for an answer, since that
// may take many times as much memory as the screen itself.
func (r *request) screenResult(shown *jobs.Screen, p *schema.JobScreenParams) (any, error) {
	w := schema.JobScreenResult{
		Cursor: screenCursor(shown.Cursor), Cols: int64(shown.Cols), Rows: int64(shown.Rows), Title: shown.Title,
		Alternate: shown.Modes.AlternateScreen, Modes: terminalModes(&shown.Modes),
		Revision: int64(shown.Revision), Offset: shown.Offset, Approximate: optional(shown.Approximate),
	}
	same := shown.Same || or(p.Format, "") != schema.ScreenFormatAnsi // ansi contains invisible state as well.
	if same && p.SinceRevision != nil && *p.SinceRevision == w.Revision {
		w.Unchanged = optional(true)
		return w, nil
	}
	r.server.screens.Lock()
	defer r.server.screens.Unlock()
	limit := int(r.server.maxMessage.Load())
	rest := marshal(w)
	b := screenWriter{most: limit - len(rest) - len(r.id) - 64} // an upper bound for the envelope
	if err := b.write(shown, p); err != nil {
		return nil, err
	}
	if b.full() {
		msg := "the screen would be longer than maxMessageBytes; ask for fewer lines with scrollback, or for another format (text is the shortest), or raise the limit"
		return nil, &wireError{schema.KindLimitExceeded, msg, schema.LimitExceededData{
			Kind: string(schema.KindLimitExceeded), Limit: "maxMessageBytes", Max: int64(limit),
		}}
	}
	return encoded(append(append([]byte{'{'}, b.b...), rest[1:]...)), nil
}

// A screenWriter writes the content of a screen, as members of a result, until it is too long.
type screenWriter struct {
	b    []byte
	most int
}

func (w *screenWriter) full() bool { return len(w.b) > w.most }

func (w *screenWriter) write(shown *jobs.Screen, p *schema.JobScreenParams) error {
	wantsHistory := or(p.Scrollback, 0) > 0
	switch or(p.Format, schema.ScreenFormatText) {
	case schema.ScreenFormatText:
		w.lines("lines", shown.Lines, or(p.Trim, true))
		if wantsHistory {
			w.lines("scrollbackLines", shown.History, or(p.Trim, true))
		}
	case schema.ScreenFormatCells:
		w.cells("cells", shown.Lines)
		if wantsHistory {
			w.cells("scrollbackCells", shown.History)
		}
	case schema.ScreenFormatAnsi:
		w.ansi(shown, wantsHistory)
	case schema.ScreenFormatPng:
		png, err := shown.PNG()
		if err != nil {
			return fmt.Errorf("draw the picture of a screen: %w", err)
		}
		w.member("png", png)
	}
	return nil
}

// member writes a member; bytes are written in base64.
func (w *screenWriter) member(name string, value any) {
	w.b = append(append(append(w.b, '"'), name...), `":`...)
	w.b = append(append(w.b, marshal(value)...), ',')
}

// list writes the member name, which is a list: item writes one line of it.
func (w *screenWriter) list(name string, lines []screen.Line, item func(screen.Line)) {
	w.b = append(append(append(w.b, '"'), name...), `":[`...)
	for i, l := range lines {
		if w.full() {
			return
		}
		w.comma(i)
		item(l)
	}
	w.b = append(w.b, "],"...)
}

func (w *screenWriter) comma(i int) {
	if i > 0 {
		w.b = append(w.b, ',')
	}
}

func (w *screenWriter) lines(name string, lines []screen.Line, trim bool) {
	w.list(name, lines, func(l screen.Line) { w.b = append(w.b, marshal(lineText(l, trim))...) })
}

func (w *screenWriter) cells(name string, lines []screen.Line) {
	w.list(name, lines, func(l screen.Line) {
		w.b = append(w.b, '[')
		for i, run := range l.Runs() {
			if w.full() {
				return
			}
			w.comma(i)
			w.b = append(w.b, marshal(screenRun(&run))...)
		}
		w.b = append(w.b, ']')
	})
}

// ansi writes the sequences that make another terminal show the screen.
func (w *screenWriter) ansi(shown *jobs.Screen, history bool) {
	w.b = append(w.b, `"ansi":"`...)
	for piece := range shown.ANSI(history) {
		text := marshal(string(piece))
		w.b = append(w.b, text[1:len(text)-1]...)
		if w.full() {
			return
		}
	}
	w.b = append(w.b, `",`...)
}

// lineTexts returns lines as strings.
func lineTexts(lines []screen.Line) []string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = lineText(l, true)
	}
	return texts
}

func lineText(l screen.Line, trim bool) string {
	if trim {
		return l.Text()
	}
	return l.FullText()
}

func screenRun(r *screen.Run) schema.ScreenRun {
	has := func(a screen.Attribute) *bool { return optional(r.Style.Attributes&a != 0) }
	return schema.ScreenRun{
		Col: int64(r.Col), Width: int64(r.Width), Text: r.Text,
		Fg: color(r.Style.Foreground), Bg: color(r.Style.Background),
		Bold: has(screen.Bold), Faint: has(screen.Faint), Italic: has(screen.Italic), Blink: has(screen.Blink),
		Inverse: has(screen.Inverse), Invisible: has(screen.Invisible), Strike: has(screen.Strike), Overline: has(screen.Overline),
		Underline: optional(underlines[r.Style.Underline]), UnderlineColor: color(r.Style.UnderlineColor), Link: optional(r.Style.Link),
	}
}

var underlines = map[screen.Underline]schema.Underline{
	screen.SingleUnderline: schema.UnderlineSingle, screen.DoubleUnderline: schema.UnderlineDouble, screen.CurlyUnderline: schema.UnderlineCurly,
	screen.DottedUnderline: schema.UnderlineDotted, screen.DashedUnderline: schema.UnderlineDashed,
}

// color returns a colour's number or #rrggbb; nil for the terminal's default colour.
func color(c screen.Color) json.RawMessage {
	if n, ok := c.Index(); ok {
		return strconv.AppendInt(nil, int64(n), 10)
	}
	if r, g, b, ok := c.RGB(); ok {
		return fmt.Appendf(nil, `"#%02x%02x%02x"`, r, g, b)
	}
	return nil
}

func screenCursor(c screen.Cursor) schema.ScreenCursor {
	return schema.ScreenCursor{Row: int64(c.Row), Col: int64(c.Col), Visible: c.Visible, Shape: cursorShapes[c.Shape]}
}

var cursorShapes = map[screen.CursorShape]schema.CursorShape{
	screen.BlockCursor: schema.CursorShapeBlock, screen.UnderlineCursor: schema.CursorShapeUnderline, screen.BarCursor: schema.CursorShapeBar,
}

func terminalModes(m *screen.Modes) schema.TerminalModes {
	return schema.TerminalModes{
		ApplicationCursor: m.ApplicationCursor, ApplicationKeypad: m.ApplicationKeypad, BracketedPaste: m.BracketedPaste,
		FocusEvents: m.FocusEvents, Mouse: mouseModes[m.Mouse], MouseEncoding: mouseEncodings[m.MouseEncoding],
	}
}

var mouseModes = map[screen.MouseMode]schema.MouseMode{
	screen.MouseOff: schema.MouseModeOff, screen.MouseX10: schema.MouseModeX10, screen.MouseNormal: schema.MouseModeNormal,
	screen.MouseButton: schema.MouseModeButton, screen.MouseAny: schema.MouseModeAny,
}

var mouseEncodings = map[screen.MouseEncoding]schema.MouseEncoding{
	screen.MouseLegacy: schema.MouseEncodingLegacy, screen.MouseUTF8: schema.MouseEncodingUtf8, screen.MouseSGR: schema.MouseEncodingSgr,
	screen.MouseURXVT: schema.MouseEncodingUrxvt, screen.MouseSGRPixels: schema.MouseEncodingSgrPixels,
}

// place returns a position on a screen; nil if there is none.
func place(p *jobs.Place) (row, col *int64) {
	if p == nil {
		return nil, nil
	}
	return int64Ptr(&p.Row), int64Ptr(&p.Col)
}

// outcomeScreen returns a screen for an outcome.
func outcomeScreen(s *jobs.Screen) *schema.OutcomeScreen {
	return &schema.OutcomeScreen{
		Lines: lineTexts(s.Lines), Cursor: screenCursor(s.Cursor), Cols: int64(s.Cols), Rows: int64(s.Rows),
		Alternate: s.Modes.AlternateScreen, Revision: int64(s.Revision), Offset: s.Offset, Approximate: optional(s.Approximate),
	}
}

// tellsLocked makes the job report changes of its screen and waits for input, or stop reporting them, according to the
// last subscription. It returns whether a client answers the queries of programs. The caller must hold out.mu.
func (l *lane) tellsLocked() (answers bool) {
	every := time.Duration(0)
	if l.open && l.want.events[schema.EventNameScreenChanged] {
		every = time.Duration(l.out.screenEvery.Load())
	}
	return l.feed.demands.tell(l, l.open && l.want.events[schema.EventNameWaitingForInput], every, l.answering)
}
