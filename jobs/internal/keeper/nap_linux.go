package keeper

import "time"

// The sweeps of a kill come fast as long as they meet somebody new. Whoever has KILL to
// take starts nobody any more, and dies when he gets a processor: where a thousand jobs
// are killed together, to look for him again and again is what he waits for. A sweep then
// takes many times as long as by itself, and that is what tells a keeper of the others.

const (
	firstNap = 50 * time.Microsecond
	maxNap   = 20 * time.Millisecond

	// After a sweep that met nobody new there is none for that many times as long as it
	// took: of a thousand keepers a hundred sweep, and the rest leaves room for the dying.
	restTimes = 8
	maxRest   = time.Second
)

// met is how many processes an operation has met so far.
func (op *killOp) met() int { return len(op.order) + op.omitted }

// nap is how long to pause after the n-th sweep, which took that long, and before which so
// many had been met. One whom a sweep has listed and not met has started another, or ended:
// who forks and exits without end is seen by that alone, and he makes sweeps slow.
func (op *killOp) nap(n, met int, took time.Duration) time.Duration {
	pause := napAfter(n, op.reported)
	if op.met() > met || op.slipped > 0 {
		op.quietRuns = 0
		return pause
	}
	op.quietRuns++
	pause = max(pause, min(firstNap<<min(op.quietRuns, 16), maxNap))
	if op.listed > 0 { // Nobody, and not the end: somebody was between two lists.
		pause = max(pause, min(restTimes*took, maxRest))
	}
	return pause
}
