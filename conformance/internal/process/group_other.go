//go:build !unix

package process

import (
	"os"
	"os/exec"
)

// OwnGroup does nothing: there are no process groups.
func OwnGroup(*exec.Cmd) {}

// KillGroup kills the process.
func KillGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // Usually it has ended.
}

// ExitStatus returns the exit status.
func ExitStatus(s *os.ProcessState) int { return s.ExitCode() }
