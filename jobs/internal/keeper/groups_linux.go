package keeper

import (
	"slices"

	"golang.org/x/sys/unix"
)

// killGroups signals the process groups of this process's children, dead ones that were
// not reaped included. The kernel signals a group in one go, and lets no fork through
// meanwhile: a process that forks and exits without end is in no list by the time that
// the list was read, but in its group. What changes its group at each fork is left to
// the lists.
//
// The number of a group is not passed on while a member of it is there, be it a zombie.
// The caller holds k.mu. A group of a child has no members but the job's: all of its session
// come from the one who made that. But a job may have put itself into the keeper's own group,
// of which the children are signalled one by one.
func (k *keeper) killGroups(sig unix.Signal) {
	kids, _ := k.kids.list() // The next sweep reads it again.
	own, done := unix.Getpgrp(), make(map[int]bool)
	for _, pid := range slices.Backward(kids) { // The newest are the ones that run.
		st, err := readStat(pid)
		if err != nil || st.ppid != k.self || st.pgid <= 1 || done[st.pgid] {
			continue
		}
		done[st.pgid] = true
		if st.pgid != own {
			_ = unix.Kill(-st.pgid, sig) // Whom it did not reach, the lists show.
		}
	}
	for range ownGroupTries {
		if !done[own] {
			return
		}
		k.killNewest(sig)
	}
}

// ownGroupTries are made in a row to hit what forks and exits without end in the group of
// the keeper, which lives for some 50 µs and takes that long to be listed.
const ownGroupTries = 50

// killNewest signals the children that were born last.
func (k *keeper) killNewest(sig unix.Signal) {
	kids, _ := k.kids.list() // As above.
	for _, pid := range kids[max(0, len(kids)-4):] {
		_ = unix.Kill(pid, sig) // A child that was not reaped keeps its pid.
	}
}
