package proc

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A Family is a group of shells with similar command lines.
type Family string

// The families.
const (
	FamilyPOSIX      Family = "posix"
	FamilyCsh        Family = "csh"
	FamilyFish       Family = "fish"
	FamilyRc         Family = "rc"
	FamilyPowerShell Family = "powershell"
	FamilyCmd        Family = "cmd"
	FamilyNu         Family = "nu"
	FamilyElvish     Family = "elvish"
	FamilyXonsh      Family = "xonsh"
	FamilyOther      Family = "other" // not known
)

// A Syntax describes the most common elements of command lines in a family of shells.
type Syntax struct {
	Separator string // between two commands that run one after the other
	Variable  string // the prefix of a variable's name
	Pipelines bool   // a | b
	Redirects bool   // > and 2>&1
	Jobs      bool   // a command can be left in the background
	HereDocs  bool   // <<EOF
}

// syntaxes is the only table of the syntax of the families.
var syntaxes = map[Family]Syntax{
	FamilyPOSIX:      {"&&", "$", true, true, true, true},
	FamilyCsh:        {"&&", "$", true, false, true, true},
	FamilyFish:       {"&&", "$", true, true, true, false},
	FamilyRc:         {"&&", "$", true, false, true, true},
	FamilyPowerShell: {";", "$env:", true, true, true, false},
	FamilyCmd:        {"&&", "%", true, true, true, false},
	FamilyNu:         {";", "$env.", true, false, false, false},
	FamilyElvish:     {";", "$E:", true, true, true, false},
	FamilyXonsh:      {"&&", "$", true, true, true, false},
}

// SyntaxOf returns the syntax of a family. It returns false if that is not known.
func SyntaxOf(f Family) (Syntax, bool) {
	s, ok := syntaxes[f]
	return s, ok
}

// A known describes a shell that is known by its name.
type known struct {
	family Family
	ask    []string // the arguments that make it print its version; nil: there are none
}

// The arguments that make shells print their version.
var (
	askVersion = []string{"--version"}
	askKsh     = []string{"-c", `echo "$KSH_VERSION"`}
	askWindows = []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-Command", "$PSVersionTable.PSVersion.ToString()"}
)

// knownShells is the only table of shells, in the order in which they are reported.
var knownShells = []struct {
	name string
	known
}{
	{"bash", known{FamilyPOSIX, askVersion}},
	{"zsh", known{FamilyPOSIX, askVersion}},
	{"sh", known{FamilyPOSIX, nil}},
	{"dash", known{FamilyPOSIX, nil}},
	{"ash", known{FamilyPOSIX, nil}},
	{"rbash", known{FamilyPOSIX, askVersion}},
	{"ksh", known{FamilyPOSIX, askKsh}},
	{"ksh93", known{FamilyPOSIX, askKsh}},
	{"mksh", known{FamilyPOSIX, askKsh}},
	{"lksh", known{FamilyPOSIX, askKsh}},
	{"oksh", known{FamilyPOSIX, askKsh}},
	{"loksh", known{FamilyPOSIX, askKsh}},
	{"pdksh", known{FamilyPOSIX, askKsh}},
	{"yash", known{FamilyPOSIX, askVersion}},
	{"posh", known{FamilyPOSIX, nil}},
	{"osh", known{FamilyPOSIX, askVersion}},
	{"fish", known{FamilyFish, askVersion}},
	{"pwsh", known{FamilyPowerShell, askVersion}},
	{"powershell", known{FamilyPowerShell, askWindows}},
	{"cmd", known{FamilyCmd, []string{"/d", "/c", "ver"}}},
	{"nu", known{FamilyNu, askVersion}},
	{"xonsh", known{FamilyXonsh, askVersion}},
	{"elvish", known{FamilyElvish, []string{"-version"}}},
	{"tcsh", known{FamilyCsh, askVersion}},
	{"csh", known{FamilyCsh, nil}},
	{"rc", known{FamilyRc, nil}},
	// It is not reported as a shell itself, but other shells may be links to it.
	{"busybox", known{FamilyPOSIX, []string{"--help"}}},
}

