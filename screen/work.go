package screen

import "math"

// Work is counted in written cells, which take about a nanosecond each if there are many; all other work is counted as
// the number of cells that would take as long.
const (
	byteWork    = 8    // a byte that is read, whatever its effect
	lineWork    = 4    // a line that is touched
	moveWork    = 2    // number of moved cells that count as one
	rotateWork  = 4    // number of moved lines that count as one
	lookWork    = 32   // a mode that is saved or restored
	replyWork   = 1024 // an answer that is built
	paletteWork = 1024 // a copy of the colours
	tidyWork    = 64   // an entry of the tables that is looked up anew
)

// did counts work.
func (t *Terminal) did(work int) { t.work += int64(work) }

// Work returns the amount of work done so far. A unit takes a terminal about a nanosecond, whatever output it gets; the
// same output counts the same, however it was cut.
func (t *Terminal) Work() int64 { return t.work }

// WriteSome draws until it has done this amount of work, and returns the number of bytes of p that it has taken, at
// least one. The final picture does not depend on where it stopped. It may do as much work again for reading bytes, and
// in addition the work of one byte or sequence: that is a few screens full.
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
