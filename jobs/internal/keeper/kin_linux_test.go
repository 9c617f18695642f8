package keeper

import (
	"testing"

	"golang.org/x/sys/unix"
)

// fakeKin returns a kin with made-up processes, and a counter of the times that it reads one.
func fakeKin(processes map[int]procStat) (r *kin, looks *int) {
	looks = new(int)
	r = newKin(10)
	r.stat = func(pid int) (procStat, error) {
		*looks++
		st, ok := processes[pid]
		if !ok {
			return procStat{}, unix.ENOENT
		}
		st.pid = pid
		return st, nil
	}
	return r, looks
}

// A chain takes two reads per process, independent of its depth, and may be deeper than the maximum followed from one
// process.
func TestKinOfAChain(t *testing.T) {
	const depth = 2 * maxDepth
	chain := make(map[int]procStat)
	for pid := 11; pid < 11+depth; pid++ {
		chain[pid] = procStat{ppid: pid - 1, start: uint64(pid)}
	}
	r, looks := fakeKin(chain)
	for pid := 11; pid < 11+depth; pid++ {
		if !r.has(pid) {
			t.Fatalf("%d of %d is not found", pid-10, depth)
		}
	}
	if *looks > 2*depth {
		t.Errorf("%d looks at %d processes", *looks, depth)
	}
	// If no process is known yet, the whole path is followed, and remembered.
	r, looks = fakeKin(chain)
	for _, pid := range []int{1010, 1010, 910} {
		if !r.has(pid) {
			t.Errorf("%d is not found", pid)
		}
	}
	if *looks != 1000+2+2 {
		t.Errorf("%d looks", *looks)
	}
}

// A process that has a reused pid does not count as ours.
func TestKinSparesStrangers(t *testing.T) {
	processes := map[int]procStat{
		11: {ppid: 10, start: 1}, 12: {ppid: 11, start: 2}, 13: {ppid: 12, start: 3}, 14: {ppid: 13, start: 4},
		20: {ppid: 1, start: 1},
	}
	r, _ := fakeKin(processes)
	for pid := 11; pid <= 14; pid++ {
		if !r.has(pid) {
			t.Fatalf("%d is not found", pid)
		}
	}
	processes[13] = procStat{ppid: 20, start: 3} // A stranger with the same pid and start time.
	if r.has(13) {
		t.Error("a stranger with a known pid is ours")
	}
	processes[13] = procStat{ppid: 20, start: 5}
	if r.has(14) {
		t.Error("the child of a stranger with a known pid is ours")
	}
	processes[14] = procStat{ppid: 10, start: 4}
	if !r.has(14) {
		t.Error("what has come to root is not found")
	}
	delete(processes, 11)
	if r.has(11) || r.has(12) || r.has(20) || r.has(1) {
		t.Error("who has ended is there")
	}
}
