package jobs

import (
	"slices"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
)

// A queued is an input that waits until the kernel takes it.
type queued struct {
	data    []byte
	close   bool // close the pipe after the data
	written int64
	spec    *WaitSpec
	wait    *wait    // spec as an armed wait; nil before
	outcome *Outcome // the outcome of the wait
	end     *Error   // if it was withdrawn while the writeLoop had it: the answer, given when the item is back
	short   *Error   // the answer, given when the item is back, if not all of it was written
	before  int      // inputQueue.partial before this item
	reply   reply[WriteResult]
	owner   string // as in Input

	attrs     *proc.Attrs // the terminal's modes; only while the item is being queued
	begun     bool        // its first byte was written or about to be written
	typed     *typedInput // its echo, as known at that time; nil = no echo to expect
	overtakes bool        // it begins with a signal key
	keysOnly  bool        // it consists of signal keys only
	person    bool        // as in Input
	secret    bool        // data is wiped when it is no longer needed
	behind    int64       // the last Exec command queued before it, if the shell had not begun that; 0: none
	trigger   bool        // makes a shell take the command that Exec has for it (shell_feed.go)
	answer    bool        // the terminal's own answer to a query (queries.go)
	recorded  bool        // it was visible when it was given to the writeLoop
	deadline  time.Time   // the deadline of spec, counted from when the request was read; zero: none
	expired   bool        // the deadline passed while the writeLoop had it
}

// An inputQueue holds the input that is not yet written. Only its first item can be in progress.
type inputQueue struct {
	items   []*queued
	bytes   *atomic.Int64 // bytes of items not yet written: the base counts them, and any goroutine may read that
	writing bool          // the writeLoop has the first item
	writes  uint64        // number of writes handed to the writeLoop so far
	closed  string        // why no more input can be written; "" = it can
	broken  time.Time     // when the kernel reported that the input has no reader; zero: it has not
	partial int           // bytes typed since the last line end, including queued bytes
	answers int           // bytes of answers in items, not yet written; not counted in bytes
}

// ready reports whether there is input to hand to the writeLoop.
func (q *inputQueue) ready() bool { return !q.writing && q.broken.IsZero() && len(q.next()) > 0 }

func (q *inputQueue) next() []byte {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0].data[q.items[0].written:]
}

// typed reports whether the queue holds unwritten input that a client has typed.
func (q *inputQueue) typed() bool {
	return slices.ContainsFunc(q.items, func(in *queued) bool { return !in.answer && int(in.written) < len(in.data) })
}

// count adds n to the number of bytes that wait to be written, for an item.
func (q *inputQueue) count(in *queued, n int64) {
	if in.answer {
		q.answers += int(n)
	} else {
		q.bytes.Add(n)
	}
}

// insert inserts an item at index i. The caller counts the item's bytes.
func (q *inputQueue) insert(i int, in *queued) { q.items = slices.Insert(q.items, i, in) }

// remove removes item i. The writeLoop must not have that item.
func (q *inputQueue) remove(i int) {
	in := q.items[i]
	q.count(in, in.written-int64(len(in.data)))
	if in.secret {
		clear(in.data)
	}
	q.items = slices.Delete(q.items, i, i+1)
}

// An inputOrder is an order for the writeLoop to write data.
type inputOrder struct {
	data     []byte
	overtake bool // data begins with a signal key, for which room is made first
}

// order returns the next order. Its data is empty if there is nothing to write.
func (q *inputQueue) order() inputOrder {
	data := q.next()
	return inputOrder{data, len(data) > 0 && q.items[0].overtakes && q.items[0].written == 0}
}

// keyBytes returns the number of queued bytes that an overtaking input does not drop.
func (q *inputQueue) keyBytes() (n int64) {
	for _, in := range q.items {
		if in.keysOnly {
			n += int64(len(in.data)) - in.written
		}
	}
	return n
}

// mostLine bounds the length of a line that ends with an answer. A terminal that edits lines treats an answer as part
// of a line, and a line has no more room than proc.CanonicalLineLimit. The job's output alone must not use up the room
// for the text that a client types.
const mostLine = proc.CanonicalLineLimit / 4

// lineChunk is how many bytes of an input are followed at once.
const lineChunk = 4 << 10

// partialAt returns how many bytes of an unfinished line are typed before item i.
func (q *inputQueue) partialAt(i int) int {
	if i < len(q.items) {
		return q.items[i].before
	}
	return q.partial
}

// fits reports whether an answer before item i leaves the typed lines whole.
func (q *inputQueue) fits(data []byte, i int, attrs proc.Attrs) bool {
	if !attrs.Canonical {
		return true // there are no lines
	}
	partial, longest := lineLengths(data, q.partialAt(i), attrs)
	return longest <= mostLine && q.follow(i, partial, attrs, false) <= proc.CanonicalLineLimit
}

// answered counts an answer, which was put before item i, as a part of a line.
func (q *inputQueue) answered(data []byte, i int, attrs proc.Attrs) {
	switch {
	case attrs.Canonical:
		partial, _ := lineLengths(data, q.partialAt(i), attrs)
		q.follow(i, partial, attrs, true)
	case i == len(q.items):
		q.partial = 0 // the same as after any other input
	}
}

// follow follows the lines in the items from i on, as far as a change of the unfinished line before them to the length
// partial has an effect. It returns the longest length. If count is set, it stores the new lengths.
func (q *inputQueue) follow(i, partial int, attrs proc.Attrs, count bool) (longest int) {
	was := q.partialAt(i)
	for _, in := range q.items[i:] {
		if count {
			in.before = partial
		}
		for data := range slices.Chunk(in.data, lineChunk) {
			if was == partial {
				return longest // the line has ended
			}
			n := 0
			was, _ = lineLengths(data, was, attrs)
			partial, n = lineLengths(data, partial, attrs)
			longest = max(longest, n)
		}
	}
	if count {
		q.partial = partial
	}
	return longest
}

// afterFirst returns the index behind the item that is being written, if any, and behind the answers that follow it.
func (q *inputQueue) afterFirst() (i int) {
	if len(q.items) > 0 && (q.writing || q.items[0].written > 0) {
		i = 1
	}
	for i < len(q.items) && q.items[i].answer {
		i++
	}
	return i
}

// lineLengths scans data, which is typed after partial bytes of a line. It returns the length of the last line and of
// the longest line, both without the line end.
func lineLengths(data []byte, partial int, a proc.Attrs) (last, longest int) {
	for _, c := range data {
		switch {
		case c == '\n', c == '\r' && a.CRToNL, c == a.EOF && c != 0, c == a.EOL && c != 0:
			partial = 0
		case c != 0 && a.Canonical && c == a.Kill, a.IsSignal(c) && !a.NoFlush:
			partial = 0 // the terminal discards the line
		case a.IsSignal(c): // not part of a line
		case c != 0 && a.Canonical && c == a.Erase:
			partial = max(partial-1, 0)
		default:
			partial++
			longest = max(longest, partial)
		}
	}
	return partial, longest
}

func (q *queued) isWritten() bool { return int(q.written) == len(q.data) }

// expires reports whether there is a deadline that has not been acted upon.
func (q *queued) expires() bool {
	return !q.deadline.IsZero() && !q.expired && q.end == nil
}
