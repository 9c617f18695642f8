// Package process starts servers in a process group of their own, and kills them.
package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Path returns the absolute path of a program, given a path or a name to search on PATH: the server may have
// another working directory.
func Path(name string) (string, error) {
	if strings.ContainsRune(name, os.PathSeparator) {
		return filepath.Abs(name)
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}
