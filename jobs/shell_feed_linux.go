package jobs

import (
	"fmt"
	"os"
	"syscall"

	"shelld/jobs/internal/proc"
)

// open makes the pipe and the scratch memory. The shell opens them by paths that end with this
// server: neither has a name in any directory. It returns that of the pipe.
func (f *shellFiles) open() (path string, err error) {
	if f.read, f.write, err = os.Pipe(); err != nil {
		return "", err
	}
	if f.scratch, err = proc.Memory("shelld shell"); err != nil {
		return "", err
	}
	if f.scratchPath, err = pathOf(f.scratch); err != nil {
		return "", err
	}
	return pathOf(f.read)
}

// pathOf is a path by which other processes of the same user open what this one has open.
func pathOf(f *os.File) (path string, err error) {
	c, err := f.SyscallConn()
	if err == nil {
		err = c.Control(func(fd uintptr) { path = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd) })
	}
	return path, err
}

// readNow reads what is there.
func readNow(f *os.File, b []byte) (n int, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	if cerr := c.Read(func(fd uintptr) bool { n, err = syscall.Read(int(fd), b); return true }); cerr != nil {
		return 0, cerr
	}
	return n, err
}

const interruptSignal = syscall.SIGINT

// ShellIntegration are the shells that can be given it here, by the names of their families.
func ShellIntegration() []string { return []string{"bash", "fish", "zsh"} }
