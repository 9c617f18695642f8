package echo

import (
	"math"
	"time"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/spool"
)

// A Finder searches the output for the echo of one input. Its results depend only on the bytes
// that it is fed and on the calls of Quiet and End.
type Finder struct {
	plan *plan
	next int64 // see Next
	free int64 // see Free
	done bool  // see Done

	armed int64 // where the search began
	since int64 // where the search for the current needle began
	again bool  // next went back
	held  bool  // nothing may be matched before the next line is found
	found bool  // a line of the input was found

	at    int         // the index of the current needle
	back  []int32     // its failure table: the state to continue with after a byte that does not fit
	state int         // how many of its bytes have been found
	line  spool.Range // the part of a line of the input that has been found; empty: nothing yet
	short int64       // the end of line without its last needle; 0: that is the first

	// For visible text.
	strip  match.Stripper
	cursor cursor
	seen   []seenByte
	tail   *tail  // not nil: the needle was found, and its end is looked for
	front  []byte // the text on the line before the input
	shown  []byte // and the text found behind it, with line ends
	lead   lead
}

// A seenByte is a visible byte of the output or a blank.
type seenByte struct {
	at    int64
	state int // of the search, behind this byte
	char  byte
}

// A tail is the search for the end of an echo, behind its needle.
type tail struct {
	word           bool // the needle ends with a letter or digit; if another one follows, it is a different word
	blanks         int  // how many blanks may still belong to the echo
	enter, newline bool // a line end belongs to it; it has come
	longer         bool // something that belongs to the echo has come

	strip  match.Stripper // its state at the end of the echo
	redraw *redraw        // not nil: the echo may be being drawn again
}

// A Found is a line of the input that was found in the output: the range of its echo.
type Found struct {
	spool.Range
	Pass int64 // matching ends here and continues at To; at or before From
}

// New begins the search for the echo of t. From before it reads the line that the input continues.
// It returns nil if there is no echo to search for.
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

