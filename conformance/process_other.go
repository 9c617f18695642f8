//go:build !unix

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// signalNumbers lists the signals that a session can send to the server.
var signalNumbers = map[string]int{"TERM": 1, "INT": 1, "HUP": 1, "KILL": 1, "STOP": 1, "CONT": 1}

func signalServer(cmd *exec.Cmd, name string) error {
	if name == "KILL" {
		return cmd.Process.Kill()
	}
	return &skipError{fmt.Sprintf("%s has no signal %s", runtime.GOOS, name)}
}

// alive reports whether a process exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // It was opened only for the check.
	return true
}
