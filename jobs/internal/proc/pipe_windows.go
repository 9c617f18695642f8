package proc

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A Source reads one stream of a job's output.
type Source = peekSource

// A Sink writes a job's input.
type Sink = pieceSink

// pipeBuffer is the size of a pipe's buffer in the system, in bytes.
const pipeBuffer = 64 << 10

// OutputPipe creates the pipe for a job's stdout or stderr. theirs is the job's end: the caller gives it to the job and
// closes it.
func OutputPipe() (ours *Source, theirs *os.File, err error) {
	f, theirs, err := pipe(windows.PIPE_ACCESS_INBOUND, windows.GENERIC_WRITE)
	if err != nil {
		return nil, nil, fmt.Errorf("make an output pipe: %w", err)
	}
	return &Source{file: f, peek: func() (int, error) { return peek(f) }}, theirs, nil
}

// InputPipe creates the pipe for a job's stdin. theirs is the job's end: the caller gives it to the job and closes it.
func InputPipe() (ours *Sink, theirs *os.File, err error) {
	f, theirs, err := pipe(windows.PIPE_ACCESS_OUTBOUND, windows.GENERIC_READ)
	if err != nil {
		return nil, nil, fmt.Errorf("make an input pipe: %w", err)
	}
	return &Sink{file: f}, theirs, nil
}

// pipe creates a pipe. The server's end can be used with Go's poller, and the job's end is as programs expect it. This
// requires a named pipe. Its name cannot be guessed, and is no longer valid once both ends are open.
func pipe(ourAccess, theirAccess uint32) (ours, theirs *os.File, err error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // Never fails; see crypto/rand.
	name := `\\.\pipe\shelld-` + hex.EncodeToString(random[:])
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, nil, err
	}
	const flags = windows.FILE_FLAG_FIRST_PIPE_INSTANCE | windows.FILE_FLAG_OVERLAPPED
	const mode = windows.PIPE_TYPE_BYTE | windows.PIPE_REJECT_REMOTE_CLIENTS
	our, err := windows.CreateNamedPipe(name16, ourAccess|flags, mode, 1, pipeBuffer, pipeBuffer, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	their, err := windows.CreateFile(name16, theirAccess, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		_ = windows.CloseHandle(our) // Nothing was written.
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	ours = os.NewFile(uintptr(our), name)
	theirs = os.NewFile(uintptr(their), name)
	if err := ours.SetDeadline(time.Time{}); err != nil { // Without deadlines, nothing could wake a blocked call.
		_, _ = ours.Close(), theirs.Close() // Nothing was written.
		return nil, nil, err
	}
	return ours, theirs, nil
}

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// peek returns the number of bytes that can be read, or io.EOF at the end of the pipe.
func peek(f *os.File) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var available uint32
	controlErr := raw.Control(func(handle uintptr) {
		if ok, _, callErr := peekNamedPipe.Call(handle, 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0); ok == 0 {
			err = callErr
		}
	})
	if controlErr != nil {
		return 0, controlErr
	}
	if err == syscall.ERROR_BROKEN_PIPE {
		err = io.EOF
	}
	return int(available), err
}
