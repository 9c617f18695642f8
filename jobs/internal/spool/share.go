package spool

// Take takes all of n bytes, for a file that belongs to no spool, or none. It reports whether it took them.
func (b *Budget) Take(n int64) bool { return b.takeAll(n) }

// Owe takes n bytes even if they exceed the limit. A negative n returns bytes.
func (b *Budget) Owe(n int64) { b.charge(n) }
