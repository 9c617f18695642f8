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

// A LookError says why a command's name leads to no file that can be executed.
type LookError struct {
	Name string // as it was asked for
	Path string // the file that was found but is not fit, or empty
	// Err is fs.ErrNotExist; fs.ErrPermission where Path may not be executed;
	// syscall.EISDIR where Path is a directory; or what else the system said.
	Err error
}

// Error says what was looked for and what was found.
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

// defaultPath is where execvp looks without a PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// LookPath finds the file that a command's name means, as execvp would in the
// job itself: by the PATH in env, and relative to the working directory dir. A
// name with a slash is not looked up on PATH. On PATH an empty entry means dir;
// directories and files that may not be executed are passed over, and reported if
// nothing else is found. The error is a *LookError.
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

// isAbsence is true where execvp would go on without remembering the error.
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

// executable returns the file if it can be executed, and else what it is that
// was found. On Windows it tries the endings in PATHEXT.
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
		return errors.Unwrap(err) // The path is in LookError.
	case info.IsDir():
		return syscall.EISDIR
	case mayExecute(file, info):
		return nil
	}
	return fs.ErrPermission
}
