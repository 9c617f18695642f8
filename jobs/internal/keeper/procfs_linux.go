package keeper

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Reading /proc uses bare system calls: os.File would try to register each file with the poller, and a fork bomb has to
// be read faster than it forks.

// A procStat is the content of /proc/PID/stat.
type procStat struct {
	pid, ppid, pgid, sid int
	comm                 string
	state                byte
	tty                  int // device number of the controlling terminal; 0: none
	threads              int
	start                uint64 // clock ticks since boot: distinguishes processes with the same pid
	forked               bool   // it runs the program of its parent: no execve yet
	handlesTERM          bool   // it has a handler for TERM
	hidden               bool   // /proc does not show it; childStat does
}

// alive reports whether the process is alive. A zombie is, if only its first thread has ended.
func (s procStat) alive() bool {
	return s.state != 'Z' && s.state != 'X' || s.threads > 1
}

// awake reports whether the process may be forking now: vfork waits in state D.
func (s procStat) awake() bool { return s.state == 'R' || s.state == 'D' || s.hidden }

// forkNoExec is the kernel's PF_FORKNOEXEC, among the flags in /proc/PID/stat.
const forkNoExec = 0x40

// readStat returns the state of a process. If its file cannot be read and it is a child of this process, the result
// comes from wait. For any other process, isNotThere distinguishes an error that means that it has ended or is hidden
// from one that means nothing about it.
func readStat(pid int) (procStat, error) {
	text, err := slurp(procPath(pid, "stat"), 1024) // the fields in use are in the first half
	if err != nil {
		if st, ok := childStat(pid); ok {
			return st, nil
		}
		return procStat{}, err
	}
	return parseStat(text)
}

// parseStat parses the text after its last parenthesis, because a comm may contain anything.
func parseStat(text []byte) (procStat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return procStat{}, unix.EBADMSG
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 20 {
		return procStat{}, unix.EBADMSG
	}
	field := func(i int) int { // counted as in proc(5), where state is 3
		n, _ := strconv.Atoi(string(fields[i-3]))
		return n
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text[:open])))
	if err != nil {
		return procStat{}, unix.EBADMSG
	}
	start, err := strconv.ParseUint(string(fields[22-3]), 10, 64)
	if err != nil {
		return procStat{}, unix.EBADMSG
	}
	return procStat{
		pid: pid, comm: string(text[open+1 : end]), state: fields[0][0],
		ppid: field(4), pgid: field(5), sid: field(6), tty: field(7), threads: field(20), start: start,
		forked:      field(9)&forkNoExec != 0,
		handlesTERM: len(fields) > 34-3 && field(34)&(1<<(unix.SIGTERM-1)) != 0,
	}, nil
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// slurp reads a file up to limit bytes.
func slurp(path string, limit int) ([]byte, error) {
	fd, err := openRetry(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	return readAll(fd, limit)
}

// readAll reads a file from its beginning, up to limit bytes.
func readAll(fd, limit int) ([]byte, error) {
	buf := make([]byte, min(limit, 4096))
	at := 0
	for {
		n, err := unix.Pread(fd, buf[at:], int64(at))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if at += n; n == 0 || at >= limit {
			return buf[:at], nil
		}
		if at == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

// begin returns as much of a file as fits into buf.
func begin(path string, buf []byte) string {
	fd, err := openRetry(path, unix.O_RDONLY)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return string(buf[:max(n, 0)])
		}
	}
}

func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// names lists a directory of /proc, at most limit entries of it. With an error the list is incomplete.
func names(path string, limit int) (list []string, err error) {
	fd, err := openRetry(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, 4096)
	for len(list) < limit {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return list, err
		}
		_, _, list = unix.ParseDirent(buf[:n], limit-len(list), list)
	}
	return list, nil
}

// describe adds details that stat does not contain. marks are the links that show a holder of the job's output.
func describe(st procStat, marks []string) Proc {
	return Proc{
		PID: st.pid, PPID: st.ppid, PGID: st.pgid, SID: st.sid,
		Comm:          st.comm,
		Command:       commandLine(st),
		HoldsTerminal: holds(st, marks),
	}
}

const maxCommand = 256

func commandLine(st procStat) string {
	text, _ := slurp(procPath(st.pid, "cmdline"), maxCommand)
	text = bytes.TrimRight(text[:min(len(text), maxCommand)], "\x00")
	if len(text) == 0 {
		return "[" + st.comm + "]"
	}
	return strings.ToValidUTF8(string(bytes.ReplaceAll(text, []byte{0}, []byte{' '})), "?")
}

// holds reports whether a process holds the job's output, as far as its descriptors can be read. /dev/tty is the job's
// terminal only for a process that has it as controlling terminal.
func holds(st procStat, marks []string) bool {
	if len(marks) == 0 {
		return false
	}
	pid := strconv.Itoa(st.pid)
	terminal := strings.HasPrefix(marks[0], "/dev/")
	fds, _ := names("/proc/"+pid+"/fd", 1<<12) // Those of another user are not listed.
	for _, fd := range fds {
		link := fdLink(pid, fd)
		if slices.Contains(marks, link) || terminal && link == "/dev/tty" && st.tty != 0 && st.tty == ownTTY() {
			return true
		}
	}
	return false
}

// ownTTY returns the device number of this process's controlling terminal.
func ownTTY() int {
	st, err := readStat(unix.Getpid())
	if err != nil {
		return 0
	}
	return st.tty
}
