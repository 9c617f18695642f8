//go:build unix

package main

import (
	"io/fs"
	"os"

	"golang.org/x/term"
)

// sameOutput says whether two descriptors lead to the same place, as after 2>&1. What
// a command writes into two pipes can only be written on there in two pieces, whose
// order nobody knows; into one pipe it keeps the order that it had.
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
	return term.IsTerminal(int(a.Fd())) // No order counts in another device, such as the null device.
}

// stderrOf is where a pipe job's stderr goes.
func (o *runOptions) stderrOf(stdout, stderr *os.File) string {
	switch {
	case o.stderr != "":
		return o.stderr
	case sameOutput(stdout, stderr):
		return "merge"
	}
	return "separate"
}
