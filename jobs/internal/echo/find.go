package echo

import (
	"math"
	"time"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/spool"
)

// An Finder looks for the echo of one input in the output behind it. It is a
// plain value: what it finds depends on the bytes, and on what it is told of silence.
type Finder struct {
	plan *plan
	next int64 // the offset of the next byte to look at
	free int64 // the output up to here may be matched: no echo begins before it
	done bool  // nothing more will be found

	armed int64 // where the search began
	since int64 // where that for the present needle began
	again bool  // next went back
	held  bool  // nothing is free before the next find
	found bool  // a line of the input was

	at    int         // the present needle
	back  []int32     // its table: where to go on after a byte that does not fit
	state int         // how many of its bytes were seen
	line  spool.Range // what was found of a line of the input; empty: nothing yet
	short int64       // its end without the last needle; 0: it was the first

	// For what can be seen.
	strip  match.Stripper
	cursor cursor
	seen   []seenByte
	tail   *tail  // the needle was found; what belongs to it beside?
	front  []byte // the text that stood on the line before the input
	shown  []byte // and what was found behind it, with the line ends
	lead   lead
}

// A seenByte is a visible byte of the output, or a blank.
type seenByte struct {
	at    int64
	state int // of the search, behind it
	char  byte
}

// An tail is the look at what stands behind an echo.
type tail struct {
	word           bool // the needle ends like a word: one that goes on is another
	blanks         int  // that belong to the echo
	enter, newline bool // a line end does; it has come
	longer         bool // something that belongs to it has come

	strip  match.Stripper // as it was behind the echo
	redraw *redraw        // the echo may be being drawn again
}

// An Found is a line of the input that was found in the output.
type Found struct {
	spool.Range
	Pass int64 // what is not matched begins here, at or before Range
}

// New begins the search for the echo of an input. before has the output in
// front of it.
func New(t *Typed, before Reader) *Finder {
	plan := t.plan()
	if plan == nil {
		return nil
	}
	f := &Finder{plan: plan, armed: t.Armed, next: t.Armed, free: t.Armed, held: plan.held}
	if !plan.raw {
		f.front = lineBefore(before, t.Armed)
		f.lead = newLead(t, len(f.front) > 0)
	}
	f.seek(0)
	return f
}

