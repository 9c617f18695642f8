package proc

import (
	"bytes"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// TerminalCounts is where Linux tells of its terminals.
const TerminalCounts = "/proc/sys/kernel/pty"

// Terminals returns how many terminals are in use on this machine, and how many there
// can be, as the directory tells. In a container there may be fewer: the kernel keeps
// some for the host, and refuses them itself.
func Terminals(dir string) (inUse, most int, err error) {
	if inUse, err = number(filepath.Join(dir, "nr")); err != nil {
		return 0, 0, err
	}
	most, err = number(filepath.Join(dir, "max"))
	return inUse, most, err
}

// number reads a small file with a number. Every start of a job on a terminal does: with
// os.ReadFile, which asks what kind of file it is and whether it can be polled, each took
// seven calls of the system.
func number(path string) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	var buf [32]byte
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd) // Nothing was written.
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(buf[:n])))
}
