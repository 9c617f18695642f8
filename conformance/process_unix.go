//go:build unix

package conformance

import (
	"os/exec"
	"syscall"
)

// signalNumbers are what a session can send to the server.
var signalNumbers = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
}

func signalServer(cmd *exec.Cmd, name string) error { return cmd.Process.Signal(signalNumbers[name]) }

// alive says whether there is a process, be it a zombie of somebody else's.
func alive(pid int) bool {
	reap(pid)
	return syscall.Kill(pid, 0) != syscall.ESRCH
}
