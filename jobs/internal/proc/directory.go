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

// ErrNoProc says that the system does not tell where something lies.
var ErrNoProc = errors.New("its location cannot be read without /proc; make sure that /proc is mounted")

// A Directory is one that was found under a name. Where the system can, it is held by a
// descriptor: then it stays the same one, whatever becomes of the name. A nil one is none.
type Directory struct {
	file *os.File // nil: the system holds none
	info fs.FileInfo
	real string
}

// Real is where it lay when it was found: absolute, without symlinks. "" if that cannot be
// told.
func (d *Directory) Real() string { return d.real }

// File stands for the directory, and for nothing that can be done in it. Nil where the
// system holds none; then there is only the name.
func (d *Directory) File() *os.File {
	if d == nil {
		return nil
	}
	return d.file
}

// IsAt says whether a name leads to this very directory now.
func (d *Directory) IsAt(path string) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, d.info)
}

// Stays says whether it still lies where it was found. An error: the system does not tell, at
// this moment.
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

// Same says whether both are the same directory. None is the same as none.
func (d *Directory) Same(other *Directory) bool {
	if d == nil || other == nil {
		return d == other
	}
	return os.SameFile(d.info, other.info)
}

// Holds says whether a path without symlinks is the place where the directory was found, or
// lies below.
func (d *Directory) Holds(real string) bool {
	if d.real == "" || real == "" {
		return false
	}
	if runtime.GOOS == "windows" { // where names are not told apart by the case of letters
		rel, err := filepath.Rel(d.real, real)
		return err == nil && filepath.IsLocal(rel)
	}
	rest, ok := strings.CutPrefix(real, strings.TrimSuffix(d.real, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// Close lets go of it. Closing it twice, or none, does nothing.
func (d *Directory) Close() {
	if d != nil && d.file != nil {
		_ = d.file.Close() // Nothing can be written by it.
	}
}

// ofProcess says whether a path without symlinks is the entry of a process in /proc, or
// lies in it.
func ofProcess(real, pid string) bool {
	rest, ok := strings.CutPrefix(real, "/proc/"+pid)
	return ok && (rest == "" || rest[0] == '/')
}
