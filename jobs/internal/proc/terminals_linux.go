package proc

import (
	"bytes"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// TerminalCounts is the directory in which Linux reports the number of its terminals.
const TerminalCounts = "/proc/sys/kernel/pty"

// Terminals returns how many terminals are in use on this machine, and how many there can be, as reported in the
// directory. In a container fewer may be available: the kernel reserves some for the host, and refuses to open these.
func Terminals(dir string) (inUse, most int, err error) {
	if inUse, err = number(filepath.Join(dir, "nr")); err != nil {
		return 0, 0, err
	}
	most, err = number(filepath.Join(dir, "max"))
	return inUse, most, err
}

// number reads a small file that contains a number. Every start of a job on a terminal calls it. It does not use
// os.ReadFile, which takes seven system calls, since it asks for the kind of the file and whether it can be polled.
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
