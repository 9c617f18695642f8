package spool

// Take takes all of n bytes for a file that is no spool's, or none.
func (b *Budget) Take(n int64) bool { return b.takeAll(n) }

// Owe takes n bytes whether they are there or not; fewer than none are given back.
func (b *Budget) Owe(n int64) { b.charge(n) }
