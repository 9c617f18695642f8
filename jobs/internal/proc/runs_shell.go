package proc

import (
	"path/filepath"
	"strings"
)

// RunsShell reports whether a process executes a known shell, such as the interpreter of a script. It is false if the
// system does not tell what the process executes.
func RunsShell(pid int) bool {
	name := program(pid)
	if filepath.Base(name) == "busybox" { // Its name says which of its programs it is.
		name = firstArgument(CommandLine(pid))
	}
	return filepath.Base(name) != "busybox" && FamilyOf(name) != FamilyOther
}

// firstArgument is the name by which a program was executed. That of a login shell has a dash in front.
func firstArgument(commandLine string) string {
	first, _, _ := strings.Cut(commandLine, " ")
	return strings.TrimPrefix(first, "-")
}
