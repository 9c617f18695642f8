package spool

import (
	"sync"
	"sync/atomic"
)

// A Budget is disk space that spools share. It is counted in bytes, so that many short streams do not use it up. A nil
// Budget has no limit.
type Budget struct {
	max  int64
	used atomic.Int64

	// copying is held by a spool during the time in which it has a second copy of its file (see Spool.Finish), so that
	// many spools that end at once do not double the usage.
	copying sync.Mutex
}

// NewBudget returns a Budget of max bytes.
func NewBudget(max int64) *Budget { return &Budget{max: max} }

// Used returns the number of bytes that the budget's spools have on disk. It includes the lines that Finish adds,
// though these are never refused.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// take returns how many of n bytes are granted: fewer if the budget is used up.
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

// charge adds n bytes, or subtracts them if n is negative, regardless of the limit.
func (b *Budget) charge(n int64) {
	if b != nil {
		b.used.Add(n)
	}
}

// alone runs f while no other spool of the budget runs in it.
func (b *Budget) alone(f func() error) error {
	if b != nil {
		b.copying.Lock()
		defer b.copying.Unlock()
	}
	return f()
}
