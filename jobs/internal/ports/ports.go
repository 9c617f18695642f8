// Package ports determines the TCP ports that the processes of a job listen on, and whether another process listens
// there. Linux reports this: the tables of sockets list listeners by inode, and the descriptors of a process show its
// inodes. On other systems nothing is found.
//
// The kernel does not notify when a program begins to listen, so a caller that waits for that must probe again and
// again. A [Watch] keeps a probe cheap: it lists the listeners, and reads descriptors only if there is a listener that
// the previous probe has not seen.
package ports

import (
	"net/netip"
	"slices"
)

// A Listener is a socket that accepts connections.
type Listener struct {
	Port    int
	Address netip.Addr
	User    int64  // the user that made it: exceeds an int on some machines
	PID     int    // a process that has it; 0 = unknown
	Command string // of that process, if requested

	inode uint64
	space string // its network namespace
}

// Found is the result of a probe, each list in order.
type Found struct {
	// Own are the listeners that a process of the job has.
	Own []Listener
	// Maybe are the listeners whose owner cannot be seen, if their user is also the user of a process of the job whose
	// descriptors cannot be read: a setuid program, or one that hides them.
	Maybe []Listener
	// Others are the listeners of other processes, in the network namespace of the job's command.
	Others []Listener
	// Partial means that some descriptors were not read: there are too many, or reading them failed. Then a listener
	// without a known owner is in none of the lists.
	Partial bool
}

// Holder returns the listener of the job on a port; 0 means any port.
func (f *Found) Holder(port int) (Listener, bool) {
	if i := on(f.Own, port); i >= 0 {
		return f.Own[i], true
	}
	if port == 0 { // A listener with an unknown owner may be older than the job.
		return Listener{}, false
	}
	if i := on(f.Maybe, port); i >= 0 {
		return f.Maybe[i], true
	}
	return Listener{}, false
}

// Stranger returns the listener of another process on a port.
func (f *Found) Stranger(port int) (Listener, bool) {
	if i := on(f.Others, port); i >= 0 && port != 0 {
		return f.Others[i], true
	}
	return Listener{}, false
}

// on returns the index of the first listener on a port, with 0 for any port; -1: there is none.
func on(list []Listener, port int) int {
	return slices.IndexFunc(list, func(l Listener) bool { return port == 0 || l.Port == port })
}

// Members lists the processes of a job, parents before their children; ok is false if the job is over.
type Members func() (pids []int, ok bool)
