package client

import (
	"context"
	"iter"
	"sync"
)

// A queue passes items from a goroutine that must not wait to one that may.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	more  chan struct{} // capacity 1: items were added
}

func newQueue[T any]() *queue[T] { return &queue[T]{more: make(chan struct{}, 1)} }

// put adds an item.
func (q *queue[T]) put(item T) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// take removes all items.
func (q *queue[T]) take() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	return items
}

// all returns the items as they come, until ctx is done, or until end is closed and none is left. Nothing is put after
// end is closed.
func (q *queue[T]) all(ctx context.Context, end <-chan struct{}) iter.Seq[T] {
	return func(yield func(T) bool) {
		for last := false; ; {
			for _, item := range q.take() {
				if ctx.Err() != nil || !yield(item) {
					return
				}
			}
			if last {
				return
			}
			select {
			case <-q.more:
			case <-end:
				last = true
			case <-ctx.Done():
				return
			}
		}
	}
}
