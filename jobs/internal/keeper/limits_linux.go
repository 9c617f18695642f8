package keeper

import (
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Fit returns the limits that a job would get: in the kernel's units, and none above the limits of this process, which
// everything that it starts has in any case.
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

// fitted returns n, or the hard limit of this process if that is lower. 0 means no limit, as for most jobs.
func fitted(resource int, n int64) int64 {
	var have unix.Rlimit
	if n == 0 || unix.Prlimit(0, resource, nil, &have) != nil {
		return n
	}
	return int64(min(uint64(n), max(have.Max, 1)))
}

// set sets this process's limits for the program that it is about to execute. Memory comes last, because there may be
// none left for this process.
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
		// Through package syscall, which otherwise restores the limit on descriptors that Go has raised for itself.
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

// cpuOver reports whether the limit ended the command: it died of the signal that the kernel sends for it, after it had
// been charged with that much time. Any process can send the signal.
func (k *keeper) cpuOver(ws unix.WaitStatus, charged time.Duration) bool {
	return k.limits.CPU != 0 && ws.Signaled() && ws.Signal() == unix.SIGXCPU && charged >= k.limits.CPU
}

// charged returns the processor time by which the kernel checks RLIMIT_CPU of a process whose status has not been
// taken, without that of its children. It counts in ticks, and may exceed the figure of /proc and wait4, which is the
// actual running time, by more than half. If the kernel has no such clock, it is 0, and the end is reported as the
// signal alone.
func charged(pid int) time.Duration {
	const prof = 0 // CPUCLOCK_PROF: user and system time, of all threads
	var ts unix.Timespec
	if unix.ClockGettime(int32(^pid)<<3|prof, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

const (
	lookSoon = 50 * time.Millisecond  // between two counts of a job that grows or shrinks
	lookLate = 200 * time.Millisecond // between two counts of one that does not
	// looksForCleaning is the number of counts whose garbage, a few KiB each, may accumulate: a keeper collects none by
	// itself.
	looksForCleaning = 64
)

// countProcesses counts the living processes of the job at intervals: the kernel reports no forks. It reports to the
// server once that there are too many, and once more if there are about twice as many as that, since then they are not
// ending. It ends with the job.
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
		time.Sleep(max(pause, 16*time.Since(began))) // A large job is not counted all the time.
	}
}

// mostProcesses returns the maximum number of processes, or the maximum while the job is being ended.
func (k *keeper) mostProcesses(told bool) int {
	most := int(min(k.limits.Processes, 1<<30))
	if told {
		return 2*most + 16
	}
	return most
}

// alive counts the processes of the job. The caller holds k.mu.
func (k *keeper) alive() (n int) {
	list, _ := k.tree() // The next count includes the ones that this one missed.
	for _, p := range list {
		if st, err := readStat(p.pid); err == nil && st.alive() {
			n++
		}
	}
	return n
}
