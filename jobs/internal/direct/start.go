//go:build linux || darwin

package direct

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// A parent is the part of a system that is the same on every Unix: the operations of a process on its children.
type parent struct{}

// start forks and executes. The child leads a session, and on a terminal it is the foreground from the start.
func (parent) start(cmd keeper.Command) (pid int, err error) {
	files := []*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr}
	attr := &syscall.SysProcAttr{Setsid: true}
	var null *os.File
	if cmd.Terminal == nil {
		if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
			return 0, startError(cmd, keeper.StageExec, err)
		}
		defer func() { _ = null.Close() }()
	}
	fds := make([]uintptr, len(files))
	for i, f := range files {
		switch {
		case f == nil && cmd.Terminal != nil:
			f, attr.Setctty, attr.Ctty = cmd.Terminal, true, i
		case f == nil:
			f = null
		}
		fds[i] = f.Fd() // This sets blocking mode, which programs expect.
	}
	pid, err = syscall.ForkExec(cmd.Path, cmd.Argv, &syscall.ProcAttr{Dir: workingDirectory(cmd), Env: cmd.Env, Files: fds, Sys: attr})
	runtime.KeepAlive(cmd) // Until here the garbage collector must not close the files.
	if err != nil {
		return 0, startError(cmd, stageOf(cmd, err), err)
	}
	return pid, nil
}

// workingDirectory returns the name by which the child enters its directory. A directory that is held open is named by
// its descriptor, which the child has until it executes the program.
func workingDirectory(cmd keeper.Command) string {
	if cmd.Directory == nil {
		return cmd.Dir
	}
	return "/proc/self/fd/" + strconv.Itoa(int(cmd.Directory.Fd()))
}

// stageOf returns the stage at which a start has failed. The kernel returns only the errno: the stage is the
// directory's if the directory cannot be entered now.
func stageOf(cmd keeper.Command, err error) string {
	switch {
	case isShortage(err):
		return keeper.StageResource
	case unix.Access(workingDirectory(cmd)+"/.", unix.X_OK) != nil:
		return keeper.StageChdir
	case cmd.Terminal != nil && errors.Is(err, syscall.ENOTTY):
		return keeper.StageTerminal
	}
	return keeper.StageExec
}

func isShortage(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func startError(cmd keeper.Command, stage string, err error) error {
	if isShortage(err) {
		stage = keeper.StageResource
	}
	e := &keeper.StartError{Stage: stage, Errno: errnoOf(err), Path: cmd.Path}
	switch {
	case stage == keeper.StageChdir:
		e.Path = cmd.Dir
	case stage == keeper.StageExec && e.Errno == syscall.ENOENT:
		e.MissingInterpreter = missingInterpreter(cmd.Path, cmd.Dir)
	}
	return e
}

// missingInterpreter explains ENOENT for a file that exists: it returns the interpreter in the file's #! line that does
// not exist. For any other cause it returns "".
func missingInterpreter(path, dir string) string {
	path = inDir(path, dir)
	// Opening must not block, whatever the file is now.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	rest, ok := strings.CutPrefix(string(line), "#!")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return ""
	}
	if _, err := os.Stat(inDir(fields[0], dir)); !os.IsNotExist(err) {
		return ""
	}
	return fields[0]
}

func inDir(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func (parent) wait(pid int) (st status, ok bool) {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(pid, &ws, syscall.WNOHANG|syscall.WUNTRACED|unix.WCONTINUED, nil)
		if err != syscall.EINTR {
			return statusOf(ws), err == nil && got == pid
		}
	}
}

func (parent) kill(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }

// hold returns a descriptor of our own for a job's terminal.
func hold(terminal *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(terminal.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), terminal.Name()), nil
}

// closeOnExec makes sure that no job inherits the descriptors that the server inherited: all that came through an exec
// lack the close-on-exec flag, which all of our own have.
func closeOnExec() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // It is only a precaution: jobs get descriptors 0 to 2 anyway.
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
