package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// childrenLeft returns an error if this process has a child, dead or alive.
func childrenLeft() error {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if errors.Is(err, unix.ECHILD) {
		return nil
	}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	var pids []byte
	for _, l := range lists {
		b, _ := os.ReadFile(l) // A thread may end meanwhile.
		pids = append(pids, b...)
	}
	return fmt.Errorf("there are children left: %s", pids)
}

// strangersLeft returns an error if any process has the mark of these tests in its environment, whatever its parent.
func strangersLeft() error {
	want := []byte(markName + "=" + mark + "\x00")
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, f := range files {
		env, _ := os.ReadFile(f) // It may be gone, or not ours.
		if bytes.Contains(env, want) {
			dir := filepath.Dir(f)
			cmd, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // As above.
			return fmt.Errorf("process %s of a job is alive: %s", filepath.Base(dir), strings.ReplaceAll(string(cmd), "\x00", " "))
		}
	}
	return nil
}
