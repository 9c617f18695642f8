package keeper

import "time"

// The sweeps of a kill come fast as long as they meet somebody new. Whoever has KILL to
// take starts nobody any more, and dies when he gets a processor: where a thousand jobs
// are killed together, to look for him again and again is what he waits for.

const (
	firstNap = 50 * time.Microsecond
	maxNap   = 20 * time.Millisecond
)

// met is how many processes an operation has met so far.
func (op *killOp) met() int { return len(op.order) + op.omitted }

// nap is how long to pause after the n-th sweep, before which so many had been met.
func (op *killOp) nap(n, met int) time.Duration {
	if op.met() > met {
		op.quietRuns = 0
	} else {
		op.quietRuns++
	}
	quiet := min(firstNap<<min(op.quietRuns, 16), maxNap)
	return max(napAfter(n, op.reported), quiet)
}
