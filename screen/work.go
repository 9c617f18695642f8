package screen

import "math"

// Work is counted in cells that are written, which takes about a nanosecond each where there
// are many; all else in how many of these it takes as long as.
const (
	byteWork    = 8    // a byte that is read, whatever comes of it
	lineWork    = 4    // a line that is touched
	moveWork    = 2    // so many cells are moved for one
	rotateWork  = 4    // so many lines are moved for one
	lookWork    = 32   // a mode that is saved or restored
	replyWork   = 1024 // an answer that is put together
	paletteWork = 1024 // the colours that are copied
	tidyWork    = 64   // a character of the tables that is looked up anew
)

// did counts work.
func (t *Terminal) did(work int) { t.work += int64(work) }

// Work is how much was done so far. What it counts is about what a terminal takes a
// nanosecond for, whatever it was sent; the same output counts the same, however it was cut.
func (t *Terminal) Work() int64 { return t.work }

// WriteSome draws until so much work was done, and returns how many bytes of p it has
// taken, at least one. What is drawn in the end does not depend on where it stopped. It may
// do as much again for reading bytes, and what one of them, or a sequence, can ask for: that
// is a few screens full.
func (t *Terminal) WriteSome(p []byte, work int64) (n int) {
	before := t.glance()
	t.stop = math.MaxInt64
	if work < math.MaxInt64-t.work {
		work = max(work, 0)
		t.stop = t.work + work
		p = p[:min(int64(len(p)), work/byteWork+1)]
	}
	n = t.take(p)
	t.did(n * byteWork)
	t.noteChange(before)
	return n
}
