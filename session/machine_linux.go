package session

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
)

// startTicks returns the start time of a process in clock ticks since boot.
func startTicks(pid int) (uint64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	// The name of the program, in parentheses, may contain anything.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 20 {
		return 0, errors.New("the state of the process cannot be read")
	}
	return strconv.ParseUint(f[19], 10, 64)
}

func bootID() string { return firstLine("/proc/sys/kernel/random/boot_id") }

func machineID() string { return firstLine("/etc/machine-id") }

// firstLine returns the text of a file, or "" if there is none.
func firstLine(path string) string {
	b, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}
