package jobs

import (
	"math"
	"time"

	"shelld/jobs/internal/match"
)

// An echoFinder looks for the echo of one input in the output behind it. It is a
// plain value: what it finds depends on the bytes, and on what it is told of silence.
type echoFinder struct {
	plan *echoPlan
	next int64 // the offset of the next byte to look at
	free int64 // the output up to here may be matched: no echo begins before it
	done bool  // nothing more will be found

	armed int64 // where the search began
	since int64 // where that for the present needle began
	again bool  // next went back
	held  bool  // nothing is free before the next find
	found bool  // a line of the input was

	at    int     // the present needle
	back  []int32 // its table: where to go on after a byte that does not fit
	state int     // how many of its bytes were seen
	line  Range   // what was found of a line of the input; empty: nothing yet
	short int64   // its end without the last needle; 0: it was the first

	// For what can be seen.
	strip  match.Stripper
	cursor cursor
	seen   []seenByte
	tail   *echoTail // the needle was found; what belongs to it beside?
	front  []byte    // the text that stood on the line before the input
	shown  []byte    // and what was found behind it, with the line ends
	lead   echoLead
}

// A seenByte is a visible byte of the output, or a blank.
type seenByte struct {
	at    int64
	state int // of the search, behind it
	char  byte
}

// An echoTail is the look at what stands behind an echo.
type echoTail struct {
	word           bool // the needle ends like a word: one that goes on is another
	blanks         int  // that belong to the echo
	enter, newline bool // a line end does; it has come
	longer         bool // something that belongs to it has come

	strip  match.Stripper // as it was behind the echo
	redraw *echoRedraw    // the echo may be being drawn again
}

// An echoFound is a line of the input that was found in the output.
type echoFound struct {
	Range
	pass int64 // what is not matched begins here, at or before Range
}

// newEchoFinder begins the search for the echo of an input. before has the output in
// front of it.
func newEchoFinder(t *typedInput, before spoolReader) *echoFinder {
	plan := t.plan()
	if plan == nil {
		return nil
	}
	f := &echoFinder{plan: plan, armed: t.armed, next: t.armed, free: t.armed, held: plan.held}
	if !plan.raw {
		f.front = lineBefore(before, t.armed)
		f.lead = newEchoLead(t, len(f.front) > 0)
	}
	f.seek(0)
	return f
}

// seek begins the search for a needle.
func (f *echoFinder) seek(i int) {
	f.at, f.state, f.since, f.seen = i, 0, f.next, f.seen[:0]
	if i == len(f.plan.needles) {
		f.finish()
		return
	}
	text := f.plan.needles[i].text
	f.back = make([]int32, len(text)) // the table of Knuth, Morris and Pratt
	for n, k := 1, 0; n < len(text); n++ {
		for k > 0 && text[n] != text[k] {
			k = int(f.back[k-1])
		}
		if text[n] == text[k] {
			k++
		}
		f.back[n] = int32(k)
	}
}

// finish ends the search: everything may be matched.
func (f *echoFinder) finish() { f.done, f.free = true, math.MaxInt64 }

// feed looks at the next bytes, up to the end of a line of the input that is found
// there, which it returns with ok. next says where to go on: what was looked at for
// nothing may have to come again.
func (f *echoFinder) feed(b []byte) (found echoFound, ok bool) {
	for base, n := f.next, int64(0); n >= 0 && n < int64(len(b)) && !f.done; n = f.next - base {
		if f.next-f.since >= f.room() {
			return f.giveUp()
		}
		f.again = false
		took := true
		switch {
		case f.plan.raw:
			f.raw(b[n])
		case f.tail != nil:
			took = f.follows(b[n])
		default:
			f.visible(b[n])
		}
		if took && !f.again {
			f.next++
		}
		if found, ok = f.settled(); ok {
			return found, ok
		}
	}
	return found, ok
}

