package jobs

import (
	"slices"
	"time"

	"shelld/jobs/internal/proc"
)

// A signal key is a byte that the terminal turns into a signal when it arrives, usually an interrupt. A person who
// presses one wants it to act now, regardless of what was typed before. So an input that begins with a signal key
// overtakes the queued input. The overtaken input is dropped, as the kernel drops typed and unread input when it sees
// such a key.
//
// The path of such an input:
//
//	onWrite -> overtake        the queued input is answered as canceled; the write
//	                           in progress is interrupted, and answered when it returns
//	        -> writeLoop       Terminal.Overtake makes room in the kernel, and then
//	                           the key is typed like any other
//
// The terminal's mode ISIG decides whether a byte is such a key. For an editor, which reads keys itself, Ctrl-C is a
// byte like any other and waits its turn.

// overtake drops the queued input except other signal keys: two interrupts in a row stay two.
func (p *inputPart) overtake() {
	p.j.shell.watch.strike()
	items := slices.Clone(p.queue.items)
	items = slices.DeleteFunc(items, func(q *queued) bool { return q.keysOnly })
	p.dropItems(items, p.overtaken)
}

// overtakeHeld drops the writes that are held back until a probe, except other signal keys. It is called for a key that
// came after all of them.
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
	e := errorf(CodeCanceled, "an interrupt key sent to job %d after this input discarded its unread part; send that part again if it is still wanted", p.j.id)
	e.Handle = p.j.id
	return e
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

// signalKeys reports whether data begins with a signal key, and whether it consists of signal keys only.
func signalKeys(data []byte, a proc.Attrs) (begins, only bool) {
	if len(data) == 0 || !a.IsSignal(data[0]) {
		return false, false
	}
	return true, !slices.ContainsFunc(data, func(c byte) bool { return !a.IsSignal(c) })
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

// write writes an order. Only the writeLoop calls it, since it may block.
func (p *inputPart) write(in input, term terminal, o inputOrder) (n int, err error) {
	sent := 0
	if o.overtake {
		done, err := term.Overtake(o.data[0])
		if err != nil {
			// The key is typed anyway: it only waits for the job to read.
			p.j.log.Debug("a signal key cannot be sent ahead of the queued input", "job", p.j.id, "error", err)
		}
		if done {
			sent = 1
		}
	}
	n, err = in.Write(o.data[sent:])
	return n + sent, err
}

// The timeout of a write's wait limits the whole write, from when the request was read. If it passes before the kernel
// has taken the bytes, the remaining bytes are withdrawn, and the answer is the outcome with the reason timeout. Once
// the bytes are taken, only the wait's own deadline applies.

// reviewExpiry withdraws the inputs after their deadlines.
func (p *inputPart) reviewExpiry(now time.Time) {
	for i := 0; i < len(p.queue.items); {
		q := p.queue.items[i]
		switch {
		case !q.expires() || now.Before(q.deadline):
			i++
		case i > 0 || !p.queue.broken.IsZero():
			p.expire(q) // removes it from the queue
		case p.queue.writing:
			// Even an input with no time at all gets written as far as the kernel takes it at once.
			q.expired = true
			if p.to != nil { // if it is closed, the writeLoop returns the item by itself
				p.to.GiveUp(p.queue.writes)
			}
			i++
		default:
			i++ // it is handed to the writeLoop next
		}
	}
}

// expires reports whether there is a deadline that has not been acted upon.
func (q *queued) expires() bool {
	return !q.deadline.IsZero() && !q.expired && q.end == nil
}

// expire answers an input that the writeLoop does not have, with its progress so far.
func (p *inputPart) expire(q *queued) {
	if q.wait == nil {
		from, _ := p.j.waits.origin(q.spec, FromNow) // enqueue has checked it
		q.wait = &wait{spec: q.spec, from: from}
	} else {
		p.dropWait(q.wait)
	}
	p.takeOut(q)
	q.reply.ok(WriteResult{q.written, ptr(p.j.waits.outcome(q.wait, "timeout", -1))})
}

func ptr[T any](v T) *T { return &v }

// inputDeadline returns when the first of the queued inputs expires. It is zero if none does.
func (p *inputPart) inputDeadline() (t time.Time) {
	for _, q := range p.queue.items {
		if q.expires() {
			t = earliest(t, q.deadline)
		}
	}
	return t
}
