package keeper

// Living lists the living processes of the job, at most MaxProcs, without asking the keeper: the kernel reports the
// children of each process to the server as well. A process that is born meanwhile may be missing. It returns false if
// the job is over, or the list cannot be read.
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
	if !k.serves() { // The keeper may have another job by now, or have ended, and its pid may be reused.
		return nil, false
	}
	return list, true
}
