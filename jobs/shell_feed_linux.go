package jobs

import (
	"fmt"
	"os"
	"syscall"

	"shelld/jobs/internal/proc"
)

// open makes the pipe and the scratch memory, and returns the path of the pipe. Neither has a name in any directory.
// The shell opens both by paths that cease to exist when this server ends.
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

// pathOf returns a path by which other processes of the same user can open the file f of this process.
func pathOf(f *os.File) (path string, err error) {
	c, err := f.SyscallConn()
	if err == nil {
		err = c.Control(func(fd uintptr) { path = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd) })
	}
	return path, err
}

// readNow reads the available data without waiting.
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

// ShellIntegration returns the shell families that can have the integration on this system.
func ShellIntegration() []string { return []string{"bash", "fish", "zsh"} }
