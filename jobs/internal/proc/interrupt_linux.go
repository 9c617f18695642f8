package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// handlerEvery is the time between two probes for a handler. A bash that runs short commands has none for a few
// percent of its time.
const handlerEvery = 100 * time.Microsecond

// InterruptBash sends SIGINT to a process that executes bash, and to no other one, when it neither catches, ignores nor
// blocks that: while bash waits for a child it catches SIGINT, and drops it if the child does not die of it. A bash
// with a trap for SIGINT always catches it, and is sent nothing. InterruptBash repeats that for the time that is given,
// or until the process has ended. It reports whether it has sent a signal, and whether there is a bash that goes on.
func InterruptBash(pid int, patience time.Duration) (sent, runs bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(fd)
	if !isBash(pid) { // From here on the descriptor names this process, even if the number passes to another one.
		return false, false
	}
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(handlerEvery) {
		ended, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if ended > 0 || err != nil && err != unix.EINTR {
			return sent, false
		}
		if diesOf(pid, unix.SIGINT) && unix.PidfdSendSignal(fd, unix.SIGINT, nil, 0) == nil {
			sent = true
		}
	}
	return sent, true
}

// isBash reports whether a process executes a file named bash, whatever name it was started by.
func isBash(pid int) bool {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && filepath.Base(strings.TrimSuffix(path, " (deleted)")) == "bash"
}

// diesOf reports whether a process neither catches, ignores nor blocks a signal at the moment.
func diesOf(pid int, sig unix.Signal) bool {
	masks := 0
	for line := range bytes.Lines(readSome(pid, "status", 8192)) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "SigBlk", "SigIgn", "SigCgt":
			mask, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
			if err != nil || mask&(1<<(sig-1)) != 0 {
				return false
			}
			masks++
		}
	}
	return masks == 3
}
