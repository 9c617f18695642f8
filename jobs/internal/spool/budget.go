package spool

import (
	"sync"
	"sync/atomic"
)

// A Budget is the room on disk that spools share. It is counted by the byte, so
// that many short streams do not use it up. The nil Budget has no limit.
type Budget struct {
	max  int64
	used atomic.Int64

	// copying lets one spool at a time hold a second copy of itself (see
	// Spool.Finish), so that many that end at once do not double what is used.
	copying sync.Mutex
}

// NewBudget returns one of max bytes.
func NewBudget(max int64) *Budget { return &Budget{max: max} }

// Used returns how many bytes of the budget's spools are on disk. The lines that
// Finish adds are counted though they are never refused.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// take returns how many of n bytes are granted: fewer when the budget is used up.
func (b *Budget) take(n int64) int64 {
	if b == nil {
		return n
	}
	for {
		used := b.used.Load()
		got := max(min(n, b.max-used), 0)
		if b.used.CompareAndSwap(used, used+got) {
			return got
		}
	}
}

// takeAll takes all of n bytes or none.
func (b *Budget) takeAll(n int64) bool {
	got := b.take(n)
	if got < n {
		b.charge(-got)
		return false
	}
	return true
}

// charge counts n bytes, or gives them back, without asking.
func (b *Budget) charge(n int64) {
	if b != nil {
		b.used.Add(n)
	}
}

// alone runs f while no other spool of the budget is in here.
func (b *Budget) alone(f func() error) error {
	if b != nil {
		b.copying.Lock()
		defer b.copying.Unlock()
	}
	return f()
}
