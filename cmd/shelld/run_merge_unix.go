//go:build unix

package main

import (
	"io/fs"
	"os"

	"golang.org/x/term"
)

// sameOutput reports whether two descriptors refer to the same file, as after 2>&1. If a command writes to two pipes,
// we can pass its output on only as two streams whose relative order is lost; one pipe keeps the order.
func sameOutput(a, b *os.File) bool {
	one, errOne := a.Stat()
	two, errTwo := b.Stat()
	if errOne != nil || errTwo != nil || !os.SameFile(one, two) {
		return false
	}
	switch one.Mode().Type() {
	case 0, fs.ModeNamedPipe, fs.ModeSocket:
		return true
	}
	return term.IsTerminal(int(a.Fd())) // On other devices, such as the null device, the order does not matter.
}

// stderrOf returns the target of a pipe job's stderr.
func (o *runOptions) stderrOf(stdout, stderr *os.File) string {
	switch {
	case o.stderr != "":
		return o.stderr
	case sameOutput(stdout, stderr):
		return "merge"
	}
	return "separate"
}
