//go:build linux || darwin

package direct

import (
	"fmt"
	"syscall"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

const (
	// emptyLooks is the number of scans in a row that must find no process: one can miss a process that forks and
	// exits.
	emptyLooks = 2
	// mostLooks is the maximum number of scans at once, in case each finds a process that has just ended.
	mostLooks = 32
	// lookAgainAfter is the time to the next scan after one that the system has refused, or if it does not report ends.
	lookAgainAfter = 250 * time.Millisecond
)

// look finds the living processes, and has the system report the end of each, if the job's own end depends on it. If it
// finds no process, it scans again to make sure.
func (j *Job) look() {
	for range mostLooks {
		settled := j.glance()
		if !j.retry.IsZero() || j.emptyRun >= emptyLooks || settled && len(j.living) > 0 {
			return
		}
	}
	j.dirty.Store(true)
	j.poke() // New requests go first.
}

// glance is one scan. It returns false if a process has ended since.
func (j *Job) glance() (settled bool) {
	j.dirty.Store(false) // Before the scan: a process that ends from here on sets it again.
	j.retry = time.Time{}
	all, err := j.sys.processes()
	j.unread = err
	if err != nil {
		j.pool.log.Warn("cannot list the processes", "job", j.pid, "err", err)
		j.retry = time.Now().Add(lookAgainAfter)
		return false
	}
	j.living = j.family.look(all)
	if j.emptyRun++; len(j.living) > 0 {
		j.emptyRun = 0
	}
	return j.watch()
}

// watch asks for a report of the end of each process that is not watched yet. It returns false if one of them has ended
// already: then another scan is needed, because that process may have had new children.
func (j *Job) watch() bool {
	if !j.reaped && j.op == nil {
		return true
	}
	alive := true
	current := make(map[int]*watch, len(j.living))
	for _, p := range j.living {
		if p.pid == j.pid && !j.reaped {
			continue // SIGCHLD reports it.
		}
		if w := j.watched[p.pid]; w != nil && w.start == p.start {
			current[p.pid] = w
			delete(j.watched, p.pid)
			continue
		}
		forget, err := j.sys.watch(p, func() { j.dirty.Store(true); j.poke() })
		switch {
		case err == nil:
			current[p.pid] = &watch{p.start, forget}
		case err == syscall.ESRCH:
			alive = false
		default: // Its end will not be reported, so that scans must find it.
			j.pool.log.Warn("cannot watch a process", "pid", p.pid, "err", err)
			j.retry = time.Now().Add(lookAgainAfter)
		}
	}
	for _, w := range j.watched {
		w.forget()
	}
	j.watched = current
	return alive
}

// describe returns the system's information about a process.
func (j *Job) describe(p process) keeper.Proc {
	command := j.sys.command(p.pid)
	if command == "" {
		command = fmt.Sprintf("[%s]", p.name)
	}
	return keeper.Proc{PID: p.pid, PPID: p.ppid, PGID: p.pgid, SID: p.sid, Comm: p.name, Command: command}
}
