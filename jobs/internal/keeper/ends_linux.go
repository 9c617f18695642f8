package keeper

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ends reports which keepers have ended, by their pidfds. While another process traces a child, the kernel reports the
// child's end to its parent neither by SIGCHLD nor by waitid until the tracer lets go of it; a pidfd reports the end at
// once.
type ends struct {
	set *os.File // an epoll instance with the pidfds; it is in Go's poller itself
	raw syscall.RawConn
}

func newEnds() (*ends, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // otherwise os.File treats it as blocking
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	set := os.NewFile(uintptr(fd), "ends of keepers")
	raw, err := set.SyscallConn()
	if err != nil {
		_ = set.Close()
		return nil, err
	}
	return &ends{set: set, raw: raw}, nil
}

// add registers a process. Its end is reported once. Its pidfd leaves the set when it is closed, after the process was
// reaped. Without pidfds, before Linux 5.4, the error is os.ErrNoHandle.
func (e *ends) add(proc *os.Process) error {
	var failed error
	err := proc.WithHandle(func(handle uintptr) {
		event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(proc.Pid)}
		closed := e.raw.Control(func(set uintptr) {
			failed = unix.EpollCtl(int(set), unix.EPOLL_CTL_ADD, int(handle), &event)
		})
		if closed != nil {
			failed = closed
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// wait waits until processes have ended and returns the pids of some of them, or nil when the set was closed. A pid may
// already belong to another process.
func (e *ends) wait() []int {
	var pids []int
	closed := e.raw.Read(func(set uintptr) (done bool) {
		var events [64]unix.EpollEvent
		n, err := unix.EpollWait(int(set), events[:], 0)
		for err == unix.EINTR {
			n, err = unix.EpollWait(int(set), events[:], 0)
		}
		for _, event := range events[:max(n, 0)] {
			pids = append(pids, int(event.Fd))
		}
		return n != 0
	})
	if closed != nil {
		return nil
	}
	return pids
}

// watchEnds makes the reader of each ended keeper read its socket only until it is empty. It runs as long as the guard
// does.
func (p *Pool) watchEnds(e *ends) {
	for pids := e.wait(); pids != nil; pids = e.wait() {
		p.spawning.Lock()
		for _, pid := range pids {
			if h := p.keepers[pid]; h != nil && h.pollEnd(0) {
				h.noticeDeath()
			}
		}
		p.spawning.Unlock()
	}
}
