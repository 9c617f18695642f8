package proc

import (
	"bytes"
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
	device, inode, err := identity(dir + "exe")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d:%d %s %s", device, inode, fields[startCode], fields[startStack]), nil
}

// StartedWith says whether a text stands in what a process was executed with: its arguments, or its
// environment. Another program that has taken its place was not, unless it was given them. It may take as long
// as a process that is stuck in the kernel likes.
func StartedWith(pid int, text string) (bool, error) {
	before, err := executedWith(pid, text)
	if err != nil || bytes.Contains(before, []byte(text)) {
		return err == nil, err
	}
	// One that ends has neither, and one that is executed just then has none, the old ones, or half of the new.
	after, err := executedWith(pid, text)
	if err == nil && !bytes.Equal(before, after) {
		err = unix.EAGAIN
	}
	return false, err
}

// executedWith are the arguments of a process, of which there is one at least, and where the text does not stand
// there its environment, at which fewer may look.
func executedWith(pid int, text string) ([]byte, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	arguments, err := os.ReadFile(dir + "cmdline")
	if err != nil {
		return nil, err
	}
	switch {
	case len(arguments) == 0:
		return nil, unix.ESRCH
	case bytes.Contains(arguments, []byte(text)):
		return arguments, nil
	}
	environment, err := os.ReadFile(dir + "environ")
	return append(arguments, environment...), err
}

// identity is the file that a path leads to, whatever its name is by now: an upgrade removes that.
// What the kernel knows already is enough, so that no file server is waited for.
func identity(path string) (device, inode uint64, err error) {
	var x unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &x)
	if err == nil {
		return unix.Mkdev(x.Dev_major, x.Dev_minor), x.Ino, nil
	}
	if err != unix.ENOSYS && err != unix.EPERM { // EPERM: a filter that does not know the call
		return 0, 0, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err = unix.Stat(path, &st); err != nil {
		return 0, 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return uint64(st.Dev), st.Ino, nil
}

// Memory is a file that has no name, and is memory alone.
func Memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
