package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// TerminalCounts is where Linux tells of its terminals.
const TerminalCounts = "/proc/sys/kernel/pty"

// Terminals returns how many terminals are in use on this machine, and how many there
// can be; false where the directory does not tell. In a container there may be fewer:
// the kernel keeps some for the host, and refuses them itself.
func Terminals(dir string) (inUse, most int, ok bool) {
	inUse, ok = number(filepath.Join(dir, "nr"))
	if ok {
		most, ok = number(filepath.Join(dir, "max"))
	}
	return inUse, most, ok && most > 0
}

func number(path string) (int, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	return n, err == nil
}
