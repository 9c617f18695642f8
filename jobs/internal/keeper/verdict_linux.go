package keeper

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// Why a command has ended is settled before it is signalled. What the server settles
// when it asks for a kill is not enough: the command may have ended by itself in the same
// instant, and its end be still on the way. The keeper alone can tell: it has not reaped
// the command, and so knows whether it lives, when it strikes.

// A blow is what the first signal of a kill was to the command.
type blow struct {
	landed bool // the command was alive
	fatal  bool // and the signal such that it ends a process, whatever it does
}

// strike looks at the command before a kill's first signal, which is TERM or KILL. The
// caller holds k.mu.
func (k *keeper) strike(first unix.Signal) {
	if k.leaderGone || k.blow.landed {
		return
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, k.leader, &info, unix.WEXITED|unix.WALL|unix.WNOHANG|unix.WNOWAIT, nil)
	k.blow.landed = err == nil && info.Signo == 0
	k.blow.fatal = k.blow.landed && (first == unix.SIGKILL || isDeadly(k.leader, first))
}

// byItself says whether the command has ended without our doing: before a kill began, or
// in another way than from a signal that could have ended it in no way but one. Of a
// program that catches TERM and ends in the moment between the look and the signal,
// nobody can tell: it counts as killed.
func (k *keeper) byItself(ws unix.WaitStatus) bool {
	if !k.blow.landed {
		return true
	}
	ours := ws.Signaled() && (ws.Signal() == unix.SIGKILL || ws.Signal() == unix.SIGTERM || ws.Signal() == unix.SIGHUP)
	return k.blow.fatal && !ours && !k.leaderDenied()
}

// leaderDenied says whether a kill may not signal the command: then it ends for want of
// its children.
func (k *keeper) leaderDenied() bool {
	if k.op == nil {
		return false
	}
	p := k.op.seen[k.leader]
	return p != nil && p.denied
}

// isDeadly says whether a process neither catches nor ignores nor blocks a signal. Where
// the kernel does not tell, it says no.
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
