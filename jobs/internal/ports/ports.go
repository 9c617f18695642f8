// Package ports finds out which TCP ports the processes of a job listen on, and whether
// somebody else listens there. Linux tells it: the tables of sockets say who listens as an
// inode, and the descriptors of a process which inodes are its. Elsewhere nothing is seen.
//
// There is no word from the kernel when a program begins to listen, so whoever waits for that
// looks again and again. A [Watch] keeps a look cheap: it lists who listens, and reads
// descriptors only where there is a listener that the look before has not seen.
package ports

import (
	"net/netip"
	"slices"
)

// A Listener is a socket on which connections are taken.
type Listener struct {
	Port    int
	Address netip.Addr
	User    int64  // who made it: more than an int has room for on some machines
	PID     int    // a process that has it; 0 = not known
	Command string // of that process, where it was asked for

	inode uint64
	space string // its network namespace
}

// Found is what a look has seen, each in order.
type Found struct {
	// Own are those that a process of the job has.
	Own []Listener
	// Maybe are those whose owner cannot be seen, of a user as whom a process of the job runs
	// whose descriptors cannot be read: a setuid program, or one that hides them.
	Maybe []Listener
	// Others are those that nobody of the job has, in the network namespace of its command.
	Others []Listener
	// Partial says that not all descriptors were seen: they are too many, or could not be read.
	// A listener that nobody was seen to have is in none of the lists then.
	Partial bool
}

// Holder says who of the job listens on a port, 0 being any.
func (f *Found) Holder(port int) (Listener, bool) {
	if i := on(f.Own, port); i >= 0 {
		return f.Own[i], true
	}
	if port == 0 { // What cannot be seen may have been there before the job was.
		return Listener{}, false
	}
	if i := on(f.Maybe, port); i >= 0 {
		return f.Maybe[i], true
	}
	return Listener{}, false
}

// Stranger says who else listens on a port.
func (f *Found) Stranger(port int) (Listener, bool) {
	if i := on(f.Others, port); i >= 0 && port != 0 {
		return f.Others[i], true
	}
	return Listener{}, false
}

// on is the first listener on a port, 0 being any; -1: there is none.
func on(list []Listener, port int) int {
	return slices.IndexFunc(list, func(l Listener) bool { return port == 0 || l.Port == port })
}

// Members lists the processes of a job, parents before their children; ok is false where the
// job is over.
type Members func() (pids []int, ok bool)
