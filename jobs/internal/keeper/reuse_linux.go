package keeper

import (
	"golang.org/x/sys/unix"
)

// forget resets the keeper to its state before the job, of which no process is left. It returns false if the reset is
// not certain: then this keeper must end. The caller holds k.mu.
func (k *keeper) forget() bool {
	if k.serverGone {
		return false
	}
	ok := k.leaveTerminal() && unix.Chdir("/") == nil
	if k.op != nil {
		k.op.wake() // runKill sees that its job is over.
	}
	k.job = job{tty: -1}
	return ok && !k.worn() && inherited(k.self, k.scratch[:]) == k.born
}

// leaveTerminal gives up the job's terminal, and reports whether it is gone. The kernel sends HUP and CONT to the
// foreground group, which has no member any more; if the server has closed its side already, the kernel has sent them
// to this process, which drops them.
func (k *keeper) leaveTerminal() bool {
	if k.tty < 0 {
		return true
	}
	err := unix.IoctlSetInt(k.tty, unix.TIOCNOTTY, 0)
	_ = unix.Close(k.tty) // Nothing was written to it.
	if err == nil {
		return true
	}
	// After a hang-up there is no terminal to give up.
	fd, err := openRetry("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err == unix.ENXIO
}

// worn reports whether the jobs have left too much garbage.
func (k *keeper) worn() bool { return pageFaults() > k.faults+maxFaults }

// pageFaults returns the number of pages that this process has touched for the first time. No garbage is collected, so
// all allocated memory is new, and this number shows its growth; unlike the runtime's own figures, it costs no memory
// to read.
func pageFaults() int64 {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage) // It cannot fail for the own process.
	return int64(usage.Minflt)
}

// A heritage is the state that a child inherits from its parent, and that a job, which runs as the same user, can
// change in its keeper from outside. State that only the keeper can change is not included: the keeper does not change
// it.
type heritage struct {
	limits     [unix.RLIMIT_RTTIME + 1]unix.Rlimit
	scheduling unix.SchedAttr // with the nice value
	cpus       unix.CPUSet
	io         uintptr // priority
	oom        string
	cgroup     string
}

// inherited reads the heritage of this process. A value that the kernel does not report is the same each time.
func inherited(self int, scratch []byte) (h heritage) {
	for i := range h.limits {
		_ = unix.Prlimit(0, i, nil, &h.limits[i])
	}
	if attr, err := unix.SchedGetAttr(self, 0); err == nil {
		h.scheduling = *attr
	}
	// By pid instead of 0: the thread that forks is the main one.
	_ = unix.SchedGetaffinity(self, &h.cpus)
	h.io, _, _ = unix.RawSyscall(unix.SYS_IOPRIO_GET, ioprioWhoProcess, uintptr(self), 0)
	h.oom = begin("/proc/self/oom_score_adj", scratch)
	h.cgroup = begin("/proc/self/cgroup", scratch)
	return h
}

const ioprioWhoProcess = 1
