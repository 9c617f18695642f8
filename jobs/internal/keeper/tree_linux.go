package keeper

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// An ownChildren lists the children of this process. Its file is opened once, so that the list can be read when there
// is no descriptor left to open a file. The kernel lists every child there, including children that /proc hides from
// their own user (hidepid, and a process that has made itself undumpable).
//
// It lists only the children of the first thread. A keeper forks only on that thread, and every orphan that comes to a
// subreaper comes to its first thread.
type ownChildren struct {
	mu   sync.Mutex // held while the file is read: each read continues the one before
	file int        // -1: it could not be opened
}

func openOwnChildren() *ownChildren {
	self := os.Getpid()
	fd, err := openRetry(childrenPath(self, strconv.Itoa(self)), unix.O_RDONLY)
	if err != nil {
		fd = -1
	}
	return &ownChildren{file: fd}
}

func (o *ownChildren) list() ([]int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file < 0 {
		return childrenOf(os.Getpid())
	}
	text, err := readAll(o.file, maxChildren)
	return parsePIDs(text, nil), err
}

func (o *ownChildren) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file >= 0 {
		_ = unix.Close(o.file) // Nothing was written.
	}
	o.file = -1
}

// childStat returns the kernel's state of a child of this process without /proc. It returns false for any other
// process. The caller reaps the child, or holds the lock under which the child is reaped.
func childStat(pid int) (st procStat, ok bool) {
	var info unix.Siginfo
	const flags = unix.WEXITED | unix.WNOHANG | unix.WNOWAIT | unix.WALL
	err := unix.Waitid(unix.P_PID, pid, &info, flags, nil)
	for err == unix.EINTR {
		err = unix.Waitid(unix.P_PID, pid, &info, flags, nil)
	}
	if err != nil {
		return st, false
	}
	st = procStat{pid: pid, ppid: os.Getpid(), comm: hiddenComm, state: hiddenState, threads: 1, start: hiddenStart, hidden: true}
	if info.Signo != 0 {
		st.state = 'Z'
	}
	st.pgid, _ = unix.Getpgid(pid) // They fail only if the process does not exist.
	st.sid, _ = unix.Getsid(pid)
	return st, true
}

// Placeholders for the name, the state and the start time of a hidden process.
const (
	hiddenComm  = "?"
	hiddenState = '?'
	hiddenStart = ^uint64(0)
)

// sameStart reports whether two start times that were read for a pid belong to the same process. A process becomes
// hidden, or visible again, when it changes whether it is dumpable.
func sameStart(a, b uint64) bool { return a == b || a == hiddenStart || b == hiddenStart }

// isNotThere reports whether a file of a process could not be read because the process has ended or is hidden. Any
// other error, such as EMFILE, says nothing about the process.
func isNotThere(err error) bool {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESRCH), errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return true
	}
	return false
}

// A node is one process of a tree, and its parent at the time of the listing.
type node struct{ pid, parent int }

// descendants lists all processes below root, parents before their children. Processes that are born meanwhile may be
// missing, and so may those below a hidden process, until that has ended. With an error others may be missing as well.
func descendants(root int) ([]node, error) {
	list, err := walk(root, childrenOf)
	if err == nil || !isNotThere(err) {
		return list, err
	}
	// A kernel without CONFIG_PROC_CHILDREN.
	byParent, err := scanParents()
	list, _ = walk(root, func(pid int) ([]int, error) { return byParent[pid], nil })
	return list, err
}

// tree lists the job. The caller holds k.mu, so that every listed child stays a child.
func (k *keeper) tree() ([]node, error) {
	if k.kids.file < 0 {
		return descendants(k.self)
	}
	return walk(k.self, func(pid int) ([]int, error) {
		if pid == k.self {
			return k.kids.list()
		}
		return childrenOf(pid)
	})
}

// walk lists the processes below root. It returns the error of the root's list, or the first error of another list that
// does not mean that the process has ended or is hidden.
func walk(root int, children func(int) ([]int, error)) (list []node, failed error) {
	seen := map[int]bool{root: true}
	for next, at := root, 0; ; at++ {
		kids, err := children(next)
		if err != nil && failed == nil && (next == root || !isNotThere(err)) {
			failed = err
		}
		for _, kid := range kids {
			if !seen[kid] {
				seen[kid] = true
				list = append(list, node{kid, next})
			}
		}
		if at >= len(list) {
			return list, failed
		}
		next = list[at].pid
	}
}

// maxChildren is the maximum length of one list in bytes.
const maxChildren = 1 << 24

func childrenPath(pid int, tid string) string { return procPath(pid, "task") + "/" + tid + "/children" }

// childrenOf returns the children of all threads: a child belongs to the thread that forked it. With an error some may
// be missing.
func childrenOf(pid int) (kids []int, err error) {
	tids, err := threadsOf(pid)
	if err != nil {
		return nil, err
	}
	var failed, gone error
	read := false
	for _, tid := range tids {
		text, err := slurp(childrenPath(pid, tid), maxChildren)
		switch {
		case err == nil:
			kids, read = parsePIDs(text, kids), true
		case isNotThere(err):
			gone = err // That thread has ended, or the kernel has no such lists.
		default:
			failed = err
		}
	}
	if failed == nil && !read {
		failed = gone
	}
	return kids, failed
}

func parsePIDs(text []byte, pids []int) []int {
	for _, field := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// aThreadsLinks is the number of links of the directory of a process's threads if there is one thread. The link count
// takes one system call instead of four.
const aThreadsLinks = 3

// threadsOf lists the threads of a process that can have children. Of a keeper's threads only the first forks, and only
// the first gets orphans.
func threadsOf(pid int) ([]string, error) {
	var st unix.Stat_t
	task := procPath(pid, "task")
	if pid == keeperSelf || unix.Stat(task, &st) == nil && st.Nlink == aThreadsLinks {
		return []string{strconv.Itoa(pid)}, nil
	}
	return names(task, 1<<16)
}

// keeperSelf is this process's id if it is a keeper, and 0 otherwise.
var keeperSelf int

func scanParents() (byParent map[int][]int, failed error) {
	byParent = make(map[int][]int)
	all, failed := names("/proc", 1<<20)
	for _, name := range all {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		st, err := readStat(pid)
		switch {
		case err == nil:
			byParent[st.ppid] = append(byParent[st.ppid], pid)
		case !isNotThere(err) && failed == nil:
			failed = err
		}
	}
	return byParent, failed
}
