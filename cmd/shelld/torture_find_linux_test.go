package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A process is one that a test must be able to identify later.
type process struct {
	pid     int
	start   string // in clock ticks since boot; distinguishes a reused PID
	command string
	mark    uint64 // its soft limit of file locks
}

// String begins with the PID, as awaitExit requires.
func (p process) String() string { return fmt.Sprintf("%d (%s)", p.pid, p.command) }

// newTortureMark returns a unique limit.
func newTortureMark() uint64 { return 1<<40 + rand.Uint64N(1<<60) }

// processOf returns a process, unless it has ended.
func processOf(pid int) (p process, alive bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return p, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	// A leader whose first thread has ended is a zombie with threads.
	if dead := fields[0] == "Z" || fields[0] == "X"; dead && fields[17] == "1" {
		return p, false
	}
	limits, _ := os.ReadFile(dir + "/limits")
	command, _ := os.ReadFile(dir + "/cmdline")
	return process{
		pid: pid, start: fields[19], mark: lockLimit(limits),
		command: strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " ")),
	}, true
}

func lockLimit(limits []byte) uint64 {
	for line := range strings.Lines(string(limits)) {
		if rest, ok := strings.CutPrefix(line, "Max file locks"); ok {
			n, _ := strconv.ParseUint(strings.Fields(rest)[0], 10, 64) // "unlimited" becomes 0.
			return n
		}
	}
	return 0
}

// left lists the living processes of the server's jobs: those with the mark of a job, and those that have reported
// themselves. With all, it includes those with the server's own mark.
func (s *tortureServer) left(all bool) (list []process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := map[uint64]bool{s.mark: all}
	told := map[string]bool{}
	for _, j := range s.jobs {
		wanted[j.mark] = true
		for _, p := range j.told {
			told[strconv.Itoa(p.pid)+" "+p.start] = true
		}
	}
	// A process that forks and ends every millisecond is often missed by a single scan of /proc.
	for range 20 {
		for _, pid := range newestFirst() {
			if p, alive := processOf(pid); alive && (wanted[p.mark] || told[strconv.Itoa(pid)+" "+p.start]) {
				list = append(list, p)
			}
		}
		if len(list) > 0 {
			break
		}
	}
	return list
}

// newestFirst lists the processes in descending order, so that a new process is examined before it can end.
func newestFirst() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	slices.Reverse(pids)
	return pids
}
