package proc

import (
	"path/filepath"
	"strings"
)

// RunsShell reports whether a process executes a known shell, such as the interpreter of a script. It returns false if
// the program of the process cannot be determined.
func RunsShell(pid int) bool {
	name := program(pid)
	if filepath.Base(name) == "busybox" { // The first argument selects one of its programs.
		name = firstArgument(CommandLine(pid))
	}
	return filepath.Base(name) != "busybox" && FamilyOf(name) != FamilyOther
}

// firstArgument returns the name by which a program was executed, without the dash that precedes that of a login shell.
func firstArgument(commandLine string) string {
	first, _, _ := strings.Cut(commandLine, " ")
	return strings.TrimPrefix(first, "-")
}
