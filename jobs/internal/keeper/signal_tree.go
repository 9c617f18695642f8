//go:build unix

package keeper

import (
	"maps"
	"syscall"
)

// mostListings bounds how often a tree is listed for one signal. A tree that forks faster than it is
// listed is for [Keeper.Kill].
const mostListings = 64

// SignalTree has every process of a tree signalled. each lists them, signals those that are not in last,
// and returns who lives, as start times by pid, and 0 if one took it, or else why none did: ESRCH where there
// is nobody. One that is being forked is in no list yet, and would outlive a KILL, or run on after a STOP; so
// with these, which nobody handles, the tree is listed until two lists are the same: where somebody has ended
// in between, who comes to another parent by that may be in neither. With any other signal who is new may have
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
