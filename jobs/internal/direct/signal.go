//go:build linux || darwin

package direct

import (
	"errors"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// send signals one process, if it is still the one that was found. Only if its pid is reused between the check and the
// signal would another process get it.
func (j *Job) send(p process, sig syscall.Signal) error {
	if p.pid != j.pid || j.reaped {
		if now, ok := j.sys.find(p.pid); !ok || now.start != p.start {
			return syscall.ESRCH
		}
	}
	return j.sys.kill(p.pid, sig)
}

// signal returns ESRCH if the target has no process, or EPERM if none of its processes may be signalled.
func (j *Job) signal(target keeper.Target, sig syscall.Signal) syscall.Errno {
	switch target {
	case keeper.Leader:
		if j.reaped {
			return syscall.ESRCH
		}
		return errnoOf(j.sys.kill(j.pid, sig))
	case keeper.Foreground:
		if j.terminal == nil {
			return j.signalGroup(j.pid, sig)
		}
		j.look()
		return j.signalGroup(j.foreground(), sig)
	case keeper.ForegroundChild:
		j.look()
		group := j.foreground()
		if j.terminal == nil || group == j.pid {
			return syscall.ESRCH
		}
		return j.signalGroup(group, sig)
	case keeper.LeaderGroup:
		return j.signalGroup(j.pid, sig)
	case keeper.Tree:
		return j.signalTree(sig)
	}
	return syscall.EINVAL
}

// foreground returns the terminal's foreground group according to a process of the command's session, or 0 if there is
// none. The terminal itself reports it only to its master's owner and its session.
func (j *Job) foreground() int {
	for _, p := range j.living {
		if p.sid == j.pid && p.foreground > 0 {
			return p.foreground
		}
	}
	return 0
}

// signalGroup signals a process group at once, so that a process that is being forked is included. The number of a
// group is the job's while the command, not yet reaped, holds it; in any other group a member must be found first.
func (j *Job) signalGroup(group int, sig syscall.Signal) syscall.Errno {
	if group <= 0 {
		return syscall.ESRCH
	}
	if group != j.pid || j.reaped {
		if j.look(); !inGroup(j.living, group) {
			return syscall.ESRCH
		}
	}
	return errnoOf(j.sys.kill(-group, sig))
}

// signalTree signals all processes of the job.
func (j *Job) signalTree(sig syscall.Signal) syscall.Errno {
	return keeper.SignalTree(sig, func(last map[int]uint64) (map[int]uint64, syscall.Errno) {
		j.look()
		living, result := make(map[int]uint64), syscall.ESRCH
		for _, p := range j.living {
			living[p.pid] = p.start
			if start, met := last[p.pid]; met && start == p.start {
				continue
			}
			switch errno := errnoOf(j.send(p, sig)); {
			case errno == 0:
				result = 0
			case result == syscall.ESRCH:
				result = errno
			}
		}
		return living, result
	})
}

// errnoOf returns 0 for no error.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if err != nil && !errors.As(err, &errno) {
		return syscall.EIO
	}
	return errno
}

// shortName returns a signal's name without SIG.
func shortName(sig syscall.Signal) string {
	return strings.TrimPrefix(unix.SignalName(sig), "SIG")
}
