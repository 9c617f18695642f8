package keeper

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// waitFlags include children of clone that end with another signal than SIGCHLD.
const waitFlags = unix.WALL | unix.WCONTINUED

// reap waits for everything that happens to children of this process, which by
// way of the subreaper all processes of the job become. It waits without taking
// the status, so that a pid is given back only under the reap lock. It ends with
// the process, when there is no child left.
func (k *keeper) reap() {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|waitFlags, nil)
		k.mu.Lock()
		if err == unix.ECHILD {
			k.empty()
		}
		k.collect()
		k.mu.Unlock()
	}
}

// empty tells that nothing of the job is left, and exits. The caller holds k.mu,
// and so nothing can be sent after it.
func (k *keeper) empty() {
	if k.op != nil && !k.op.reported {
		k.send(encodeEvent(Event{Kind: Killed, Report: k.op.report()}))
	}
	k.send(encodeEvent(Event{Kind: Empty}))
	unix.Exit(0)
}

// collect takes every status there is. The caller holds k.mu.
func (k *keeper) collect() {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG|unix.WUNTRACED|waitFlags, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if k.op != nil {
			k.op.reaped(pid, ws)
		}
		if pid == k.leader && !k.leaderGone {
			k.leaderChanged(ws)
		}
	}
}

// leaderChanged tells the server what wait told of the command.
func (k *keeper) leaderChanged(ws unix.WaitStatus) {
	switch {
	case ws.Stopped():
		sig := syscall.Signal(ws.StopSignal())
		if k.absorbStop(sig) {
			return
		}
		k.settled, k.stopped = true, true
		k.send(encodeEvent(Event{Kind: Stopped, Signal: sig}))
	case ws.Continued():
		if k.stopped {
			k.stopped = false
			k.send(encodeEvent(Event{Kind: Continued}))
		}
	default:
		k.leaderGone = true
		k.send(encodeEvent(k.exit(ws)))
	}
}

func (k *keeper) exit(ws unix.WaitStatus) Event {
	e := Event{Kind: Exited, Code: -1, Background: k.living()}
	if ws.Exited() {
		e.Code = ws.ExitStatus()
	} else {
		e.Signal, e.Core = ws.Signal(), ws.CoreDump()
	}
	return e
}

// living describes what is alive of the job. The caller holds k.mu.
func (k *keeper) living() []Proc {
	var list []Proc
	for _, n := range descendants(k.self) {
		if len(list) == MaxProcs {
			break
		}
		if st, err := readStat(n.pid); err == nil && st.alive() {
			list = append(list, describe(st, k.marks))
		}
	}
	return list
}
