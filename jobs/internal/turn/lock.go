package turn

// A Lock is held for a turn. It is a channel, not a mutex, so that waiting goroutines show up as blocked on a channel.
// This holds even if the holder, against all rules, blocks.
type Lock chan struct{}

// NewLock returns a free lock.
func NewLock() Lock { return make(Lock, 1) }

// Lock waits for the lock and takes it.
func (l Lock) Lock() { l <- struct{}{} }

// Unlock releases the lock. The caller must hold it.
func (l Lock) Unlock() { <-l }

// TryLock takes the lock if it is free, and reports whether it did.
func (l Lock) TryLock() bool {
	select {
	case l <- struct{}{}:
		return true
	default:
		return false
	}
}

// Wait waits for the end of the current turn, if there is one.
func (l Lock) Wait() {
	l <- struct{}{}
	<-l
}

// Check panics if the lock is free. It finds code that accesses the data of turns outside of a turn. If another
// goroutine holds the lock at that moment, Check does not notice, but the race detector does.
func (l Lock) Check() {
	if len(l) == 0 {
		panic("turn: state that belongs to a turn was accessed outside a turn")
	}
}
