//go:build !linux

package proc

import (
	"os"
	"path/filepath"
	"syscall"
)

// OpenDirectory finds a directory, symlinks followed. The path must be absolute. Close it.
// This system is asked by name: there is no way to start a program in a directory that is
// held by a descriptor.
func OpenDirectory(path string) (*Directory, error) {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = "" // Windows has volumes of which it does not tell.
	}
	return &Directory{info: info, real: real}, nil
}

// placeOf is not called: no Directory has a file.
func placeOf(f *os.File) (string, error) { return filepath.EvalSymlinks(f.Name()) }
