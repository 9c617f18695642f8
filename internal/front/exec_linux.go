package front

import (
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// processName is the front's argv[0] and comm. It differs from the host's, so that a pkill by that name does not
	// hit both.
	processName = "shelld-front"
	linkFD      = 3
)

// reapTime is how long the end of a host takes at most, once it has closed its descriptors.
const reapTime = time.Second

// environment is a front's whole environment. It collects no garbage, of which it makes next to none, starts with the
// resources of one processor, and profiles nothing.
var environment = []string{"GOGC=off", "GOMEMLIMIT=16MiB", "GOMAXPROCS=1", "GODEBUG=memprofilerate=0"}

// Become makes this process a front, which ends by itself. If it returns, that was not possible.
func (f Front) Become() error {
	fd, err := unix.FcntlInt(f.Link.Fd(), unix.F_DUPFD_CLOEXEC, linkFD+1)
	if err != nil {
		return err
	}
	// The front inherits the link and stderr alone: it has no use for the others, and as long as it holds the end of
	// another program's pipe, the pipe does not end.
	if err := CloseOnExec(linkFD); err != nil {
		return err
	}
	if err := unix.Dup3(fd, linkFD, 0); err != nil {
		return err
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for standard := range 2 { // The host has them.
		if err := unix.Dup3(null, standard, 0); err != nil {
			return err
		}
	}
	args := []string{processName, strconv.Itoa(f.Host), f.Again}
	return &os.SyscallError{Syscall: "execve", Err: unix.Exec("/proc/self/exe", args, environment)}
}

// isFront reports whether this process was started by Become.
func isFront() bool {
	if len(os.Args) != 3 || os.Args[0] != processName {
		return false
	}
	kind, err := unix.GetsockoptInt(linkFD, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_STREAM
}

// The front runs in here and never returns. See package keeper, which does the same.
func init() {
	if !isFront() {
		return
	}
	unix.CloseOnExec(linkFD)
	setName(processName)
	host, _ := strconv.Atoi(os.Args[1]) // It was written by Become.
	f := Front{Link: os.NewFile(linkFD, "link"), Host: host, Again: os.Args[2]}
	unix.Exit(f.Wait())
}

// setName sets the name of the process, which would otherwise be exe after its file.
func setName(name string) {
	text, err := unix.BytePtrFromString(name)
	if err == nil {
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(text)), 0, 0, 0) // Best effort.
	}
}

// reap removes the ended host from the list of processes, if it is a child of this process.
func (f Front) reap() {
	if f.Host <= 0 {
		return
	}
	reaped := make(chan struct{})
	go func() {
		_, _ = unix.Wait4(f.Host, nil, 0, nil) // After an error it is not a child.
		close(reaped)
	}()
	select {
	case <-reaped:
	case <-time.After(reapTime): // It has closed the link, and lives on.
	}
}
