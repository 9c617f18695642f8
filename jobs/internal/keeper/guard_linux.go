package keeper

import (
	"errors"
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guard wakes keepers that somebody has stopped, and sees that they have ended: a job
// knows its parent's pid, and a keeper that stands still tells nothing and ends nothing.
// It runs from the first keeper to the last, for which stop is closed. It takes no exit
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

// startGuard is called with p.spawning held, before the first keeper is there.
func (p *Pool) startGuard() {
	children := make(chan os.Signal, 1) // One is enough: each means "look at all".
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

// watchEnd is called with p.spawning held, when the keeper was entered.
func (p *Pool) watchEnd(proc *os.Process) {
	if p.ends == nil {
		return
	}
	if err := p.ends.add(proc); err != nil && !errors.Is(err, os.ErrNoHandle) {
		p.log.Warn("cannot watch the end of a keeper: if its job traces it, its end is noticed late", "keeper", proc.Pid, "err", err)
	}
}

// lookAgain has the guard look once more: behind one that has ended there may be others.
// It is called with p.spawning held.
func (p *Pool) lookAgain() {
	select {
	case p.children <- unix.SIGCHLD:
	default:
	}
}

// endGuard is called with p.spawning held, when there may be no keeper any more.
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

// wakeStopped asks for all children at once: to ask for each keeper would take as long,
// all in all, as the square of their number where many end together. A child that is no
// keeper and was stopped is passed over; that it was is told to nobody else any more.
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
		h.stopped.Store(true) // Before it can tell of its job's end.
		// Of one who was continued already only the fact is of interest.
		if info.Code != cldContinued {
			_ = h.proc.Signal(unix.SIGCONT) // It fails only when the keeper has ended.
		}
	}
}

// noticeDead has the socket of a keeper that has ended read to where it is empty and not to
// its end: that does not come as long as somebody else holds the other side, which a job
// can take from its keeper (pidfd_getfd, ptrace). One look finds one that has ended; when
// that was reaped, there is another. Where it is a child of somebody else's, which may stay
// for long, each keeper is looked at.
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

// deadChild is a child that has ended and was not reaped, or 0.
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

// infoPID is si_pid of what waitid tells. It stands behind three ints, where pointers may.
func infoPID(info *unix.Siginfo) int {
	const word = unsafe.Sizeof(uintptr(0))
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), (3*4+word-1)/word*word)))
}

// cldContinued is what waitid calls a process that goes on, CLD_CONTINUED.
const cldContinued = 6