// notShells are programs that occur in lists of login shells, or are known as shells, but run no command lines under
// that name.
var notShells = []string{"nologin", "false", "true", "sync", "git-shell", "tmux", "screen", "busybox"}

func knownShell(name string) (known, bool) {
	for _, k := range knownShells {
		if k.name == name {
			return k.known, true
		}
	}
	return known{family: FamilyOther}, false
}

// FamilyOf returns the family of a shell, by its path or name.
func FamilyOf(pathOrName string) Family {
	k, _ := knownShell(shellName(pathOrName))
	return k.family
}

// An Installed is a shell on this machine that can be executed.
type Installed struct {
	Name   string // without directory or ending
	Path   string
	Target string // the file that Path leads to through symlinks; "": Path itself
	Family Family
	// Ask are the arguments that make the file print its version. It is nil if there are none, or if the file is not a
	// known shell: such a program must not be run without a request.
	Ask []string
}

// install returns the Installed for the path of a shell.
func install(path string) Installed {
	s := Installed{Name: shellName(path), Path: path, Family: FamilyOf(path)}
	real := path
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		s.Target, real = target, target
	}
	// The target decides how the file prints its version, not the name of the link. A file with an unknown name may be
	// any shell if its link is called sh.
	if k, ok := knownShell(shellName(real)); ok {
		s.Ask = k.ask
	} else if k, ok := knownShell(s.Name); ok && !strings.EqualFold(s.Name, "sh") {
		s.Ask = k.ask
	}
	return s
}

// mostListed bounds the number of shells read from the system's list.
const mostListed = 64

// FindShells returns the shells on this machine: first the default one, if byDefault is not empty, then the known
// shells on PATH, then those in the system's list. Paths with the same name that lead to the same file are reported
// once; different names for one file are all reported.
func FindShells(env []string, byDefault, list string) (all []Installed) {
	add := func(path string) {
		s := install(path)
		same := func(o Installed) bool { return o.Name == s.Name && realPath(o) == realPath(s) }
		if !slices.Contains(notShells, s.Name) && !slices.ContainsFunc(all, same) {
			all = append(all, s)
		}
	}
	if byDefault != "" {
		add(byDefault)
	}
	for _, k := range knownShells {
		if path, err := LookPath(k.name, "/", env); err == nil {
			add(path)
		}
	}
	for _, path := range listedShells(list) {
		if checkExecutable(path) == nil {
			add(path)
		}
	}
	return all
}

func realPath(s Installed) string {
	if s.Target != "" {
		return s.Target
	}
	return s.Path
}

// ShellList returns the path of the system's list of login shells, or "" if there is none.
func ShellList() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return "/etc/shells"
}

// listedShells reads a list of shells, which has one path per line, and comments.
func listedShells(list string) (paths []string) {
	if list == "" {
		return nil
	}
	f, err := os.Open(list)
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 64<<10))
	for lines.Scan() && len(paths) < mostListed {
		path, _, _ := strings.Cut(lines.Text(), "#")
		if path = strings.TrimSpace(path); filepath.IsAbs(path) {
			paths = append(paths, filepath.Clean(path))
		}
	}
	return paths
}

// LoginShell returns the path of the user's login shell: $SHELL of env, else the entry in the system's list of users.
// It returns "" if neither is known.
func LoginShell(env []string) string {
	if own, ok := Getenv(env, "SHELL"); ok && filepath.IsAbs(own) {
		return own
	}
	return userShell("/etc/passwd", os.Getuid())
}

// LoginArgs returns the arguments with which a shell runs a line as the user's interactive login shell would. It
// returns false if the shell cannot do that, or if the arguments are not known.
func LoginArgs(path, line string) ([]string, bool) {
	switch FamilyOf(path) {
	case FamilyPOSIX, FamilyFish:
		return []string{"-l", "-i", "-c", line}, true
	}
	return nil, false
}
