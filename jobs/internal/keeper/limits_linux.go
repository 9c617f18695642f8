package keeper

import (
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Fit returns the limits that a job would get: in the units that the kernel has, and
// none above what this process, and so whatever it starts, may have in any case. It
// returns false where nothing of the kind can be done.
func Fit(l Limits) (Limits, bool) {
	l.OpenFiles = fitted(unix.RLIMIT_NOFILE, l.OpenFiles)
	l.Memory = fitted(unix.RLIMIT_DATA, l.Memory)
	seconds := int64(l.CPU / time.Second)
	if l.CPU%time.Second > 0 {
		seconds++
	}
	l.CPU = time.Duration(fitted(unix.RLIMIT_CPU, seconds)) * time.Second
	return l, true
}

// fitted is a limit, or the hard one of this process where that is lower.
func fitted(resource int, n int64) int64 {
	var have unix.Rlimit
	if err := unix.Prlimit(0, resource, nil, &have); err != nil || n == 0 {
		return n
	}
	return int64(min(uint64(n), max(have.Max, 1)))
}

// set sets this process's limits for what it is about to execute. Memory comes last,
// since there may be none left for us.
func (l Limits) set() error {
	set := func(resource int, soft, hard int64) error {
		if soft == 0 {
			return nil
		}
		var have unix.Rlimit
		if err := unix.Prlimit(0, resource, nil, &have); err != nil {
			return err
		}
		most := min(uint64(hard), have.Max)
		// By way of syscall, which restores the limit on descriptors otherwise that Go
		// has raised for itself.
		return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: min(uint64(soft), most), Max: most})
	}
	seconds := int64(l.CPU / time.Second)
	if err := set(unix.RLIMIT_CPU, seconds, seconds+1); err != nil {
		return err
	}
	if err := set(unix.RLIMIT_NOFILE, l.OpenFiles, l.OpenFiles); err != nil {
		return err
	}
	return set(unix.RLIMIT_DATA, l.Memory, l.Memory)
}

// cpuOver says whether it was the limit that ended the command: by the signal that the
// kernel sends for it, and because it had used that time, all but what the kernel's two
// ways to count it may differ by. Anybody can send the signal.
func (k *keeper) cpuOver(ws unix.WaitStatus, used time.Duration) bool {
	return k.limits.CPU != 0 && ws.Signaled() && ws.Signal() == unix.SIGXCPU && used >= k.limits.CPU/4*3
}

// leaderUsed is the processor time that the command has used itself, or 0 where it has no
// limit of that. It is asked for before the status is taken, as long as /proc has it: what
// wait tells has the time of the children in it that the command has waited for, and each
// of those has a limit of its own. The caller holds k.mu.
func (k *keeper) leaderUsed() time.Duration {
	if k.limits.CPU == 0 || k.leaderGone {
		return 0
	}
	st, err := readStat(k.leader)
	if err != nil {
		return 0
	}
	return st.used
}

const (
	lookSoon = 50 * time.Millisecond  // between two looks at a job that grows or shrinks
	lookLate = 200 * time.Millisecond // at one that does not
	// looksForCleaning is how many looks may leave their garbage, a few KiB each: a
	// keeper collects none by itself.
	looksForCleaning = 64
)

// countProcesses looks every now and then how many processes of the job are alive: the
// kernel tells nobody of a fork. It tells the server once that there are too many, and
// once more when there are twice as many as that, since then they are not ending. It ends with the job.
func (k *keeper) countProcesses(number int) {
	pause, before, told := lookSoon, 0, false
	for look := 1; ; look++ {
		began := time.Now()
		k.mu.Lock()
		if k.number != number {
			k.mu.Unlock()
			return
		}
		alive := k.alive()
		over := alive > k.mostProcesses(told)
		if over {
			k.send(encodeEvent(Event{Kind: Limited, Limit: LimitProcesses}))
		}
		k.mu.Unlock()
		if over && told {
			return
		}
		told = told || over
		if pause = min(2*pause, lookLate); alive != before || told {
			pause, before = lookSoon, alive
		}
		if look%looksForCleaning == 0 {
			runtime.GC()
		}
		time.Sleep(max(pause, 16*time.Since(began))) // A large job is not looked at all the time.
	}
}

// mostProcesses is how many there may be, or may be while the job is being ended.
func (k *keeper) mostProcesses(told bool) int {
	most := int(min(k.limits.Processes, 1<<30))
	if told {
		return 2*most + 16
	}
	return most
}

// alive counts the processes of the job. The caller holds k.mu.
func (k *keeper) alive() (n int) {
	for _, p := range descendants(k.self) {
		if st, err := readStat(p.pid); err == nil && st.alive() {
			n++
		}
	}
	return n
}
