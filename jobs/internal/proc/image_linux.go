package proc

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Image names what a process executes: it is another one after each execve, even of the same
// file, since the kernel puts the program's stack and code elsewhere.
func Image(pid int) (string, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	b, err := os.ReadFile(dir + "stat")
	if err != nil {
		return "", err
	}
	// The name, in parentheses, may have any bytes; then come the fields from the third on.
	_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	fields := strings.Fields(rest)
	const startCode, startStack = 26 - 3, 28 - 3
	if len(fields) <= startStack {
		return "", fmt.Errorf("%sstat has %d fields", dir, len(fields)+2)
	}
	exe, err := os.Readlink(dir + "exe")
	return exe + " " + fields[startCode] + " " + fields[startStack], err
}

// Memory is a file that has no name, and is memory alone.
func Memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
