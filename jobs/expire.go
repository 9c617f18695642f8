package jobs

import "time"

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
