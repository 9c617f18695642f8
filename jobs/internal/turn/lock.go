package turn

// A Lock is held for a turn. It is a channel, not a mutex: a goroutine that waits for it shows up
// as one that waits on a channel, also if the holder, against all rules, blocks.
type Lock chan struct{}

// NewLock returns a lock that nothing holds.
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

// Wait returns once the turn that is under way, if there is one, has ended.
func (l Lock) Wait() {
	l <- struct{}{}
	<-l
}

// Check panics if nobody holds the lock. It finds code that touches what belongs to a turn outside of one; that
// somebody else has the turn meanwhile it cannot see, but the race detector can.
func (l Lock) Check() {
	if len(l) == 0 {
		panic("turn: state that belongs to a turn was accessed outside a turn")
	}
}
