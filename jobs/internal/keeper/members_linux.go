package keeper

// Members lists the processes of the job by their ids, parents before their children, as
// Living does, but for what takes longer: those that have ended and wait for their parents are
// among them. It returns false where the job is over, or the list cannot be read.
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

// serves says whether the keeper is this job's still, so that what was found below it is, too.
func (k *Keeper) serves() bool {
	select {
	case <-k.done:
		return false
	default:
		return !k.host.ended.Load() && k.host.job.Load() == k
	}
}
