package echo

import (
	"bytes"
	"slices"

	"shelld.dev/shelld/jobs/internal/match"
)

// A line editor may redraw a line on which the echo was found: readline shows a paste in reverse
// video, and at Enter draws it again without. The cursor goes back, and the same text comes again:
// the end of the line, the whole line, or the line behind its prompt. This copy belongs to the echo
// too. Only its end decides whether it is one; if it is not, it is processed again, as output.

// maxRedraw bounds the text that is compared.
const maxRedraw = 8 << 10

// A redraw is a possible copy of the echo that has begun.
type redraw struct {
	drawn  []byte // the text that has to come again, or an end of it
	text   []byte // the text that has come
	moved  bool   // the cursor went to a place that need not be the beginning
	back   bool   // the cursor went back since the last byte of text
	rows   int    // how many rows above the end of the echo the cursor is
	whole  int    // how many bytes must come if the cursor only returned by a CR
	end    int64  // the end of a copy; 0: none yet
	behind match.Stripper
}

// redrawn takes a byte behind the needle if it may belong to a copy, and reports whether it did.
func (f *Finder) redrawn(c byte, text bool) bool {
	t := f.tail
	back, up := f.cursor.take()
	if t.redraw == nil {
		if !f.goesBack(c, text, back, up) {
			return false
		}
		need := f.plan.needles[f.at]
		t.redraw = &redraw{drawn: f.lineText(), whole: len(need.text)}
	}
	r := t.redraw
	if text && c == '\n' {
		return f.redrawnLine()
	}
	switch {
	case !text:
		r.rows += up
		r.back, r.moved = r.back || back, r.moved || back
	case c == '\r':
		r.back = true
	case c == '\b':
		r.back, r.moved = true, true
	case c == ' ', c == '\t':
	default:
		return f.redrawnText(c)
	}
	return true
}

// goesBack reports whether the cursor goes back onto the echo. From the line below the echo it has
// to go up.
func (f *Finder) goesBack(c byte, text, back bool, up int) bool {
	t := f.tail
	switch {
	case !f.plan.needles[f.at].last:
		return false
	case t.newline:
		return up > 0
	case text && c == '\r':
		if t.enter { // it belongs to Enter, whatever follows
			t.blanks, t.longer = 0, true
			f.line.To, t.strip = f.next+1, f.strip
		}
		return true
	case text:
		return c == '\b'
	}
	return back
}

// redrawnText takes a visible byte.
func (f *Finder) redrawnText(c byte) bool {
	r := f.tail.redraw
	last := r.drawn[len(r.drawn)-1]
	if r.end == f.next && inWord(last) && inWord(c) {
		r.end = 0 // a longer word is a different one
	}
	goesOn := append(r.text, c)
	if !bytes.Contains(r.drawn, goesOn) {
		if goesOn = []byte{c}; !r.back || !bytes.Contains(r.drawn, goesOn) {
			f.endTail()
			return true
		}
	}
	r.text, r.back = goesOn, false
	if bytes.HasSuffix(r.drawn, r.text) && (r.moved || len(r.text) >= r.whole) {
		r.end, r.behind = f.next+1, f.strip
	}
	return true
}

// redrawnLine takes a line end, within a copy of several lines or behind a copy.
func (f *Finder) redrawnLine() bool {
	t, r := f.tail, f.tail.redraw
	switch goesOn := append(r.text, '\n'); {
	case r.rows > 0 && bytes.HasSuffix(r.text, []byte{'\n'}): // an empty line
		r.rows--
	case len(r.text) > 0 && r.rows > 0 && bytes.Contains(r.drawn, goesOn):
		r.text, r.back = goesOn, false
		r.rows--
	case r.end > 0:
		f.endRedraw()
		t.newline = false
		t.blanks = f.plan.needles[f.at].blanks
	case len(r.text) == 0 && r.rows > 0: // down again
		if r.rows--; r.rows == 0 {
			f.line.To, t.strip, t.redraw = f.next+1, f.strip, nil
		}
	case len(r.text) == 0 && t.enter && !t.newline:
		f.line.To, t.strip, t.redraw = f.next+1, f.strip, nil
		t.blanks, t.newline, t.longer = 0, true, true
	default:
		f.endTail()
	}
	return true
}

// endRedraw goes back to the end of the copy or, if there is none, to the end of the echo before it.
func (f *Finder) endRedraw() {
	t, r := f.tail, f.tail.redraw
	if r.end > 0 {
		f.line.To, t.strip, t.longer = r.end, r.behind, true
	}
	f.next, f.strip, f.cursor = f.line.To, t.strip, cursor{}
	f.again, t.redraw = true, nil
}

// endTail ends the echo: nothing more belongs to it.
func (f *Finder) endTail() {
	if f.tail != nil && f.tail.redraw != nil {
		f.endRedraw()
	}
	f.tail = nil
}

// lineText returns the text of the line up to the end of the needle that was found, with the lines
// of the input before it.
func (f *Finder) lineText() []byte {
	text := slices.Concat(f.front, f.shown, visibleOf(f.seen))
	return text[max(len(text)-maxRedraw, 0):]
}

// A cursor tracks how escape sequences move the terminal's cursor.
type cursor struct {
	state cursorState
	param int
	moved bool
	up    int
}

type cursorState uint8

const (
	cursorText cursorState = iota
	cursorEscape
	cursorCSI
)

// maxRows bounds the rows that one sequence moves.
const maxRows = 10_000

func (c *cursor) see(b byte) {
	switch {
	case b == 0x1b:
		c.state = cursorEscape
	case c.state == cursorEscape:
		c.state, c.param = cursorText, 0
		switch b {
		case '[':
			c.state = cursorCSI
		case '8': // to the saved position
			c.moved = true
		case 'M':
			c.moved, c.up = true, c.up+1
		}
	case c.state != cursorCSI:
	case b >= '0' && b <= '9':
		c.param = min(10*c.param+int(b-'0'), maxRows)
	case b >= '@':
		c.state = cursorText
		c.final(b)
	}
}

// final takes the last byte of a sequence.
func (c *cursor) final(b byte) {
	switch b {
	case 'A', 'F': // up
		c.moved, c.up = true, c.up+max(c.param, 1)
	case 'D', 'G', '`', 'H', 'f', 'd', 'u': // left, or to a position
		c.moved = true
	}
}

// take returns how the cursor has moved since the last call.
func (c *cursor) take() (back bool, up int) {
	back, up = c.moved, c.up
	c.moved, c.up = false, 0
	return back, up
}
