//go:build linux || darwin

package direct

import (
	"fmt"
	"syscall"
	"time"

	"shelld/jobs/internal/keeper"
)

const (
	// emptyLooks in a row must find nobody: a process that forks and exits can be
	// missed by one.
	emptyLooks = 2
	// mostLooks at once, where there is always somebody who has just ended.
	mostLooks = 32
	// lookAgainAfter a look that the system has refused, or where it does not tell of
	// ends.
	lookAgainAfter = 250 * time.Millisecond
)

// look finds out who lives, and has the system tell the end of each, if the job's own
// end depends on it. Where it finds nobody it makes sure of that.
func (j *Job) look() {
	for range mostLooks {
		settled := j.glance()
		if !j.retry.IsZero() || j.emptyRun >= emptyLooks || settled && len(j.living) > 0 {
			return
		}
	}
	j.dirty.Store(true)
	j.poke() // What is asked meanwhile goes first.
}

// glance is one look. It returns false where somebody has ended since.
func (j *Job) glance() (settled bool) {
	j.dirty.Store(false) // Before: whoever ends from here on makes it true again.
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

// watch has the end of everybody told who is not watched yet. It returns false if one of
// them has ended already: then it is time for another look, since others may have been
// born of it.
func (j *Job) watch() bool {
	if !j.reaped && j.op == nil {
		return true
	}
	alive := true
	current := make(map[int]*watch, len(j.living))
	for _, p := range j.living {
		if p.pid == j.pid && !j.reaped {
			continue // SIGCHLD tells.
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
		default: // Nobody will tell, so that it has to be looked at.
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

// describe tells of a process what the system knows.
func (j *Job) describe(p process) keeper.Proc {
	command := j.sys.command(p.pid)
	if command == "" {
		command = fmt.Sprintf("[%s]", p.name)
	}
	return keeper.Proc{PID: p.pid, PPID: p.ppid, PGID: p.pgid, SID: p.sid, Comm: p.name, Command: command}
}
