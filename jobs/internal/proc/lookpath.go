package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// A LookError is the reason why no executable file was found for a command's name.
type LookError struct {
	Name string // the name that was looked up
	Path string // the file that was found but cannot be executed, or empty
	// Err is fs.ErrNotExist, fs.ErrPermission if Path must not be executed, syscall.EISDIR if Path is a directory, or
	// another error from the system.
	Err error
}

// Error returns a message with the name and the file that was found, if any.
func (e *LookError) Error() string {
	switch {
	case e.Path == "" && errors.Is(e.Err, fs.ErrNotExist):
		return fmt.Sprintf("find command %q: no such file on PATH", e.Name)
	case e.Path == "":
		return fmt.Sprintf("find command %q: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("find command %q: %s: %v", e.Name, e.Path, e.Err)
}

// Unwrap returns Err.
func (e *LookError) Unwrap() error { return e.Err }

// defaultPath is the search path if there is no PATH, as in execvp.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// LookPath returns the file for a command's name, as execvp would find it in the job itself: by the PATH in env, and
// relative to the working directory dir. A name with a slash is not looked up on PATH. An empty entry of PATH means
// dir. Directories and files that must not be executed are skipped; the first of them is reported if nothing else is
// found. The error is a *LookError.
func LookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", &LookError{Err: fs.ErrNotExist}
	}
	if strings.ContainsRune(name, '/') || runtime.GOOS == "windows" && strings.ContainsAny(name, `\:`) {
		found, err := executable(inDir(name, dir), env)
		if err != nil {
			return "", &LookError{Name: name, Path: found, Err: err}
		}
		return found, nil
	}
	miss := &LookError{Name: name, Err: fs.ErrNotExist}
	for _, entry := range searchPath(env) {
		found, err := executable(filepath.Join(inDir(entry, dir), name), env)
		switch {
		case err == nil:
			return found, nil
		case errors.Is(miss.Err, fs.ErrNotExist) && !isAbsence(err):
			miss.Path, miss.Err = found, err
		}
	}
	return "", miss
}

// isAbsence reports whether err means that there is no such file. execvp continues after such an error without
// remembering it.
func isAbsence(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func searchPath(env []string) []string {
	list, ok := Getenv(env, "PATH")
	if !ok {
		list = defaultPath
	}
	if list == "" {
		return []string{""} // POSIX: a single empty entry
	}
	return filepath.SplitList(list)
}

func inDir(name, dir string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// executable returns the file if it can be executed. If not, it returns an error with the file that was examined. On
// Windows it also tries the endings in PATHEXT.
func executable(file string, env []string) (string, error) {
	err := checkExecutable(file)
	if runtime.GOOS != "windows" || err == nil && filepath.Ext(file) != "" {
		return file, err
	}
	endings, ok := Getenv(env, "PATHEXT")
	if !ok {
		endings = ".COM;.EXE;.BAT;.CMD"
	}
	for _, ending := range strings.Split(endings, ";") {
		if ending != "" && checkExecutable(file+ending) == nil {
			return file + ending, nil
		}
	}
	return file, err
}

func checkExecutable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return errors.Unwrap(err) // LookError names the path already.
	case info.IsDir():
		return syscall.EISDIR
	case mayExecute(file, info):
		return nil
	}
	return fs.ErrPermission
}
