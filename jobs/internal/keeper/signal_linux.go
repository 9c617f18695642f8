package keeper

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// onSignal signals the target and answers, before reap can find that the signal ended the job. The caller holds k.mu.
func (k *keeper) onSignal(seq int, target Target, sig syscall.Signal) {
	errno := k.signal(target, sig)
	k.send(appendInt(appendInt([]byte{opReply}, seq), int(errno)))
}

// signal returns ESRCH if the target has no process, or EPERM if none of its processes may be signalled. The caller
// holds k.mu.
func (k *keeper) signal(target Target, sig syscall.Signal) syscall.Errno {
	switch target {
	case Leader:
		if k.leaderGone {
			return unix.ESRCH
		}
		return toErrno(unix.Kill(k.leader, sig))
	case Foreground:
		if k.tty >= 0 {
			group, err := unix.IoctlGetInt(k.tty, unix.TIOCGPGRP)
			if err != nil {
				return toErrno(err)
			}
			return k.signalGroup(group, sig)
		}
		return k.signalGroup(k.leader, sig)
	case ForegroundChild:
		if k.tty < 0 {
			return unix.ESRCH
		}
		group, err := unix.IoctlGetInt(k.tty, unix.TIOCGPGRP)
		switch {
		case err != nil:
			return toErrno(err)
		case group == k.leader:
			return unix.ESRCH
		}
		return k.signalGroup(group, sig)
	case LeaderGroup:
		return k.signalGroup(k.leader, sig)
	case Tree:
		return k.signalTree(sig)
	}
	return unix.EINVAL
}

// signalGroup signals a process group at once, so that a process that is being forked is included. The number of a
// group is the job's while the command, not yet reaped, holds it. In any other group, such as the terminal's foreground
// group, a member must be found first: the terminal still names a group that has ended. For that number to be reused
// before the signal is sent, it would take as many forks as there are pids.
func (k *keeper) signalGroup(group int, sig syscall.Signal) syscall.Errno {
	if group != k.leader || k.leaderGone {
		member := func(st procStat) bool { return st.pgid == group }
		if errno := k.signalEach(0, member); errno != 0 {
			return errno
		}
	}
	return toErrno(unix.Kill(-group, sig))
}

// signalTree signals every process of the job.
func (k *keeper) signalTree(sig syscall.Signal) syscall.Errno {
	return SignalTree(sig, func(last map[int]uint64) (map[int]uint64, syscall.Errno) {
		living := make(map[int]uint64)
		errno := k.signalEach(sig, func(st procStat) bool {
			living[st.pid] = st.start
			start, met := last[st.pid]
			return !met || start != st.start
		})
		return living, errno
	})
}

// signalEach signals the wanted processes of the job one by one. It returns 0 if one of them took the signal.
func (k *keeper) signalEach(sig syscall.Signal, wanted func(procStat) bool) syscall.Errno {
	result, below := unix.ESRCH, newKin(k.self)
	list, unread := k.tree()
	for _, n := range list {
		st, err := readStat(n.pid)
		if err != nil || !st.alive() || !wanted(st) {
			continue
		}
		switch err := below.signal(n, sig); {
		case err == nil:
			result = 0
		case result == unix.ESRCH:
			result = toErrno(err)
		}
	}
	if unread != nil && result == unix.ESRCH {
		return toErrno(unread)
	}
	return result
}

// toErrno converts the result of a system call into an answer.
func toErrno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	return errnoOf(err)
}
