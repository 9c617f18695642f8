package jobs

import (
	"fmt"
	"os"
	"syscall"
)

// openPipe returns the path by which the shell opens the pipe: no name of it is left in any
// directory.
func (f *shellFiles) openPipe() (path string, err error) {
	if f.read, f.write, err = os.Pipe(); err != nil {
		return "", err
	}
	c, err := f.read.SyscallConn()
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
