package proc

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Shell is a program that runs command lines.
type Shell struct {
	Name string   // the file's name without directory or ending, as in "bash"
	Path string   // the file
	Args []string // the arguments before the command line, such as -c
}

// DefaultShell returns the shell for a job that names none (protocol section 8): $SHELL of env if that is a known POSIX
// shell that can be executed, else bash, else sh, with -c. On Windows it is pwsh, else powershell, else cmd. The error
// is a *LookError.
func DefaultShell(env []string) (Shell, error) {
	candidates := []string{"bash", "sh"}
	if runtime.GOOS == "windows" {
		candidates = []string{"pwsh", "powershell", "cmd"}
	} else if own, ok := Getenv(env, "SHELL"); ok && filepath.IsAbs(own) && IsPOSIXShell(own) {
		candidates = append([]string{own}, candidates...)
	}
	var err error
	for _, name := range candidates {
		var sh Shell
		if sh, err = ShellFor(name, "/", env); err == nil {
			return sh, nil
		}
	}
	return Shell{}, err
}

// ShellFor returns a shell by its path, relative to dir, or by its name on the PATH of env. A program that is not a
// known shell is accepted, and treated as a shell that takes -c. The error is a *LookError.
func ShellFor(pathOrName, dir string, env []string) (Shell, error) {
	path, err := LookPath(pathOrName, dir, env)
	if err != nil {
		return Shell{}, err
	}
	name := shellName(path)
	return Shell{Name: name, Path: path, Args: shellArgs(name)}, nil
}

// IsPOSIXShell reports whether a path or name is that of a known shell that is similar enough to a POSIX sh to run a
// command line that was written for one.
func IsPOSIXShell(pathOrName string) bool {
	name := shellName(pathOrName)
	return FamilyOf(name) == FamilyPOSIX && !slices.Contains(notShells, name)
}

func shellName(path string) string {
	name := filepath.Base(path)
	if strings.EqualFold(filepath.Ext(name), ".exe") {
		name = name[:len(name)-len(".exe")]
	}
	if runtime.GOOS == "windows" {
		name = strings.ToLower(name)
	}
	return name
}

func shellArgs(name string) []string {
	switch name {
	case "cmd":
		return []string{"/d", "/s", "/c"}
	case "pwsh", "powershell":
		return []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-Command"}
	}
	return []string{"-c"}
}
