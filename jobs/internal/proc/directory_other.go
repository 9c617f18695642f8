//go:build !linux

package proc

import (
	"os"
	"path/filepath"
	"syscall"
)

// OpenDirectory looks a directory up and follows symlinks. The path must be absolute. The caller must close the
// Directory. It holds no descriptor: on this system no program can be started in a directory that is given by a
// descriptor, only by path.
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
		real = "" // Windows has volumes for which it does not report the path.
	}
	return &Directory{info: info, real: real}, nil
}

// placeOf is never called, since no Directory has a file on this system.
func placeOf(f *os.File) (string, error) { return filepath.EvalSymlinks(f.Name()) }
