package keeper

// Living lists what is alive of the job now, at most MaxProcs, without asking the keeper:
// the kernel tells the server as well whose children are whose. A process that is born
// meanwhile may be missing. It returns false where the job is over, or the list cannot be read.
func (k *Keeper) Living() (list []Proc, ok bool) {
	nodes, err := descendants(k.host.proc.Pid)
	if err != nil {
		return nil, false
	}
	for _, n := range nodes {
		if len(list) == MaxProcs {
			break
		}
		if st, err := readStat(n.pid); err == nil && st.alive() {
			list = append(list, describe(st, nil))
		}
	}
	if !k.serves() { // The keeper may have gone on to another job, or have ended, and its pid be another's.
		return nil, false
	}
	return list, true
}
