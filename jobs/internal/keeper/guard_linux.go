package keeper

import (
	"errors"
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guard wakes stopped keepers, and detects keepers that have ended: a job knows its parent's pid, and a stopped keeper
// reports nothing and ends nothing. It runs from the first keeper to the last, when stop is closed. It takes no exit
// status.
func (p *Pool) guard(children chan os.Signal, stop <-chan struct{}) {
	defer signal.Stop(children)
	for {
		select {
		case <-children:
			p.wakeStopped()
			p.noticeDead()
		case <-stop:
			return
		}
	}
}

// startGuard starts the guard. It is called with p.spawning held, before the first keeper exists.
func (p *Pool) startGuard() {
	children := make(chan os.Signal, 1) // One is enough: each means "check all".
	signal.Notify(children, unix.SIGCHLD)
	p.children, p.stopGuard = children, make(chan struct{})
	go p.guard(children, p.stopGuard)
	var err error
	if p.ends, err = newEnds(); err != nil {
		p.log.Warn("cannot watch the ends of keepers: the end of one that its job traces is noticed late", "err", err)
		return
	}
	go p.watchEnds(p.ends)
}

// watchEnd watches for the end of a keeper. It is called with p.spawning held, after the keeper was entered.
func (p *Pool) watchEnd(proc *os.Process) {
	if p.ends == nil {
		return
	}
	if err := p.ends.add(proc); err != nil && !errors.Is(err, os.ErrNoHandle) {
		p.log.Warn("cannot watch the end of a keeper: if its job traces it, its end is noticed late", "keeper", proc.Pid, "err", err)
	}
}

// lookAgain makes the guard check once more: behind one ended keeper there may be others. It is called with p.spawning
// held.
func (p *Pool) lookAgain() {
	select {
	case p.children <- unix.SIGCHLD:
	default:
	}
}

// endGuard stops the guard if no keeper is left. It is called with p.spawning held.
func (p *Pool) endGuard() {
	if len(p.keepers) > 0 {
		return
	}
	close(p.stopGuard)
	if p.ends != nil {
		_ = p.ends.set.Close() // Nothing was written.
		p.ends = nil
	}
}

// wakeStopped asks for all children at once: if many keepers end together, asking for each would take time that grows
// with the square of their number. A stopped child that is not a keeper is skipped; no other code can learn of its stop
// any more.
func (p *Pool) wakeStopped() {
	p.spawning.Lock()
	defer p.spawning.Unlock()
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WSTOPPED|unix.WCONTINUED|unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || info.Signo == 0 {
			return
		}
		h := p.keepers[infoPID(&info)]
		if h == nil {
			continue
		}
		h.stopped.Store(true) // Before it can report its job's end.
		// A keeper that already continues needs no signal.
		if info.Code != cldContinued {
			_ = h.proc.Signal(unix.SIGCONT) // It fails only when the keeper has ended.
		}
	}
}

// noticeDead has the socket of an ended keeper read until it is empty instead of to its end: the end does not come
// while another process holds the other side, which a job can take from its keeper (pidfd_getfd, ptrace). One call
// finds one ended child; once that is reaped, the guard checks again. If the ended child is not a keeper, it may stay
// for long, so each keeper is checked.
func (p *Pool) noticeDead() {
	p.spawning.Lock()
	defer p.spawning.Unlock()
	pid := deadChild(unix.P_ALL, 0)
	if h := p.keepers[pid]; h != nil || pid == 0 {
		h.noticeDeath()
		return
	}
	for pid, h := range p.keepers {
		if deadChild(unix.P_PID, pid) != 0 {
			h.noticeDeath()
		}
	}
}

// deadChild returns the pid of a child that has ended and was not reaped, or 0.
func deadChild(kind, id int) int {
	for {
		var info unix.Siginfo
		err := unix.Waitid(kind, id, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG|unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || info.Signo == 0:
			return 0
		}
		return infoPID(&info)
	}
}

// infoPID returns si_pid of a result of waitid. It follows three ints, at the next position where a pointer may be.
func infoPID(info *unix.Siginfo) int {
	const word = unsafe.Sizeof(uintptr(0))
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), (3*4+word-1)/word*word)))
}

// cldContinued is CLD_CONTINUED, the code of waitid for a process that continues.
const cldContinued = 6
