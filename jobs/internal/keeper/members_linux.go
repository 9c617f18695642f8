package keeper

// Members returns the process IDs of the job, parents before their children, like Living but without its slow part: it
// includes processes that have ended and wait for their parents. It returns false if the job is over, or the list
// cannot be read.
func (k *Keeper) Members() (pids []int, ok bool) {
	nodes, err := descendants(k.host.proc.Pid)
	if err != nil {
		return nil, false
	}
	for _, n := range nodes {
		pids = append(pids, n.pid)
	}
	return pids, k.serves()
}

// serves reports whether the keeper still serves this job, so that the processes found below it belong to the job.
func (k *Keeper) serves() bool {
	select {
	case <-k.done:
		return false
	default:
		return !k.host.ended.Load() && k.host.job.Load() == k
	}
}
