package jobs

import (
	"slices"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
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
	p.shell.strike()
	items := slices.Clone(p.queue.items)
	items = slices.DeleteFunc(items, func(q *queued) bool { return q.keysOnly })
	p.dropItems(items, p.overtaken)
}

func (p *inputPart) overtaken() *Error {
	e := errorf(CodeCanceled, "an interrupt key sent to job %d after this input discarded its unread part; send that part again if it is still wanted", p.j.id)
	e.Handle = p.j.id
	return e
}

// signalKeys reports whether data begins with a signal key, and whether it consists of signal keys only.
func signalKeys(data []byte, a proc.Attrs) (begins, only bool) {
	if len(data) == 0 || !a.IsSignal(data[0]) {
		return false, false
	}
	return true, !slices.ContainsFunc(data, func(c byte) bool { return !a.IsSignal(c) })
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
			if p.j.stdin != nil { // if it is closed, the writeLoop returns the item by itself
				p.j.stdin.GiveUp(p.queue.writes)
			}
			i++
		default:
			i++ // it is handed to the writeLoop next
		}
	}
}

// expire answers an input that the writeLoop does not have, with its progress so far.
func (p *inputPart) expire(q *queued) {
	if q.wait == nil {
		from, _ := p.waits.origin(q.spec, FromNow) // enqueue has checked it
		q.wait = &wait{spec: q.spec, from: from}
	} else {
		p.waits.drop(q.wait)
	}
	p.takeOut(q)
	q.reply.ok(WriteResult{q.written, ptr(p.waits.outcome(q.wait, "timeout", -1))})
}

// inputDeadline returns when the first of the queued inputs expires. It is zero if none does.
func (p *inputPart) inputDeadline() (t time.Time) {
	for _, q := range p.queue.items {
		if q.expires() {
			t = earliest(t, q.deadline)
		}
	}
	return t
}

// dropOthers drops the input of others that the kernel has not taken.
func (p *inputPart) dropOthers(holder string, why func() *Error) {
	var items []*queued
	for _, q := range p.queue.items {
		if isOthers(q.owner, holder) {
			items = append(items, q)
		}
	}
	p.dropItems(items, why)
}
