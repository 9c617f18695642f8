package direct

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"shelld.dev/shelld/jobs/internal/keeper"
)

// createIn makes the command's process in the job object. It runs nothing before it is in the object: all processes
// that it starts are in the object as well, from their first instruction on.
func createIn(o *jobObject, cmd keeper.Command) (child windows.ProcessInformation, err error) {
	if cmd.Terminal != nil {
		return child, startError(cmd, keeper.StageTerminal, errors.ErrUnsupported)
	}
	line, err := commandLine(cmd.Path, cmd.Argv)
	if err != nil {
		return child, startError(cmd, keeper.StageExec, err)
	}
	stdio, closeAll, err := inheritable(cmd)
	if err != nil {
		return child, startError(cmd, keeper.StageExec, err)
	}
	defer closeAll()
	if child, err = create(cmd, line, stdio); err != nil {
		return child, startError(cmd, keeper.StageExec, err)
	}
	defer func() { _ = windows.CloseHandle(child.Thread) }() // Nothing is written by it.
	if err = windows.AssignProcessToJobObject(o.handle, child.Process); err == nil {
		_, err = windows.ResumeThread(child.Thread)
	}
	if err != nil {
		_ = windows.TerminateProcess(child.Process, killedCode) // It has run nothing; only its end matters.
		_ = windows.CloseHandle(child.Process)                  // As above.
		return child, fmt.Errorf("put %s into a job object: %w", cmd.Path, err)
	}
	return child, nil
}

// inheritable returns descriptors that can be given to this child, and to no other child.
func inheritable(cmd keeper.Command) (stdio [3]windows.Handle, closeAll func(), err error) {
	closeAll = func() {
		for _, h := range stdio {
			if h != 0 {
				_ = windows.CloseHandle(h) // Nothing is written by it.
			}
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return stdio, closeAll, err
	}
	defer func() { _ = null.Close() }() // As above.
	self := windows.CurrentProcess()
	for i, f := range []*os.File{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if f == nil {
			f = null
		}
		err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &stdio[i], 0, true, windows.DUPLICATE_SAME_ACCESS)
		runtime.KeepAlive(f)
		if err != nil {
			closeAll()
			return stdio, func() {}, err
		}
	}
	return stdio, closeAll, nil
}

// create makes the process, suspended. It gets these three descriptors and no other handle that may be inheritable just
// now.
func create(cmd keeper.Command, line string, stdio [3]windows.Handle) (child windows.ProcessInformation, err error) {
	attributes, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return child, err
	}
	defer attributes.Delete()
	err = attributes.Update(windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST, unsafe.Pointer(&stdio[0]), unsafe.Sizeof(stdio))
	if err != nil {
		return child, err
	}
	path, err := windows.UTF16PtrFromString(absolute(cmd.Path, cmd.Dir))
	if err != nil {
		return child, err
	}
	line16, err := windows.UTF16PtrFromString(line)
	if err != nil {
		return child, err
	}
	var dir *uint16
	if cmd.Dir != "" {
		if dir, err = windows.UTF16PtrFromString(cmd.Dir); err != nil {
			return child, err
		}
	}
	env := environmentBlock(cmd.Env)
	info := windows.StartupInfoEx{ProcThreadAttributeList: attributes.List()}
	info.Cb = uint32(unsafe.Sizeof(info))
	info.Flags = windows.STARTF_USESTDHANDLES
	info.StdInput, info.StdOutput, info.StdErr = stdio[0], stdio[1], stdio[2]
	// Without a window: an invisible console belongs to the job.
	const flags = windows.CREATE_SUSPENDED | windows.CREATE_UNICODE_ENVIRONMENT | windows.EXTENDED_STARTUPINFO_PRESENT |
		windows.CREATE_NO_WINDOW | windows.CREATE_NEW_PROCESS_GROUP
	err = windows.CreateProcess(path, line16, nil, nil, true, flags, &env[0], dir, &info.StartupInfo, &child)
	return child, err
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// errnos maps the system's errors to the names that other systems use.
var errnos = map[syscall.Errno]syscall.Errno{
	windows.ERROR_FILE_NOT_FOUND: syscall.ENOENT, windows.ERROR_PATH_NOT_FOUND: syscall.ENOENT,
	windows.ERROR_ACCESS_DENIED: syscall.EACCES, windows.ERROR_ELEVATION_REQUIRED: syscall.EACCES,
	windows.ERROR_BAD_EXE_FORMAT: syscall.ENOEXEC, windows.ERROR_FILENAME_EXCED_RANGE: syscall.E2BIG,
	windows.ERROR_DIRECTORY: syscall.ENOTDIR, windows.ERROR_TOO_MANY_OPEN_FILES: syscall.EMFILE,
	windows.ERROR_NOT_ENOUGH_MEMORY: syscall.ENOMEM, windows.ERROR_OUTOFMEMORY: syscall.ENOMEM,
	windows.ERROR_NO_SYSTEM_RESOURCES: syscall.ENOMEM, windows.ERROR_COMMITMENT_LIMIT: syscall.ENOMEM,
}

// errnoOf returns the rest of the program's name for an error of the system.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	switch {
	case errors.Is(err, errBatch):
		return syscall.ENOEXEC
	case errors.Is(err, errors.ErrUnsupported):
		return syscall.ENOSYS
	case !errors.As(err, &errno):
		return syscall.EIO
	}
	if known, ok := errnos[errno]; ok {
		return known
	}
	return errno
}

func isShortage(errno syscall.Errno) bool {
	return errno == syscall.ENOMEM || errno == syscall.EMFILE
}
