//go:build unix

package conformance

import (
	"os/exec"
	"syscall"
)

// signalNumbers lists the signals that a session can send to the server.
var signalNumbers = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
}

func signalServer(cmd *exec.Cmd, name string) error { return cmd.Process.Signal(signalNumbers[name]) }

// alive reports whether a process exists, including zombies of other parents.
func alive(pid int) bool {
	reap(pid)
	return syscall.Kill(pid, 0) != syscall.ESRCH
}
