package keeper

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// guard wakes keepers that somebody has stopped: a job knows its parent's pid,
// and a keeper that stands still tells nothing and ends nothing. It runs from the
// first keeper to the last, for which stop is closed. It takes no exit status.
func (p *Pool) guard(children chan os.Signal, stop <-chan struct{}) {
	defer signal.Stop(children)
	for {
		select {
		case <-children:
			p.wakeStopped()
		case <-stop:
			return
		}
	}
}

// startGuard is called with p.spawning held, before the first keeper is there.
func (p *Pool) startGuard() {
	children := make(chan os.Signal, 1) // One is enough: each means "look at all".
	signal.Notify(children, unix.SIGCHLD)
	p.stopGuard = make(chan struct{})
	go p.guard(children, p.stopGuard)
}

// endGuard is called with p.spawning held, when there may be no keeper any more.
func (p *Pool) endGuard() {
	if len(p.keepers) == 0 {
		close(p.stopGuard)
	}
}

func (p *Pool) wakeStopped() {
	p.spawning.Lock()
	defer p.spawning.Unlock()
	for pid, h := range p.keepers {
		var info unix.Siginfo
		// Of one who was continued already only the fact is of interest.
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WCONTINUED|unix.WNOHANG, nil)
		if err != nil || info.Signo == 0 {
			continue
		}
		h.stopped.Store(true) // Before it can tell of its job's end.
		if info.Code != cldContinued {
			_ = h.proc.Signal(unix.SIGCONT) // It fails only when the keeper has ended.
		}
	}
}

// cldContinued is what waitid calls a process that goes on, CLD_CONTINUED.
const cldContinued = 6
