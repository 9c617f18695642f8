package direct

import (
	"bytes"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/proc"
)

// Here Linux plays the part of macOS, so that the shared code can be tested with real processes. No server uses it:
// package keeper does more than this can.
type linuxSystem struct{ parent }

func newSystem(*slog.Logger) system { return linuxSystem{} }

func (linuxSystem) processes() ([]process, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = proc.Close() }() // Nothing was written.
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			p, alive, err := readStat(pid)
			if err != nil {
				return nil, err // Without it, living processes cannot be distinguished from others.
			}
			if alive {
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// statusOf decodes the result of wait4.
func statusOf(ws syscall.WaitStatus) status {
	switch {
	case ws.Stopped():
		return status{kind: hasStopped, signal: ws.StopSignal()}
	case ws.Continued():
		return status{kind: goesOn}
	case ws.Signaled():
		return status{code: -1, signal: ws.Signal(), core: ws.CoreDump()}
	}
	return status{code: ws.ExitStatus()}
}

func (linuxSystem) find(pid int) (process, bool) {
	p, alive, _ := readStat(pid) // The caller scans all of them again.
	return p, alive
}

// readStat reads /proc/PID/stat. A name may contain anything, even parentheses. With an error nothing is known of the
// process.
func readStat(pid int) (p process, alive bool, err error) {
	// Package os takes three times as long, for each of all processes.
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return p, false, unlessGone(err)
	}
	var buf [1024]byte
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd) // Nothing was written.
	text := buf[:max(n, 0)]
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if err != nil || open < 0 || end < open {
		return p, false, unlessGone(err)
	}
	fields := strings.Fields(string(text[end+1:])) // from the state, field 3, on
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return p, false, nil
	}
	number := func(field int) int {
		n, _ := strconv.Atoi(fields[field-3]) // The kernel writes numbers.
		return n
	}
	start, _ := strconv.ParseUint(fields[22-3], 10, 64) // As above.
	return process{
		pid: pid, ppid: number(4), pgid: number(5), sid: number(6), foreground: number(8),
		start: start, name: string(text[open+1 : end]), stopped: fields[0] == "T",
	}, true, nil
}

// unlessGone returns err, unless it means that the process has ended or may not be inspected.
func unlessGone(err error) error {
	for _, gone := range []error{unix.ENOENT, unix.ESRCH, unix.EACCES, unix.EPERM} {
		if err == gone {
			return nil
		}
	}
	return err
}

func (linuxSystem) command(pid int) string { return proc.CommandLine(pid) }

// watch uses a pidfd in Go's poller: it becomes readable when the process ends.
func (linuxSystem) watch(p process, ended func()) (forget func(), err error) {
	fd, err := unix.PidfdOpen(p.pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	raw, err := f.SyscallConn()
	if now, ok, _ := readStat(p.pid); err == nil && (!ok || now.start != p.start) {
		err = unix.ESRCH
	}
	if err != nil {
		_ = f.Close() // Nothing was written.
		return nil, err
	}
	go func() {
		err := raw.Read(func(uintptr) bool {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(fds, 0)
			return err != nil || n > 0
		})
		if err == nil { // otherwise it was forgotten
			ended()
		}
	}()
	return func() { _ = f.Close() }, nil // As above.
}

func (linuxSystem) close() {}
