package keeper

import "golang.org/x/sys/unix"

// A kin knows who is below root, this process, and signals no others. It is for one
// listing: a chain of a thousand processes, each of which is followed up to root for
// itself, takes half a million looks, and nobody is reaped meanwhile.
//
// Whoever was below root once stays below it, since orphans come to root. So where a
// process has a parent that was found to be below, and that is the same one still by its
// start time, no more has to be known. Since parents are listed before their children,
// that is two looks for each.
type kin struct {
	root  int
	stat  func(pid int) (procStat, error)
	known map[int]uint64 // start times by pid
}

func newKin(root int) *kin {
	return &kin{root: root, stat: readStat, known: make(map[int]uint64)}
}

// signal signals a process listed below root, and no other that has its pid by now. The
// caller holds the lock under which root's children are reaped: a child keeps its pid.
// Anyone deeper is pinned by a pidfd, and found to be ours after that.
func (r *kin) signal(n node, sig unix.Signal) error {
	if n.parent == r.root {
		return unix.Kill(n.pid, sig)
	}
	fd, err := unix.PidfdOpen(n.pid, 0)
	if err == unix.ENOSYS { // before Linux 5.3: a window of microseconds is left
		if !r.has(n.pid) {
			return unix.ESRCH
		}
		return unix.Kill(n.pid, sig)
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if !r.has(n.pid) {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// maxDepth is how many unknown parents are followed.
const maxDepth = 1 << 12

// has follows the parents of pid up to root, or to one that is known.
func (r *kin) has(pid int) bool {
	var path []procStat
	for range maxDepth {
		st, err := r.stat(pid)
		if err != nil {
			return false
		}
		start, known := r.known[pid]
		// That pid itself was known says nothing of the one that has it now: its parent
		// is looked at each time.
		if known && start == st.start && len(path) > 0 || st.ppid == r.root {
			r.note(append(path, st))
			return true
		}
		if st.ppid <= 1 {
			return false
		}
		path = append(path, st)
		pid = st.ppid
	}
	return false
}

func (r *kin) note(path []procStat) {
	for _, st := range path {
		r.known[st.pid] = st.start
	}
}
