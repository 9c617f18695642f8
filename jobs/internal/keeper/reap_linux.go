package keeper

import (
	"time"

	"golang.org/x/sys/unix"
)

// waitFlags include children of clone that end with a signal other than SIGCHLD.
const waitFlags = unix.WALL | unix.WCONTINUED

// reap waits for the events of all children of this process; by way of the subreaper, all processes of the job become
// its children. It waits without taking the status, so that a pid is released only under the reap lock. It ends when no
// child is left: the job is over then.
func (k *keeper) reap() {
	for over := false; !over; {
		_ = unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|waitFlags, nil)
		k.mu.Lock()
		if over = k.collect(); over {
			k.empty()
		}
		k.mu.Unlock()
	}
}

// empty reports that no process of the job is left, and resets the keeper. The caller holds k.mu.
func (k *keeper) empty() {
	if k.op != nil && !k.op.reported {
		k.send(encodeEvent(Event{Kind: Killed, Report: k.op.report()}))
	}
	k.send(encodeEvent(Event{Kind: Empty}))
	if k.last {
		unix.Exit(0)
	}
	// If processors are few, the process that waits for this news goes first: the rest takes as long as passing the
	// news on.
	_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	number := k.number
	if !k.forget() {
		unix.Exit(0)
	}
	k.send(appendInt([]byte{opReady}, number))
}

// collect takes every available status, and reports whether no child is left. The caller holds k.mu.
func (k *keeper) collect() (over bool) {
	for {
		var ws unix.WaitStatus
		who, used, any := k.next()
		if !any {
			return false
		}
		pid, err := unix.Wait4(who, &ws, unix.WNOHANG|unix.WUNTRACED|waitFlags, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return err == unix.ECHILD && who < 0 // For one child, ECHILD says nothing about the others.
		}
		if k.op != nil {
			k.op.reaped(pid, ws)
		}
		if pid == k.leader && !k.leaderGone {
			k.leaderChanged(ws, used)
		}
	}
}

// next returns the child whose status to take next, and the processor time that the kernel has charged it with, if that
// counts: the time cannot be read once the status is taken, and is not final before there is one. pid is -1 for any
// child; any is false if no status is available. The caller holds k.mu.
func (k *keeper) next() (pid int, used time.Duration, any bool) {
	if k.limits.CPU == 0 || k.leaderGone {
		return -1, 0, true
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT|waitFlags, nil)
	if err != nil {
		return -1, 0, true // wait4 reports the error.
	}
	if info.Signo == 0 {
		return 0, 0, false
	}
	if pid = infoPID(&info); pid == k.leader {
		used = charged(pid)
	}
	return pid, used, true
}

// leaderChanged reports a status of the command to the server. used is the command's processor time if that is limited.
func (k *keeper) leaderChanged(ws unix.WaitStatus, used time.Duration) {
	switch {
	case ws.Stopped():
		k.stopped = true
		k.send(encodeEvent(Event{Kind: Stopped, Signal: ws.StopSignal()}))
	case ws.Continued():
		if k.stopped {
			k.stopped = false
			k.send(encodeEvent(Event{Kind: Continued}))
		}
	default:
		k.leaderGone = true
		e := k.exit(ws)
		if k.cpuOver(ws, used) {
			e.Limit = LimitCPU
		}
		k.send(encodeEvent(e))
	}
}

func (k *keeper) exit(ws unix.WaitStatus) Event {
	e := Event{Kind: Exited, Code: -1, Background: k.living()}
	e.ByItself = k.byItself(ws)
	if ws.Exited() {
		e.Code = ws.ExitStatus()
	} else {
		e.Signal, e.Core = ws.Signal(), ws.CoreDump()
	}
	return e
}

// living describes the living processes of the job. The caller holds k.mu.
func (k *keeper) living() []Proc {
	if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WALL|unix.WNOHANG|unix.WNOWAIT, nil); err == unix.ECHILD {
		return nil // This is so for most commands, and reading /proc takes longer than they do.
	}
	var list []Proc
	nodes, _ := k.tree() // A missing process is below a listed one.
	for _, n := range nodes {
		if len(list) == MaxProcs {
			break
		}
		if st, err := readStat(n.pid); err == nil && st.alive() {
			list = append(list, describe(st, k.marks))
		}
	}
	return list
}
