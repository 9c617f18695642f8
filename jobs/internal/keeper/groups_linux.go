package keeper

import (
	"slices"

	"golang.org/x/sys/unix"
)

// killGroups signals the process groups of this process's children, including dead children that were not reaped. The
// kernel signals a group in one step, during which no fork completes: a process that forks and exits without end is in
// no list by the time the list has been read, but it is in its group. A process that changes its group at each fork is
// left to the lists.
//
// The number of a group is not reused while a member exists, even as a zombie. The caller holds k.mu. All members of a
// child's group belong to the job, because all processes of a session descend from its creator. But a job may have put
// itself into the keeper's own group; the children in that group are signalled one by one.
func (k *keeper) killGroups(sig unix.Signal) {
	kids, _ := k.kids.list() // After an error, the next sweep reads it again.
	own, done := unix.Getpgrp(), make(map[int]bool)
	for _, pid := range slices.Backward(kids) { // The newest are the ones that still run.
		st, err := readStat(pid)
		if err != nil || st.ppid != k.self || st.pgid <= 1 || done[st.pgid] {
			continue
		}
		done[st.pgid] = true
		if st.pgid != own {
			_ = unix.Kill(-st.pgid, sig) // The lists show the processes that it did not reach.
		}
	}
	for range ownGroupTries {
		if !done[own] {
			return
		}
		k.killNewest(sig)
	}
}

// ownGroupTries is the number of attempts in a row to hit a process that forks and exits without end in the keeper's
// own group. It lives for some 50 µs, and listing it takes that long.
const ownGroupTries = 50

// killNewest signals the children that were born last.
func (k *keeper) killNewest(sig unix.Signal) {
	kids, _ := k.kids.list() // As above.
	for _, pid := range kids[max(0, len(kids)-4):] {
		_ = unix.Kill(pid, sig) // A child that was not reaped keeps its pid.
	}
}
