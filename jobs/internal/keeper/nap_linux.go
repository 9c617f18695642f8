package keeper

import "time"

// The sweeps of a kill follow each other quickly as long as they find new processes. A process with a pending KILL
// starts no other, and dies when it gets a processor: if a thousand jobs are killed together, further sweeps only delay
// that. A sweep then takes many times as long as it would alone, and from that a keeper knows about the others.

const (
	firstNap = 50 * time.Microsecond
	maxNap   = 20 * time.Millisecond

	// After a sweep that found no new process, the next one waits this many times as long as the sweep took: of a
	// thousand keepers a hundred sweep, and the rest leaves room for the dying processes.
	restTimes = 8
	maxRest   = time.Second
)

// met returns the number of processes that an operation has found so far.
func (op *killOp) met() int { return len(op.order) + op.omitted }

// nap returns the pause after the n-th sweep. took is the duration of the sweep, and met the number of processes found
// before it. A process that was gone before the sweep inspected it has started another, or ended: nothing else reveals
// a process that forks and exits without end, and that makes sweeps slow.
func (op *killOp) nap(n, met int, took time.Duration) time.Duration {
	pause := napAfter(n, op.reported)
	if op.met() > met || op.slipped > 0 {
		op.quietRuns = 0
		return pause
	}
	op.quietRuns++
	pause = max(pause, min(firstNap<<min(op.quietRuns, 16), maxNap))
	if op.listed > 0 { // If none is listed before the end of the job, a process was between two lists.
		pause = max(pause, min(restTimes*took, maxRest))
	}
	return pause
}
