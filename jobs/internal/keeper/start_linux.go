package keeper

import (
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// onStart starts the command, and answers with its pid or the stage that failed. It returns false after a failure: this
// keeper may own a terminal by then, and the server can take another keeper.
func (k *keeper) onStart(number, flags int, command []byte, fds []int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	stage, err := k.start(flags, command, fds)
	if err != nil {
		k.send(appendInt(appendInt([]byte{opFailed}, slices.Index(stages[:], stage)), int(errnoOf(err))))
		return false
	}
	k.number = number
	k.send(appendInt([]byte{opStarted}, k.leader))
	go k.reap()
	if k.limits.Processes > 0 {
		go k.countProcesses(number)
	}
	return true
}

func errnoOf(err error) syscall.Errno {
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return unix.EIO
}

// start runs the stages in order. On return all descriptors are closed except the terminal.
func (k *keeper) start(flags int, command []byte, fds []int) (stage string, err error) {
	memfd, terminal, stdio, dir := assign(flags, fds)
	k.tty = terminal
	k.marks = outputMarks(terminal, stdio)
	defer closeAll(memfd, dir, terminal, stdio)
	for _, fd := range append(stdio[:], terminal) {
		_ = unix.SetNonblock(fd, false) // It fails only for "no terminal".
	}
	if memfd >= 0 {
		if command, err = readFile(memfd); err != nil {
			return StageKeeper, err
		}
	}
	c, err := decodeCommand(command)
	if err != nil {
		return StageKeeper, unix.EBADMSG
	}
	if terminal >= 0 {
		if err := unix.IoctlSetInt(terminal, unix.TIOCSCTTY, 0); err != nil {
			return StageTerminal, err
		}
	}
	if err := enter(dir, c.Dir); err != nil {
		return StageChdir, err
	}
	k.limits = c.Limits
	if c.Limits.byKernel() {
		k.leader, stage, err = forkLimited(c, stdio, terminal)
	} else if k.leader, err = forkImage(c, stdio, terminal); err != nil {
		stage = execStage(err)
	}
	_ = unix.Chdir("/") // Best effort: a failure only prevents unmounting the directory.
	return stage, err
}

// enter changes to the directory that was sent, or else to the one of that name.
func enter(dir int, name string) error {
	if dir >= 0 {
		return unix.Fchdir(dir)
	}
	return unix.Chdir(name)
}

// assign sorts the descriptors that came with opStart. A standard descriptor that was not sent is the terminal, or
// without a terminal the keeper's own, /dev/null.
func assign(flags int, fds []int) (memfd, terminal int, stdio [3]int, dir int) {
	next := func(bit int) int {
		if flags&bit == 0 || len(fds) == 0 {
			return -1
		}
		fd := fds[0]
		fds = fds[1:]
		return fd
	}
	memfd, terminal = next(startCommand), next(startTerminal)
	for i, bit := range []int{startStdin, startStdout, startStderr} {
		if stdio[i] = next(bit); stdio[i] < 0 {
			stdio[i] = max(terminal, 0)
		}
	}
	return memfd, terminal, stdio, next(startDirectory)
}

func closeAll(memfd, dir, terminal int, stdio [3]int) {
	for _, fd := range []int{memfd, dir} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	for _, fd := range stdio {
		if fd > socketFD && fd != terminal {
			_ = unix.Close(fd)
		}
	}
}

// outputMarks returns the links in /proc/PID/fd of the job's terminal, or else of its stdout and stderr if they are
// pipes.
func outputMarks(terminal int, stdio [3]int) []string {
	if terminal >= 0 {
		return []string{fdLink("self", strconv.Itoa(terminal))}
	}
	var marks []string
	for _, fd := range stdio[1:] {
		if link := fdLink("self", strconv.Itoa(fd)); strings.HasPrefix(link, "pipe:") {
			marks = append(marks, link)
		}
	}
	return marks
}

func fdLink(pid, fd string) string {
	buf := make([]byte, 256)
	n, err := unix.Readlink("/proc/"+pid+"/fd/"+fd, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func readFile(memfd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(memfd, &st); err != nil {
		return nil, err
	}
	buf := make([]byte, st.Size)
	for at := 0; at < len(buf); {
		n, err := unix.Pread(memfd, buf[at:], int64(at))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, unix.EBADMSG
		}
		at += n
	}
	return buf, nil
}

// forkImage starts the program, and returns its pid. It must run on the main thread: the parent-death signal, which
// ends the command if its keeper is killed, is bound to the thread that forks.
//
// On a terminal the child makes itself the foreground group before its execve, with all signals blocked: no command is
// ever stopped for being in the background. Package syscall unblocks the signals before the execve. more are
// descriptors from 3 on.
func forkImage(c Command, stdio [3]int, terminal int, more ...int) (pid int, err error) {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	if terminal >= 0 {
		attr.Foreground, attr.Ctty = true, terminal
	}
	files := []uintptr{uintptr(stdio[0]), uintptr(stdio[1]), uintptr(stdio[2])}
	for _, fd := range more {
		files = append(files, uintptr(fd))
	}
	return syscall.ForkExec(c.Path, c.Argv, &syscall.ProcAttr{
		Env:   c.Env,
		Files: files,
		Sys:   attr,
	})
}

// execStage returns the stage of an error of execve: it distinguishes a lack of resources, which may pass, from a file
// that cannot be executed.
func execStage(err error) string {
	switch err {
	case unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE:
		return StageResource
	}
	return StageExec
}