// room is how much output is searched for the present needle, and copies of it.
func (f *echoFinder) room() int64 {
	if f.tail != nil {
		return 4 * f.plan.room
	}
	return f.plan.room
}

// step is one step of the search.
func (f *echoFinder) step(c byte) {
	text := f.plan.needles[f.at].text
	for f.state == len(text) || f.state > 0 && text[f.state] != c {
		f.state = int(f.back[f.state-1])
	}
	if text[f.state] == c {
		f.state++
	}
}

func (f *echoFinder) complete() bool { return f.state == len(f.plan.needles[f.at].text) }

func (f *echoFinder) raw(c byte) {
	f.step(c)
	if f.complete() {
		f.extend(Range{From: f.next + 1 - int64(f.state), To: f.next + 1})
	} else if !f.held {
		f.free = max(f.free, f.next+1-int64(f.state))
	}
}

// visible looks at a byte of a program's own drawing. Line editors go back to draw
// again, and wrap a line with a blank and a CR.
func (f *echoFinder) visible(c byte) {
	text := f.text(c)
	if back, _ := f.cursor.take(); back {
		f.lead.goesBack(len(f.seen))
	}
	switch {
	case !text:
	case c == '\b':
		f.stepBack()
		f.lead.goesBack(len(f.seen))
	case c == '\n':
		f.newline()
	case c == '\r':
		f.lead.goesBack(len(f.seen))
	case c == ' ', c == '\t':
		f.seen = append(f.seen, seenByte{f.next, f.state, ' '})
	case f.elsewhere(c):
	default:
		f.step(c)
		f.seen = append(f.seen, seenByte{f.next, f.state, c})
		if f.complete() {
			f.completed()
		}
	}
}

// stepBack is a cursor that moves back by one.
func (f *echoFinder) stepBack() {
	f.seen = f.seen[:max(len(f.seen)-1, 0)]
	f.state = 0
	if n := len(f.seen); n > 0 {
		f.state = f.seen[n-1].state
	}
}

// completed takes a needle that was seen to its end. What begins or ends in the middle
// of a word of the output is no echo: a program that takes a y without a word may well
// say yes.
func (f *echoFinder) completed() {
	i, need := f.begin(), f.plan.needles[f.at]
	if f.line == (Range{}) && i > 0 && inWord(f.seen[i-1].char) && inWord(f.seen[i].char) && f.seen[i-1].at == f.seen[i].at-1 {
		f.miss()
		return
	}
	word := need.last && inWord(need.text[len(need.text)-1])
	f.extend(Range{From: f.seen[i].at, To: f.next + 1})
	if need.last || need.blanks > 0 {
		f.tail = &echoTail{word: word, blanks: need.blanks, enter: need.enter, strip: f.strip}
		f.cursor = cursor{}
	}
}

// miss says that what was seen to its end is not what is looked for.
func (f *echoFinder) miss() {
	f.state = int(f.back[f.state-1])
	f.seen[len(f.seen)-1].state = f.state
}

// inWord reports whether a byte is part of a word.
func inWord(c byte) bool { return isWord(c) || c >= 0x80 }

// text reports whether a byte is text, and moves on through escape sequences.
func (f *echoFinder) text(c byte) bool {
	var buf [1]byte
	f.cursor.see(c)
	return len(f.strip.Append(buf[:0], []byte{c})) > 0
}

// begin is where in seen the needle begins that was just completed.
func (f *echoFinder) begin() int {
	i := len(f.seen)
	for left := f.state; left > 0; {
		if i--; f.seen[i].char != ' ' {
			left--
		}
	}
	return i
}

