package proc

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// ErrNoProc is the error if the path of an open file cannot be determined, because /proc is missing.
var ErrNoProc = errors.New("its location cannot be read without /proc; make sure that /proc is mounted")

// A Directory is a directory that was looked up by a path. If the system allows it, a descriptor holds it open, so that
// it stays the same directory even if the path is renamed or replaced. A nil Directory stands for no directory.
type Directory struct {
	file *os.File // nil: this system does not hold it open
	info fs.FileInfo
	real string
}

// Real returns the path that the directory had when it was looked up: absolute, without symlinks. It returns "" if that
// path cannot be determined.
func (d *Directory) Real() string { return d.real }

// File returns the descriptor of the directory, which only identifies it and gives no access to its content. It returns
// nil if this system does not hold directories open; then only the path is known.
func (d *Directory) File() *os.File {
	if d == nil {
		return nil
	}
	return d.file
}

// IsAt reports whether a path leads to this same directory now.
func (d *Directory) IsAt(path string) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, d.info)
}

// Stays reports whether the directory is still at the path at which it was found. It returns an error if the system
// cannot answer at this moment.
func (d *Directory) Stays() (bool, error) {
	if d.real == "" {
		return false, nil
	}
	info, err := os.Stat(d.real)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil || !os.SameFile(info, d.info) {
		return false, err
	}
	if d.file == nil {
		return true, nil
	}
	now, err := placeOf(d.file)
	return err == nil && now == d.real, err
}

// Same reports whether both are the same directory. Two nil Directories are the same.
func (d *Directory) Same(other *Directory) bool {
	if d == nil || other == nil {
		return d == other
	}
	return os.SameFile(d.info, other.info)
}

// Holds reports whether a path without symlinks is the path at which the directory was found, or lies below it.
func (d *Directory) Holds(real string) bool {
	if d.real == "" || real == "" {
		return false
	}
	if runtime.GOOS == "windows" { // Names differ there only if they differ in more than the case of letters.
		rel, err := filepath.Rel(d.real, real)
		return err == nil && filepath.IsLocal(rel)
	}
	rest, ok := strings.CutPrefix(real, strings.TrimSuffix(d.real, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// Close releases the descriptor. Closing a directory twice, or a nil one, does nothing.
func (d *Directory) Close() {
	if d != nil && d.file != nil {
		_ = d.file.Close() // Nothing can be written through it.
	}
}

// ofProcess reports whether a path without symlinks is the entry of a process in /proc, or lies below it.
func ofProcess(real, pid string) bool {
	rest, ok := strings.CutPrefix(real, "/proc/"+pid)
	return ok && (rest == "" || rest[0] == '/')
}
