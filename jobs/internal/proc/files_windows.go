package proc

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// OpenInput opens a file for reading and follows symlinks. It must be a regular file that allow accepts, or the null
// device. The path must be absolute.
func OpenInput(path string, allow Allow) (*os.File, error) {
	if isNullName(path) {
		return os.Open(os.DevNull)
	}
	return files.openInput(path, allow)
}

// OpenOutput opens a file for writing under the same rules as OpenInput. If there is none, it creates it, as > does in
// a shell. It does not truncate: see Empty.
func OpenOutput(path string, allow Allow) (*os.File, error) {
	if isNullName(path) {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return files.openOutput(path, allow)
}

func isNullName(path string) bool { return strings.EqualFold(filepath.Base(path), os.DevNull) }

var files = opener{real: pathOf}

// pathOf returns the path that the system reports for an open file.
func pathOf(f *os.File) (string, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	buf := make([]uint16, windows.MAX_LONG_PATH)
	var n uint32
	controlErr := raw.Control(func(handle uintptr) {
		n, err = windows.GetFinalPathNameByHandle(windows.Handle(handle), &buf[0], uint32(len(buf)), 0)
	})
	if err == nil {
		err = controlErr
	}
	if err != nil {
		return "", err
	}
	if int(n) > len(buf) {
		return "", windows.ERROR_FILENAME_EXCED_RANGE
	}
	return plainPath(windows.UTF16ToString(buf[:n])), nil
}

// Empty truncates a file from OpenOutput to length 0, unless it is the null device.
func Empty(f *os.File) error { return emptyFile(f) }

// TextFile returns a file that holds a text, open for reading at its start. The system deletes it when its last
// descriptor is closed.
func TextFile(text string) (*os.File, error) {
	f, err := deletedOnClose()
	if err != nil {
		return nil, fmt.Errorf("make a file for a text: %w", err)
	}
	if _, err = f.WriteString(text); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		_ = f.Close() // No other code has it yet.
		return nil, fmt.Errorf("fill a file for a text: %w", err)
	}
	return f, nil
}

func deletedOnClose() (*os.File, error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // Never fails; see crypto/rand.
	name := filepath.Join(os.TempDir(), "shelld-stdin-"+hex.EncodeToString(random[:]))
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	handle, err := windows.CreateFile(name16, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil,
		windows.CREATE_NEW, windows.FILE_ATTRIBUTE_TEMPORARY|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	if err != nil {
		return nil, &os.PathError{Op: "create", Path: name, Err: err}
	}
	return os.NewFile(uintptr(handle), name), nil
}