// seek begins the search for needle i.
func (f *Finder) seek(i int) {
	f.at, f.state, f.since, f.seen = i, 0, f.next, f.seen[:0]
	if i == len(f.plan.needles) {
		f.finish()
		return
	}
	text := f.plan.needles[i].text
	f.back = make([]int32, len(text)) // Knuth, Morris and Pratt
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

// Next returns the offset of the byte that Feed must be given next. It may go back.
func (f *Finder) Next() int64 { return f.next }

// Free returns the offset up to which output may be matched, since no echo begins before it.
func (f *Finder) Free() int64 { return f.free }

// Done reports whether the search has ended.
func (f *Finder) Done() bool { return f.done }

// finish ends the search. All output may be matched.
func (f *Finder) finish() { f.done, f.free = true, math.MaxInt64 }

// Feed searches b, the output from Next on. It stops behind the first line of the input that it
// finds, and returns that with ok. Output may have to be fed again: continue at Next.
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

// room returns how many bytes of output are searched for the current needle and its copies.
func (f *Finder) room() int64 {
	if f.tail != nil {
		return 4 * f.plan.room
	}
	return f.plan.room
}

// step advances the search by one byte.
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

// visible takes a byte of output that the program draws. Line editors move back to draw again, and
// wrap a line with a blank and a CR.
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

// stepBack takes a cursor movement back by one column.
func (f *Finder) stepBack() {
	f.seen = f.seen[:max(len(f.seen)-1, 0)]
	f.state = 0
	if n := len(f.seen); n > 0 {
		f.state = f.seen[n-1].state
	}
}

// completed takes the last byte of a needle. An echo does not begin or end in the middle of a word:
// a program that does not show the y that it reads may well print yes.
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

// miss rejects a needle that was seen to its end, and continues the search.
func (f *Finder) miss() {
	f.state = int(f.back[f.state-1])
	f.seen[len(f.seen)-1].state = f.state
}

// inWord reports whether a byte is part of a word.
func inWord(c byte) bool { return isWord(c) || c >= 0x80 }

// text reports whether a byte is text, not part of an escape sequence.
func (f *Finder) text(c byte) bool {
	var buf [1]byte
	f.cursor.see(c)
	return len(f.strip.Append(buf[:0], []byte{c})) > 0
}

// begin returns the index in seen at which the needle begins that was just completed.
func (f *Finder) begin() int {
	i := len(f.seen)
	for left := f.state; left > 0; {
		if i--; f.seen[i].char != ' ' {
			left--
		}
	}
	return i
}

// follows takes a byte behind the needle. It returns false if the byte does not belong to the echo
// and has to be processed again.
func (f *Finder) follows(c byte) bool {
	before, t, goesOn := f.strip, f.tail, f.tail.word
	t.word = false // only the next byte can continue the word
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
	case c == '\b' && !t.longer: // the end is drawn again, and the line goes on
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

// takeBack undoes the completion of the current needle.
func (f *Finder) takeBack() {
	f.tail = nil
	if f.line.To = f.short; f.line.To == 0 {
		f.line = spool.Range{}
	}
}

// extend adds a found range to the current line.
func (f *Finder) extend(r spool.Range) {
	if f.short = f.line.To; f.line == (spool.Range{}) {
		f.line.From = r.From
	}
	f.line.To = r.To
}

// settled goes on to the next needle if the current one is finished. If that was the last of a line
// of the input, it returns this line.
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

// emit returns the current line and resets it.
func (f *Finder) emit() Found {
	found := Found{f.line, f.line.From}
	if f.held && !f.found {
		found.Pass = f.armed
	}
	f.line, f.found = spool.Range{}, true
	f.held = f.plan.held && !f.plan.raw // an echo that a program draws is held line by line
	f.free = max(f.free, found.To)
	return found
}

// giveUp ends the search. A line of which only a part was found counts as found.
func (f *Finder) giveUp() (found Found, ok bool) {
	f.endTail()
	if f.line != (spool.Range{}) {
		found, ok = f.emit(), true
	}
	f.finish()
	return found, ok
}

// stallTime is how long a partial echo waits for its rest, and one that Enter ends for its line
// end, before which it may be drawn again. A program may be slow, but output that happens to end
// like the input must not delay matches forever.
const stallTime = time.Second

// Patience returns how long the output must have been quiet before Quiet is called; 0: do not call
// it. quiet is the time for an echo of which nothing has come.
func (f *Finder) Patience(quiet time.Duration) time.Duration {
	switch {
	case f.done || f.next == f.armed || f.tail == nil && f.free >= f.next:
		return 0
	case f.held && f.tail == nil && f.isBegun(), f.tail != nil && f.tail.enter && !f.tail.newline:
		return stallTime
	}
	return quiet
}

// isBegun reports whether a part of the current line has come. A program that draws its echo may
// pause within it, as a shell does that completes a word at a Tab.
func (f *Finder) isBegun() bool { return f.state > 0 || f.line != (spool.Range{}) }

// Quiet reports to the finder that the output has been quiet for Patience. Output that was held
// back is then no echo. A program that has answered without showing its input does not echo at all;
// one that has echoed a line may show the next line when it reads it.
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

// End ends the search, since no more output follows or some is missing.
func (f *Finder) End() (found Found, ok bool) {
	if f.done {
		return found, false
	}
	return f.giveUp()
}

// Find returns the ranges of the echo of t within the range r of stored output. The result depends
// on the output alone, never on when it was read. Find reads out into buf.
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
			break // output was dropped: the rest of the echo cannot be found
		}
		part := buf[:min(int64(n), r.To-at)]
		for used := int64(0); used >= 0 && used < int64(len(part)) && !f.done; used = f.next - at {
			add(f.Feed(part[used:])) // Next may go back
		}
	}
	add(f.End())
	return found
}
