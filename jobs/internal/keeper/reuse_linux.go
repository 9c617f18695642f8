package keeper

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// maxGarbage is what jobs may leave of memory in a keeper that waits for the next
// one. There is no collection otherwise, apart from the limit on it all.
const maxGarbage = 1 << 20

// forget makes the keeper as it was before the job, of which no process is left.
// It returns false if it cannot answer for that: then this keeper must end. The
// caller holds k.mu.
func (k *keeper) forget() bool {
	if k.serverGone {
		return false
	}
	ok := k.leaveTerminal() && unix.Chdir("/") == nil
	if k.op != nil {
		k.op.wake() // It sees that its job is over.
	}
	k.job = job{tty: -1}
	if heapSize() > k.heap+maxGarbage {
		debug.FreeOSMemory()
		k.heap = heapSize()
	}
	return ok && inherited(k.self) == k.born
}

// leaveTerminal gives up the job's terminal. The kernel sends HUP and CONT to the
// foreground group, which has no member any more; if the server has closed its side
// already, it has sent them to us, who drop them.
func (k *keeper) leaveTerminal() bool {
	if k.tty < 0 {
		return true
	}
	err := unix.IoctlSetInt(k.tty, unix.TIOCNOTTY, 0)
	_ = unix.Close(k.tty) // Nothing was written to it.
	if err == nil {
		return true
	}
	// After a hang-up there is none to give up.
	fd, err := openRetry("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == unix.ENXIO
}

// heapSize is what has been allocated since the last collection, and what that left.
func heapSize() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A heritage is what a child gets from its parent, and a job, which runs as the same
// user, can change of its keeper from outside. What the keeper alone can change of
// itself is not in it: it changes nothing.
type heritage struct {
	limits     [unix.RLIMIT_RTTIME + 1]unix.Rlimit
	scheduling unix.SchedAttr // with the nice value
	cpus       unix.CPUSet
	io         uintptr // priority
	oom        string
	cgroup     string
}

// inherited reads the heritage of this process. What the kernel does not tell is
// the same each time.
func inherited(self int) (h heritage) {
	for i := range h.limits {
		_ = unix.Prlimit(0, i, nil, &h.limits[i])
	}
	if attr, err := unix.SchedGetAttr(self, 0); err == nil {
		h.scheduling = *attr
	}
	// By pid and not 0: the thread that forks is the main one.
	_ = unix.SchedGetaffinity(self, &h.cpus)
	h.io, _, _ = unix.RawSyscall(unix.SYS_IOPRIO_GET, ioprioWhoProcess, uintptr(self), 0)
	oom, _ := slurp("/proc/self/oom_score_adj", 64)
	cgroup, _ := slurp("/proc/self/cgroup", 4096)
	h.oom, h.cgroup = string(oom), string(cgroup)
	return h
}

const ioprioWhoProcess = 1
