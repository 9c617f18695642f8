//go:build linux

// Reap runs a command, and sees to what it leaves behind: it takes the place of a system whose
// process 1 waits for nobody, where what has ended would fill the table of processes, and it fails
// if something lives on for seconds after the command.
//
//	go build -o reap .ci/reap.go && reap COMMAND...
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	patience          = 10 * time.Second
)

func main() {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		fmt.Fprintln(os.Stderr, "reap:", errno)
		os.Exit(2)
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "reap:", err)
		os.Exit(2)
	}
	status := await(cmd.Process.Pid)
	if left := leftBehind(); len(left) > 0 {
		for _, l := range left {
			fmt.Fprintln(os.Stderr, "left behind:", l)
		}
		status = max(status, 1)
	}
	os.Exit(status)
}

// await reaps whoever ends until the command has.
func await(command int) int {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err != nil && err != syscall.EINTR:
			fmt.Fprintln(os.Stderr, "reap:", err)
			return 2
		case pid == command && ws.Signaled():
			return 128 + int(ws.Signal())
		case pid == command:
			return ws.ExitStatus()
		}
	}
}

// leftBehind tells of those that live after some patience, and kills them. The go command has a
// process of its own that sends what it counts, or not.
func leftBehind() (left []string) {
	end := time.Now().Add(patience)
	for {
		var ws syscall.WaitStatus
		for {
			if pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil); err != nil || pid == 0 {
				break
			}
		}
		left = left[:0]
		pids := children()
		for _, pid := range pids {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			name, _, _ := bytes.Cut(line, []byte{0})
			if filepath.Base(string(name)) != "go" {
				left = append(left, fmt.Sprintf("%d %q", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL) // It may have ended.
			}
			return left
		}
		time.Sleep(50 * time.Millisecond) // Nobody tells of the ends of those who are no children yet.
	}
}

func children() (pids []int) {
	me := []byte(" " + strconv.Itoa(os.Getpid()) + " ")
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // It has ended.
		}
		rest := stat[bytes.LastIndexByte(stat, ')')+1:] // " STATE PPID …"
		if len(rest) > 2 && rest[1] != 'Z' && bytes.HasPrefix(rest[2:], me) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}
