package keeper

import (
	"golang.org/x/sys/unix"
)

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
	return ok && !k.worn() && inherited(k.self, k.scratch[:]) == k.born
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

// worn says whether the jobs have left too much garbage.
func (k *keeper) worn() bool { return pageFaults() > k.faults+maxFaults }

// pageFaults counts the pages that this process has touched for the first time. As
// nothing is collected, all memory that is allocated is new, so this tells its growth;
// and unlike the runtime's own figures it costs no memory to ask for.
func pageFaults() int64 {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage) // It cannot fail for oneself.
	return int64(usage.Minflt)
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
func inherited(self int, scratch []byte) (h heritage) {
	for i := range h.limits {
		_ = unix.Prlimit(0, i, nil, &h.limits[i])
	}
	if attr, err := unix.SchedGetAttr(self, 0); err == nil {
		h.scheduling = *attr
	}
	// By pid and not 0: the thread that forks is the main one.
	_ = unix.SchedGetaffinity(self, &h.cpus)
	h.io, _, _ = unix.RawSyscall(unix.SYS_IOPRIO_GET, ioprioWhoProcess, uintptr(self), 0)
	h.oom = begin("/proc/self/oom_score_adj", scratch)
	h.cgroup = begin("/proc/self/cgroup", scratch)
	return h
}

const ioprioWhoProcess = 1
