//go:build unix

package conformance

import (
	"os"
	"os/exec"
	"syscall"
)

// signalNumbers are what a session can send to the server.
var signalNumbers = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
}

// ownGroup starts the server in a process group of its own, to be ended as one.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends what is left of the server's group.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // As a rule nobody is left.
}

func signalServer(cmd *exec.Cmd, name string) error { return cmd.Process.Signal(signalNumbers[name]) }

// alive says whether there is a process, be it a zombie of somebody else's.
func alive(pid int) bool {
	reap(pid)
	return syscall.Kill(pid, 0) != syscall.ESRCH
}

// exitStatus is a process's, as shells tell it.
func exitStatus(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
