//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup makes cmd start in a process group of its own, so that all its processes can be killed together.
func OwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// KillGroup kills the remaining processes of the group of cmd.
func KillGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // Usually the group is empty.
}

// ExitStatus returns the exit status as shells report it: 128 and the signal's number if a signal ended the process.
func ExitStatus(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
