//go:build linux || darwin

package direct

import (
	"syscall"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// A process is one entry in the system's list of processes. start distinguishes it from others that have the same pid
// at other times; its unit depends on the system.
type process struct {
	pid, ppid, pgid, sid int
	foreground           int // the foreground group of its controlling terminal; 0 or less without one
	start                uint64
	name                 string // the kernel's short name
	stopped              bool   // by a signal
}

// A system is the part of the operating system that a job needs.
type system interface {
	// start runs the command as the leader of a session of its own, with cmd.Terminal
	// as its controlling terminal, and returns its pid. The error is a
	// *keeper.StartError.
	start(cmd keeper.Command) (pid int, err error)
	// wait takes a child's status without blocking; ok is false if there is none. After a status with hasEnded, the pid
	// may be reused. A goesOn may be reported late, or after the child was stopped again: its state shows which.
	wait(pid int) (st status, ok bool)
	// processes lists all living processes, without zombies.
	processes() ([]process, error)
	// find inspects one of them again.
	find(pid int) (process, bool)
	// command returns the arguments of a process, joined by spaces; "" if they cannot be read.
	command(pid int) string
	// kill is kill(2); a negative pid is a process group.
	kill(pid int, sig syscall.Signal) error
	// watch registers ended, which is called once, from another goroutine, when the process ends. The error is ESRCH if
	// it has ended already. After forget, ended is not called any more, except for a call in progress.
	watch(p process, ended func()) (forget func(), err error)
	// close releases the resources of watch. Nothing is watched any more.
	close()
}
