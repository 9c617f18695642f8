package keeper

import "golang.org/x/sys/unix"

// A kin determines which processes are below root, this process, and signals only those. It is for one listing: in a
// chain of a thousand processes, following each one up to root separately takes half a million reads, and no process is
// reaped meanwhile.
//
// A process that was once below root stays below it, because orphans become children of root. So if the parent of a
// process was found to be below root, and its start time shows that it is still the same process, no more has to be
// known. Because parents are listed before their children, that takes two reads per process.
type kin struct {
	root  int
	stat  func(pid int) (procStat, error)
	known map[int]uint64 // start times by pid
}

func newKin(root int) *kin {
	return &kin{root: root, stat: readStat, known: make(map[int]uint64)}
}

// signal signals a process listed below root, and no other process that has its pid by now. The caller holds the lock
// under which root's children are reaped: a child keeps its pid. A deeper process is pinned by a pidfd, and then found
// to be a descendant.
func (r *kin) signal(n node, sig unix.Signal) error {
	if n.parent == r.root {
		return unix.Kill(n.pid, sig)
	}
	fd, err := unix.PidfdOpen(n.pid, 0)
	if err == unix.ENOSYS { // before Linux 5.3: a race of microseconds remains
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

// maxDepth is the maximum number of unknown parents that are followed.
const maxDepth = 1 << 12

// has reports whether pid is below root. It follows the parents of pid up to root, or to a known process.
func (r *kin) has(pid int) bool {
	var path []procStat
	for range maxDepth {
		st, err := r.stat(pid)
		if err != nil {
			return false
		}
		start, known := r.known[pid]
		// That pid itself was known proves nothing about the process that has it now: its parent is checked each time.
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
