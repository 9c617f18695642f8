//go:build unix

package keeper

import (
	"maps"
	"syscall"
)

// mostListings is the maximum number of times that a tree is listed for one signal. A tree that forks faster than it is
// listed is for [Keeper.Kill].
const mostListings = 64

// SignalTree signals every process of a tree. each lists the processes and signals those that are not in last. It
// returns the living processes, as start times by pid, and 0 if one took the signal, or else the reason: ESRCH if there
// is no process. A process that is being forked is in no list yet, and would outlive a KILL, or run on after a STOP. So
// for these two signals, which no process can handle, the tree is listed until two lists are equal: if a process ends
// in between, its children get another parent, and may be in neither list. For any other signal, a new process may have
// been started to handle it.
func SignalTree(sig syscall.Signal, each func(last map[int]uint64) (living map[int]uint64, errno syscall.Errno)) syscall.Errno {
	last, result := each(nil)
	if sig != syscall.SIGKILL && sig != syscall.SIGSTOP {
		return result
	}
	for range mostListings - 1 {
		living, errno := each(last)
		if errno == 0 || result == syscall.ESRCH {
			result = errno
		}
		if maps.Equal(living, last) {
			break
		}
		last = living
	}
	return result
}
