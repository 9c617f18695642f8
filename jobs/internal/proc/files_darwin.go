package proc

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OpenInput opens a file for reading and follows symlinks. It must be a regular file that allow accepts, or the null
// device. The path must be absolute.
func OpenInput(path string, allow Allow) (*os.File, error) {
	return asOurs(path, func() (*os.File, error) { return files.openInput(path, allow) })
}

// OpenOutput opens a file for writing under the same rules as OpenInput. If there is none, it creates it, as > does in
// a shell. It does not truncate: see Empty.
func OpenOutput(path string, allow Allow) (*os.File, error) {
	return asOurs(path, func() (*os.File, error) { return files.openOutput(path, allow) })
}

// asOurs opens a file and sets it to blocking mode. It refuses paths that refer to descriptors of the server.
func asOurs(path string, open func() (*os.File, error)) (*os.File, error) {
	for _, name := range []string{"/dev/fd/", "/dev/stdin", "/dev/stdout", "/dev/stderr"} {
		if strings.HasPrefix(path, name) {
			return nil, ErrOfServer
		}
	}
	f, err := open()
	if err == nil {
		_ = f.Fd() // This sets blocking mode, as programs expect.
	}
	return f, err
}

var files = opener{real: pathOf, flags: unix.O_NONBLOCK | unix.O_NOCTTY}

// pathOf returns the path that the kernel reports for an open file.
func pathOf(f *os.File) (string, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	var buf [unix.PathMax]byte
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_FCNTL, fd, unix.F_GETPATH, uintptr(unsafe.Pointer(&buf[0])))
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError("fcntl", errno)
	}
	return unix.ByteSliceToString(buf[:]), err
}

// Empty truncates a file from OpenOutput to length 0, unless it is the null device.
func Empty(f *os.File) error { return emptyFile(f) }

// TextFile returns a file that holds a text, open for reading at its start. It has no path, so that no other process
// can open it, and the system deletes it when its last descriptor is closed.
func TextFile(text string) (*os.File, error) {
	w, err := os.CreateTemp("", "shelld-stdin-")
	if err != nil {
		return nil, fmt.Errorf("make a file for a text: %w", err)
	}
	defer func() { _ = w.Close() }() // The written text can be read through the other descriptor.
	f, err := os.Open(w.Name())
	if removeErr := os.Remove(w.Name()); err == nil {
		err = removeErr
	}
	if err == nil {
		_, err = w.WriteString(text)
	}
	if err != nil {
		if f != nil {
			_ = f.Close() // No other code has it yet.
		}
		return nil, fmt.Errorf("fill a file for a text: %w", err)
	}
	return f, nil
}
