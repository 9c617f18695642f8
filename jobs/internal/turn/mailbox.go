package turn

import "sync"

// A Mailbox is an unbounded queue with one receiver. Sending never blocks, so that no sender, in
// particular the reader of the wire, waits for a job. Its length is bounded by the requests that a
// connection may have in flight.
type Mailbox[T any] struct {
	wake chan struct{} // sender -> receiver: look into the queue; capacity 1

	mu     sync.Mutex
	queue  []T
	closed bool
}

// NewMailbox returns an empty mailbox.
func NewMailbox[T any]() *Mailbox[T] { return &Mailbox[T]{wake: make(chan struct{}, 1)} }

// Wake returns the channel on which the receiver waits for Put and Poke.
func (b *Mailbox[T]) Wake() <-chan struct{} { return b.wake }

// Put queues m and wakes the receiver. It returns false if the mailbox is closed.
func (b *Mailbox[T]) Put(m T) bool {
	if !b.Add(m) {
		return false
	}
	b.Poke()
	return true
}

// Add is Put without waking the receiver.
func (b *Mailbox[T]) Add(m T) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.queue = append(b.queue, m)
	return true
}

// Empty reports whether nothing is queued.
func (b *Mailbox[T]) Empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) == 0
}

// Edit replaces the queue by the result of f. f must not block.
func (b *Mailbox[T]) Edit(f func(queue []T) []T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = f(b.queue)
}

// Poke wakes the receiver.
func (b *Mailbox[T]) Poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Take empties the queue and returns its messages, oldest first.
func (b *Mailbox[T]) Take() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queue
	b.queue = nil
	return q
}

// Close makes every later Put and Add fail, and returns the messages still queued.
func (b *Mailbox[T]) Close() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	q := b.queue
	b.queue = nil
	return q
}
