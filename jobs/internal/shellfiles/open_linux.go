package shellfiles

import (
	"fmt"
	"os"
	"syscall"

	"shelld.dev/shelld/jobs/internal/proc"
)

// Supported reports whether this system has what the files take.
const Supported = true

// open makes the pipe and the scratch memory. Neither has a name in any directory. The shell opens both by paths that
// cease to exist when this server ends.
func (f *Files) open() (err error) {
	if f.Read, f.Write, err = os.Pipe(); err != nil {
		return err
	}
	if f.scratch, err = proc.Memory("shelld shell"); err != nil {
		return err
	}
	if f.ScratchPath, err = pathOf(f.scratch); err != nil {
		return err
	}
	f.CommandPath, err = pathOf(f.Read)
	return err
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
