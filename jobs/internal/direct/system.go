//go:build linux || darwin

package direct

import (
	"syscall"

	"shelld/jobs/internal/keeper"
)

// A process is what a look at the system tells of one. Start tells it from others that
// have the same pid at other times; its unit is the system's.
type process struct {
	pid, ppid, pgid, sid int
	foreground           int // the foreground group of its controlling terminal; 0 or less without one
	start                uint64
	name                 string // the kernel's short name
	stopped              bool   // by a signal
}

// A system is what a job needs of the operating system.
type system interface {
	// start runs the command as the leader of a session of its own, with cmd.Terminal
	// as its controlling terminal, and returns its pid. The error is a
	// *keeper.StartError.
	start(cmd keeper.Command) (pid int, err error)
	// wait takes a child's status without waiting for one; ok is false where there is
	// none. After one that says that it has ended, the pid may be another's. That a
	// child goes on may be told late, or after it was stopped again: its state tells.
	wait(pid int) (st status, ok bool)
	// processes lists all processes that live; zombies do not.
	processes() ([]process, error)
	// find looks at one of them again.
	find(pid int) (process, bool)
	// command tells the arguments of one, joined by spaces; "" where they cannot be read.
	command(pid int) string
	// kill is kill(2); a negative pid is a process group.
	kill(pid int, sig syscall.Signal) error
	// watch has ended called, once and from another goroutine, when the process ends.
	// The error is ESRCH where that has happened already. After forget, ended is not
	// called any more but for a call that goes on.
	watch(p process, ended func()) (forget func(), err error)
	// close lets go of what watch has needed. Nothing is watched any more.
	close()
}
