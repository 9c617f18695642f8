package proc

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Image returns a text that identifies the program image of a process. It changes with each execve, even of the same
// file, since the kernel places the program's stack and code at other addresses.
func Image(pid int) (string, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	b, err := os.ReadFile(dir + "stat")
	if err != nil {
		return "", err
	}
	fields := statFields(b)
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

// StartedWith reports whether a text occurs in the arguments or the environment with which the current program of a
// process was executed. If another program has replaced it by execve, the text is gone, unless that program was given
// it too. StartedWith may block for any time if a process is stuck in the kernel.
func StartedWith(pid int, text string) (bool, error) {
	before, err := executedWith(pid, text)
	if err != nil || bytes.Contains(before, []byte(text)) {
		return err == nil, err
	}
	// A process that ends has neither. During an execve, arguments and environment may be empty, the old ones, or part
	// of the new ones.
	after, err := executedWith(pid, text)
	if err == nil && !bytes.Equal(before, after) {
		err = unix.EAGAIN
	}
	return false, err
}

// executedWith returns the arguments of a process. If they do not contain the text, it appends the environment, which
// needs more permissions to read. It returns ESRCH if there are no arguments: every running program has at least one.
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
	if err == nil && len(environment) == 0 && !hasEnvironment(dir) {
		err = unix.EAGAIN
	}
	return append(arguments, environment...), err
}

// hasEnvironment reports whether the environment of a process has a place. It may be empty there. During an execve it has
// none for a moment, and reads as empty.
func hasEnvironment(dir string) bool {
	b, err := os.ReadFile(dir + "stat")
	fields := statFields(b)
	const envEnd = 51 - 3
	return err == nil && len(fields) > envEnd && fields[envEnd] != "0"
}

// statFields returns the fields of /proc/PID/stat from the third on. The name, in parentheses, may contain any bytes.
func statFields(stat []byte) []string {
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	return strings.Fields(rest)
}

// identity returns the device and inode of the file that a path leads to. It works even if the file has no name any
// more, as after an upgrade. It uses the attributes that the kernel has cached, so that it does not wait for a file
// server.
func identity(path string) (device, inode uint64, err error) {
	var x unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &x)
	if err == nil {
		return unix.Mkdev(x.Dev_major, x.Dev_minor), x.Ino, nil
	}
	if err != unix.ENOSYS && err != unix.EPERM { // EPERM: a seccomp filter that does not know the call
		return 0, 0, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err = unix.Stat(path, &st); err != nil {
		return 0, 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return uint64(st.Dev), st.Ino, nil
}

// Memory returns a new, empty file in memory, which has no path. name only appears in /proc.
func Memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
