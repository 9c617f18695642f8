package keeper

import (
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Fit returns the limits that a job would get: in the units that the kernel has, and
// none above what this process, and so whatever it starts, may have in any case.
func Fit(l Limits) Limits {
	l.OpenFiles = fitted(unix.RLIMIT_NOFILE, l.OpenFiles)
	l.Memory = fitted(unix.RLIMIT_DATA, l.Memory)
	seconds := int64(l.CPU / time.Second)
	if l.CPU%time.Second > 0 {
		seconds++
	}
	l.CPU = time.Duration(fitted(unix.RLIMIT_CPU, seconds)) * time.Second
	return l
}

// fitted is a limit, or the hard one of this process where that is lower; 0 is none, as
// most jobs have it.
func fitted(resource int, n int64) int64 {
	var have unix.Rlimit
	if n == 0 || unix.Prlimit(0, resource, nil, &have) != nil {
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
// kernel sends for it, and because it had been charged with that much time. Anybody can
// send the signal.
func (k *keeper) cpuOver(ws unix.WaitStatus, charged time.Duration) bool {
	return k.limits.CPU != 0 && ws.Signaled() && ws.Signal() == unix.SIGXCPU && charged >= k.limits.CPU
}

// charged is the processor time by which the kernel judges RLIMIT_CPU of a process whose
// status has not been taken, without that of its children. It counts in ticks, and may be
// more than half as much again as what /proc and wait4 tell, which is what the process ran
// for. Where the kernel has no such clock it is 0, and the end is told as the signal alone.
func charged(pid int) time.Duration {
	const prof = 0 // CPUCLOCK_PROF: user and system time, of all threads
	var ts unix.Timespec
	if unix.ClockGettime(int32(^pid)<<3|prof, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
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
	list, _ := k.tree() // The next look counts whom this one has missed.
	for _, p := range list {
		if st, err := readStat(p.pid); err == nil && st.alive() {
			n++
		}
	}
	return n
}
