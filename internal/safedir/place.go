package safedir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// dirMode is the mode of new directories: only their owner has access.
const dirMode = 0o700

// Default returns the directory of that name among those in which shelld keeps its files by default. It need not exist.
func Default(name string) (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // XDG says to ignore a relative path.
		return filepath.Join(dir, "shelld", name), nil
	}
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "shelld", name), nil
		}
	}
	home, err := os.UserHomeDir()
	if err == nil && !filepath.IsAbs(home) {
		err = errors.New("the home directory " + home + " is not absolute")
	}
	if err != nil {
		return "", err
	}
	state := filepath.Join(home, ".local", "state")
	if runtime.GOOS == "darwin" {
		state = filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(state, "shelld", name), nil
}

// An unsafeError is the reason why a directory, or a symlink on the way to it, is not safe from other users.
type unsafeError string

// Error returns the reason and a remedy.
func (e unsafeError) Error() string { return string(e) }

// IsUnsafe reports whether an error says that other users could replace the directory.
func IsUnsafe(err error) bool {
	_, ok := errors.AsType[unsafeError](err)
	return ok
}
