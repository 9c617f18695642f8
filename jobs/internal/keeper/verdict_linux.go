package keeper

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// The cause of a command's end is settled before the command is signalled. A decision by the server at the request for
// a kill is not enough: the command may have ended by itself in the same instant, and its end may still be on the way.
// Only the keeper knows: it has not reaped the command, and so sees whether it lives, when it strikes.

// A blow is the effect of a kill's first signal on the command.
type blow struct {
	landed bool // the command was alive
	fatal  bool // and the signal ends the process in any case
}

// strike inspects the command before a kill's first signal, which is TERM or KILL. The caller holds k.mu.
func (k *keeper) strike(first unix.Signal) {
	if k.leaderGone || k.blow.landed {
		return
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, k.leader, &info, unix.WEXITED|unix.WALL|unix.WNOHANG|unix.WNOWAIT, nil)
	k.blow.landed = err == nil && info.Signo == 0
	k.blow.fatal = k.blow.landed && (first == unix.SIGKILL || isDeadly(k.leader, first))
}

// byItself reports whether the command has ended without our doing: before a kill began, or in another way than from a
// signal that could have ended it in only one way. If a program catches TERM and ends between the inspection and the
// signal, the cause is unknown: it counts as killed.
func (k *keeper) byItself(ws unix.WaitStatus) bool {
	if !k.blow.landed {
		return true
	}
	ours := ws.Signaled() && (ws.Signal() == unix.SIGKILL || ws.Signal() == unix.SIGTERM || ws.Signal() == unix.SIGHUP)
	return k.blow.fatal && !ours && !k.leaderDenied()
}

// leaderDenied reports whether a kill may not signal the command: then the command ends because its children do.
func (k *keeper) leaderDenied() bool {
	if k.op == nil {
		return false
	}
	p := k.op.seen[k.leader]
	return p != nil && p.denied
}

// isDeadly reports whether a process neither catches nor ignores nor blocks a signal. If the kernel does not report
// this, it returns false.
func isDeadly(pid int, sig unix.Signal) bool {
	text, err := slurp(procPath(pid, "status"), 8192)
	if err != nil {
		return false
	}
	told := 0
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":\t"))
		switch string(name) {
		case "SigBlk", "SigIgn", "SigCgt":
			mask, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
			if err != nil || mask&(1<<(sig-1)) != 0 {
				return false
			}
			told++
		}
	}
	return told == 3
}
