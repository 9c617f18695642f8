package jobs

import (
	"slices"
	"time"

	"shelld/jobs/internal/proc"
)

// A signal key is a byte that the terminal turns into a signal when it comes: an
// interrupt, as a rule. A person who presses one wants it to act now, whatever was
// typed before; so an input that begins with one overtakes what is queued. What it
// overtakes is dropped, as the kernel drops what was typed and not read when it
// sees such a key.
//
// The way of such an input:
//
//	onWrite -> overtake        what is queued is answered canceled; the write that
//	                           is on its way is interrupted, and answered when back
//	        -> writeLoop       Terminal.Overtake makes way in the kernel, and then
//	                           the key is typed like any other
//
// Whether a byte is such a key is the terminal's to say (ISIG): to an editor, which
// reads keys itself, Ctrl-C is a byte like any other and waits its turn.

// overtake drops what is queued, but for other signal keys: two interrupts in a row
// are two.
func (p *inputPart) overtake() {
	p.j.shell.watch.strike()
	items := slices.Clone(p.queue.items)
	items = slices.DeleteFunc(items, func(q *queued) bool { return q.keysOnly })
	p.dropItems(items, p.overtaken)
}

// overtakeHeld drops what is held back until a look, but for other signal keys. It is for a
// key that came behind all of it.
func (p *inputPart) overtakeHeld() {
	p.j.waiting.watch.writeQ = slices.DeleteFunc(p.j.waiting.watch.writeQ, func(h heldWrite) bool {
		if p.j.waiting.interrupts(h.msg.in) {
			return false
		}
		h.msg.fail(p.overtaken())
		return true
	})
}

func (p *inputPart) overtaken() *Error {
	e := errorf(CodeCanceled, "an interrupt key was sent to job %d after this input and has dropped what the job had not taken; send it again if it is still wanted", p.j.id)
	e.Handle = p.j.id
	return e
}

// keyBytes counts what an input that overtakes does not drop.
func (q *inputQueue) keyBytes() (n int64) {
	for _, in := range q.items {
		if in.keysOnly {
			n += int64(len(in.data)) - in.written
		}
	}
	return n
}

// signalKeys says whether data begins with a signal key, and whether it is nothing
// but such keys.
func signalKeys(data []byte, a proc.Attrs) (begins, only bool) {
	if len(data) == 0 || !a.IsSignal(data[0]) {
		return false, false
	}
	return true, !slices.ContainsFunc(data, func(c byte) bool { return !a.IsSignal(c) })
}

// An inputOrder is what the writeLoop is asked to write.
type inputOrder struct {
	data     []byte
	overtake bool // data begins with a signal key, for which way is made first
}

// order is what is to be written next; its data is empty where there is nothing.
func (q *inputQueue) order() inputOrder {
	data := q.next()
	return inputOrder{data, len(data) > 0 && q.items[0].overtakes && q.items[0].written == 0}
}

// write is the writeLoop's: what it calls may block.
func (p *inputPart) write(in input, term terminal, o inputOrder) (n int, err error) {
	sent := 0
	if o.overtake {
		done, err := term.Overtake(o.data[0])
		if err != nil {
			// The key is typed all the same: it only waits for the job to read.
			p.j.log.Debug("no way for a signal key", "job", p.j.id, "error", err)
		}
		if done {
			sent = 1
		}
	}
	n, err = in.Write(o.data[sent:])
	return n + sent, err
}

// The timeout of a write's wait bounds the whole of it, from when the request was
// read. When it passes before the kernel has taken the bytes, what is left of them
// is withdrawn, and the answer is the outcome with the reason timeout. Once they are
// taken, the wait's own deadline is all there is.

// reviewExpiry withdraws the inputs whose time is over.
func (p *inputPart) reviewExpiry(now time.Time) {
	for i := 0; i < len(p.queue.items); {
		q := p.queue.items[i]
		switch {
		case !q.expires() || now.Before(q.deadline):
			i++
		case i > 0 || !p.queue.broken.IsZero():
			p.expire(q) // it goes from the queue
		case p.queue.writing:
			// Whoever allows no time at all still gets what the kernel takes at once.
			q.expired = true
			if p.to != nil { // closed, it gives back by itself what it has
				p.to.GiveUp(p.queue.writes)
			}
			i++
		default:
			i++ // it is handed to the writeLoop next
		}
	}
}

// expires says whether there is a deadline that has not been acted upon.
func (q *queued) expires() bool {
	return !q.deadline.IsZero() && !q.expired && q.end == nil
}

// expire answers an input that the writeLoop does not have, with what has come by
// now.
func (p *inputPart) expire(q *queued) {
	if q.wait == nil {
		from, _ := p.j.waits.origin(q.spec, FromNow) // onWrite has seen that it holds
		q.wait = &wait{spec: q.spec, from: from}
	} else {
		p.dropWait(q.wait)
	}
	p.takeOut(q)
	q.reply.ok(WriteResult{q.written, ptr(p.j.waits.outcome(q.wait, "timeout", -1))})
}

func ptr[T any](v T) *T { return &v }

// inputDeadline is when the first of the queued inputs expires; zero: none does.
func (p *inputPart) inputDeadline() (t time.Time) {
	for _, q := range p.queue.items {
		if q.expires() {
			t = earliest(t, q.deadline)
		}
	}
	return t
}