// seek begins the search for a needle.
func (f *Finder) seek(i int) {
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

// Next is the offset of the next byte to look at.
func (f *Finder) Next() int64 { return f.next }

// Free is the offset up to which output may be matched: no echo begins before it.
func (f *Finder) Free() int64 { return f.free }

// Done says that nothing more will be found.
func (f *Finder) Done() bool { return f.done }

// finish ends the search: everything may be matched.
func (f *Finder) finish() { f.done, f.free = true, math.MaxInt64 }

// feed looks at the next bytes, up to the end of a line of the input that is found
// there, which it returns with ok. next says where to go on: what was looked at for
// nothing may have to come again.
func (f *Finder) Feed(b []byte) (found Found, ok bool) {
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
func (f *Finder) room() int64 {
	if f.tail != nil {
		return 4 * f.plan.room
	}
	return f.plan.room
}

// step is one step of the search.
func (f *Finder) step(c byte) {
	text := f.plan.needles[f.at].text
	for f.state == len(text) || f.state > 0 && text[f.state] != c {
		f.state = int(f.back[f.state-1])
	}
	if text[f.state] == c {
		f.state++
	}
}

func (f *Finder) complete() bool { return f.state == len(f.plan.needles[f.at].text) }

func (f *Finder) raw(c byte) {
	f.step(c)
	if f.complete() {
		f.extend(spool.Range{From: f.next + 1 - int64(f.state), To: f.next + 1})
	} else if !f.held {
		f.free = max(f.free, f.next+1-int64(f.state))
	}
}

// visible looks at a byte of a program's own drawing. Line editors go back to draw
// again, and wrap a line with a blank and a CR.
func (f *Finder) visible(c byte) {
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
func (f *Finder) stepBack() {
	f.seen = f.seen[:max(len(f.seen)-1, 0)]
	f.state = 0
	if n := len(f.seen); n > 0 {
		f.state = f.seen[n-1].state
	}
}

// completed takes a needle that was seen to its end. What begins or ends in the middle
// of a word of the output is no echo: a program that takes a y without a word may well
// say yes.
func (f *Finder) completed() {
	i, need := f.begin(), f.plan.needles[f.at]
	if f.line == (spool.Range{}) && i > 0 && inWord(f.seen[i-1].char) && inWord(f.seen[i].char) && f.seen[i-1].at == f.seen[i].at-1 {
		f.miss()
		return
	}
	word := need.last && inWord(need.text[len(need.text)-1])
	f.extend(spool.Range{From: f.seen[i].at, To: f.next + 1})
	if need.last || need.blanks > 0 {
		f.tail = &tail{word: word, blanks: need.blanks, enter: need.enter, strip: f.strip}
		f.cursor = cursor{}
	}
}

// miss says that what was seen to its end is not what is looked for.
func (f *Finder) miss() {
	f.state = int(f.back[f.state-1])
	f.seen[len(f.seen)-1].state = f.state
}

// inWord reports whether a byte is part of a word.
func inWord(c byte) bool { return isWord(c) || c >= 0x80 }

// text reports whether a byte is text, and moves on through escape sequences.
func (f *Finder) text(c byte) bool {
	var buf [1]byte
	f.cursor.see(c)
	return len(f.strip.Append(buf[:0], []byte{c})) > 0
}

// begin is where in seen the needle begins that was just completed.
func (f *Finder) begin() int {
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
func (f *Finder) follows(c byte) bool {
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
func (f *Finder) takeBack() {
	f.tail = nil
	if f.line.To = f.short; f.line.To == 0 {
		f.line = spool.Range{}
	}
}

// extend adds what was found to the present line.
func (f *Finder) extend(r spool.Range) {
	if f.short = f.line.To; f.line == (spool.Range{}) {
		f.line.From = r.From
	}
	f.line.To = r.To
}

// settled goes on to the next needle where the present one is done with, and returns
// a line of the input that is found.
func (f *Finder) settled() (Found, bool) {
	if f.tail != nil || f.line == (spool.Range{}) || !f.complete() {
		return Found{}, false
	}
	last := f.plan.needles[f.at].last
	f.shown = f.lineText()
	if last {
		f.shown = append(f.shown, '\n')
	}
	f.front, f.lead = nil, lead{}
	f.seek(f.at + 1)
	if !last {
		return Found{}, false
	}
	return f.emit(), true
}

// emit takes the line that was found.
func (f *Finder) emit() Found {
	found := Found{f.line, f.line.From}
	if f.held && !f.found {
		found.Pass = f.armed
	}
	f.line, f.found = spool.Range{}, true
	f.held = f.plan.held && !f.plan.raw // what a program draws is held line by line
	f.free = max(f.free, found.To)
	return found
}

// giveUp ends the search. What was found of a line counts.
func (f *Finder) giveUp() (found Found, ok bool) {
	f.endTail()
	if f.line != (spool.Range{}) {
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
func (f *Finder) Patience(quiet time.Duration) time.Duration {
	switch {
	case f.done || f.next == f.armed || f.tail == nil && f.free >= f.next:
		return 0
	case f.held && f.tail == nil && f.isBegun(), f.tail != nil && f.tail.enter && !f.tail.newline:
		return stallTime
	}
	return quiet
}

// isBegun says whether a part of the line that is looked for has come, and no more: a
// program that draws its echo may have to do something before it goes on, as a shell that
// completes a word at a Tab.
func (f *Finder) isBegun() bool { return f.state > 0 || f.line != (spool.Range{}) }

// quiet is told that the output has been quiet for patience. What was held back is
// no echo: then a program that has answered without showing what it read does not
// echo at all; one that has echoed a line may show the next when it gets to it.
func (f *Finder) Quiet() (found Found, ok bool) {
	if f.tail != nil {
		f.endTail()
		if found, ok = f.settled(); ok {
			return found, ok
		}
	}
	if f.held && (!f.found || f.line != (spool.Range{})) {
		return f.giveUp()
	}
	f.free = max(f.free, f.next)
	return found, ok
}

// end is told that no more output follows.
func (f *Finder) End() (found Found, ok bool) {
	if f.done {
		return found, false
	}
	return f.giveUp()
}

// Find returns where in a range of stored output the echo of what was typed is. Only what
// stands in the output counts, never when it was read. buf is what the output is read into.
func Find(t *Typed, out Reader, r spool.Range, buf []byte) (found []spool.Range) {
	f := New(t, out)
	if f == nil {
		return nil
	}
	add := func(e Found, ok bool) {
		if e.From, e.To = max(e.From, r.From), min(e.To, r.To); ok && e.From < e.To {
			found = append(found, e.Range)
		}
	}
	for !f.done && f.next < r.To {
		n, at := out.Read(buf, f.next)
		if n == 0 || at != f.next {
			break // dropped: what is left of it cannot be told
		}
		part := buf[:min(int64(n), r.To-at)]
		for used := int64(0); used >= 0 && used < int64(len(part)) && !f.done; used = f.next - at {
			add(f.Feed(part[used:])) // which may go back
		}
	}
	add(f.End())
	return found
}
