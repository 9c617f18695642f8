package inputwait

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Examine returns the best confidence that probes of a job's process with this pid reach on this machine: Exact, Likely
// or Guess, and the reason for that limit. It returns None if there is no such process.
func Examine(pid int) (Confidence, string) {
	best := bestTier()
	var r reader
	proc, err := r.open(pid)
	if err != nil {
		return None, fmt.Sprintf("/proc/%d: %v", pid, err)
	}
	defer proc.close()
	if best == nothing {
		return Guess, "it was built only to guess"
	}
	why := refused(proc, best)
	if why == "" {
		return Exact, "the system call and the memory of a job's process can be read"
	}
	if _, err := proc.file(1024, part{name: "stat"}); err != nil {
		return Guess, fmt.Sprintf("%s, nor /proc/PID/stat: %v", why, err)
	}
	where, err := proc.file(256, part{name: "wchan"})
	in := inspection{process: proc}
	switch {
	case best > sleep:
		return Guess, why
	case err != nil:
		return Guess, fmt.Sprintf("%s, nor /proc/PID/wchan: %v", why, err)
	case len(where) == 0:
		return Guess, why + ", nor the kernel function in which it sleeps"
	case !in.mayList():
		return Guess, why + ", nor its descriptors"
	}
	return Likely, why + "; the kernel function in which it sleeps and its descriptors can"
}

// refused returns why the first tier is not available, or "" if it is.
func refused(proc process, best tier) string {
	if best > full {
		return fmt.Sprintf("it was built to use only tier %d", best)
	}
	if !knowsCalls {
		return "the system call numbers of this architecture are unknown"
	}
	if _, err := proc.file(512, part{name: "syscall"}); err != nil {
		return fmt.Sprintf("/proc/PID/syscall cannot be read (%v)%s", err, yama(proc.r))
	}
	// The kernel checks the permission when the file is opened.
	fd, err := proc.r.openat(proc.dir, proc.r.join([]part{{name: "mem"}}), unix.O_RDONLY)
	if err != nil {
		return fmt.Sprintf("/proc/PID/mem cannot be opened (%v)%s", err, yama(proc.r))
	}
	_ = unix.Close(fd)
	return ""
}

// yama returns a suffix with the value of kernel.yama.ptrace_scope, the most frequent reason.
func yama(r *reader) string {
	text, err := r.slurp(unix.AT_FDCWD, append(r.path[:0], "/proc/sys/kernel/yama/ptrace_scope"...), 16)
	if err != nil {
		return ""
	}
	return "; kernel.yama.ptrace_scope is " + strings.TrimSpace(string(text))
}
