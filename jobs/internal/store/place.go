package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Place returns the directory where sessions are kept unless somebody says otherwise.
func Place() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // a relative one is to be ignored
		return filepath.Join(dir, "shelld", "io"), nil
	}
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "shelld", "io"), nil
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
	return filepath.Join(state, "shelld", "io"), nil
}

// An unsafeError says why a directory, or a symlink on the way, is not to be relied on.
type unsafeError string

// Error is what is wrong, and what to do.
func (e unsafeError) Error() string { return string(e) }

// IsUnsafe says whether Open failed for what others could do: OpenTrusting would not.
func IsUnsafe(err error) bool {
	_, ok := errors.AsType[unsafeError](err)
	return ok
}