// follows looks at a byte behind the needle, and reports whether it was taken: the
// first that does not belong to the echo is looked at again.
func (f *echoFinder) follows(c byte) bool {
	before, t, goesOn := f.strip, f.tail, f.tail.word
	t.word = false // beyond the next byte it ends all the same
	text := f.text(c)
	if f.redrawn(c, text) {
		return true
	}
	if f.tail == nil {
		return false
	}
	switch {
	case !text:
		return true
	case goesOn && inWord(c):
		f.strip = before
		f.takeBack()
		f.miss()
		return false
	case c == '\b' && !t.longer: // its end is drawn again, and the line goes on
		f.takeBack()
		f.stepBack()
		return true
	case c == ' ' && t.blanks > 0:
		t.blanks--
	case t.enter && c == '\r':
		t.blanks = 0
	case t.enter && c == '\n' && !t.newline:
		t.blanks, t.newline = 0, true
	default:
		f.strip = before
		f.tail = nil
		return false
	}
	f.line.To, t.longer, t.strip = f.next+1, true, f.strip
	return true
}

// takeBack undoes the completion of the present needle.
func (f *echoFinder) takeBack() {
	f.tail = nil
	if f.line.To = f.short; f.line.To == 0 {
		f.line = Range{}
	}
}

// extend adds what was found to the present line.
func (f *echoFinder) extend(r Range) {
	if f.short = f.line.To; f.line == (Range{}) {
		f.line.From = r.From
	}
	f.line.To = r.To
}

// settled goes on to the next needle where the present one is done with, and returns
// a line of the input that is found.
func (f *echoFinder) settled() (echoFound, bool) {
	if f.tail != nil || f.line == (Range{}) || !f.complete() {
		return echoFound{}, false
	}
	last := f.plan.needles[f.at].last
	f.shown = f.lineText()
	if last {
		f.shown = append(f.shown, '\n')
	}
	f.front, f.lead = nil, echoLead{}
	f.seek(f.at + 1)
	if !last {
		return echoFound{}, false
	}
	return f.emit(), true
}

// emit takes the line that was found.
func (f *echoFinder) emit() echoFound {
	found := echoFound{f.line, f.line.From}
	if f.held && !f.found {
		found.pass = f.armed
	}
	f.line, f.found = Range{}, true
	f.held = f.plan.held && !f.plan.raw // what a program draws is held line by line
	f.free = max(f.free, found.To)
	return found
}

// giveUp ends the search. What was found of a line counts.
func (f *echoFinder) giveUp() (found echoFound, ok bool) {
	f.endTail()
	if f.line != (Range{}) {
		found, ok = f.emit(), true
	}
	f.finish()
	return found, ok
}

// stallTime is how long a part of an echo waits for the rest, and one that Enter ends
// for its line end, before which it may be drawn again. A program may be slow,
// but output that happens to end like the input must not hold matches up for good.
const stallTime = time.Second

// patience is how long the output has to be quiet before that says something; 0 where
// it never will.
func (f *echoFinder) patience() time.Duration {
	switch {
	case f.done || f.next == f.armed || f.tail == nil && f.free >= f.next:
		return 0
	case f.held && f.tail == nil && f.isBegun(), f.tail != nil && f.tail.enter && !f.tail.newline:
		return stallTime
	}
	return quietTime
}

// isBegun says whether a part of the line that is looked for has come, and no more: a
// program that draws its echo may have to do something before it goes on, as a shell that
// completes a word at a Tab.
func (f *echoFinder) isBegun() bool { return f.state > 0 || f.line != (Range{}) }

// quiet is told that the output has been quiet for patience. What was held back is
// no echo: then a program that has answered without showing what it read does not
// echo at all; one that has echoed a line may show the next when it gets to it.
func (f *echoFinder) quiet() (found echoFound, ok bool) {
	if f.tail != nil {
		f.endTail()
		if found, ok = f.settled(); ok {
			return found, ok
		}
	}
	if f.held && (!f.found || f.line != (Range{})) {
		return f.giveUp()
	}
	f.free = max(f.free, f.next)
	return found, ok
}

// end is told that no more output follows.
func (f *echoFinder) end() (found echoFound, ok bool) {
	if f.done {
		return found, false
	}
	return f.giveUp()
}
