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

// A Family is shells whose command lines look alike.
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
	FamilyOther      Family = "other" // one that is not known
)

// A Syntax is how a family of shells writes what most command lines need.
type Syntax struct {
	Separator string // between two commands, of which the second one follows the first
	Variable  string // what stands before a variable's name
	Pipelines bool   // a | b
	Redirects bool   // > and 2>&1
	Jobs      bool   // a command can be left in the background
	HereDocs  bool   // <<EOF
}

// syntaxes is THE table of what the families can do.
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

// SyntaxOf is how a family writes command lines; false: nobody knows.
func SyntaxOf(f Family) (Syntax, bool) {
	s, ok := syntaxes[f]
	return s, ok
}

// A known is what is known of a shell by its name.
type known struct {
	family Family
	ask    []string // the arguments with which it tells its version; nil: it does not
}

// The arguments with which shells tell their version.
var (
	askVersion = []string{"--version"}
	askKsh     = []string{"-c", `echo "$KSH_VERSION"`}
	askWindows = []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-Command", "$PSVersionTable.PSVersion.ToString()"}
)

// knownShells is THE table of shells, in the order in which they are told.
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
	// No shell that is looked for, but one that others are links to.
	{"busybox", known{FamilyPOSIX, []string{"--help"}}},
}

// notShells are in lists of login shells, and run no command lines.
var notShells = []string{"nologin", "false", "true", "sync", "git-shell", "tmux", "screen", "busybox"}

func knownShell(name string) (known, bool) {
	for _, k := range knownShells {
		if k.name == name {
			return k.known, true
		}
	}
	return known{family: FamilyOther}, false
}

// FamilyOf is the family of a shell, by its path or name.
func FamilyOf(pathOrName string) Family {
	k, _ := knownShell(shellName(pathOrName))
	return k.family
}

// An Installed shell is a file that can be executed.
type Installed struct {
	Name   string // without directory or ending
	Path   string
	Target string // the file that Path leads to, if that is another
	Family Family
	// Ask are the arguments with which the file tells its version; nil: it does not, or it is
	// no shell that is known, which is not run unasked.
	Ask []string
}

// install makes an Installed of the path of a shell.
func install(path string) Installed {
	s := Installed{Name: shellName(path), Path: path, Family: FamilyOf(path)}
	real := path
	if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
		s.Target, real = target, target
	}
	// What a file says of itself depends on what it is, and not on what it is called here.
	if k, ok := knownShell(shellName(real)); ok {
		s.Ask = k.ask
	} else if k, ok := knownShell(s.Name); ok && !strings.EqualFold(s.Name, "sh") {
		s.Ask = k.ask
	}
	return s
}

// mostListed bounds what is read of the system's list of shells.
const mostListed = 64

// FindShells are the shells that there are: first the one by default, where there is one, then
// those that are known by name, on PATH, then those of the system's list. Names that lead to the
// same file are told once each.
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

// ShellList is the system's list of login shells; "" = there is none.
func ShellList() string {
	if runtime.GOOS == "windows" {
		return ""
	}
	return "/etc/shells"
}

// listedShells reads a list of shells: a path a line, and comments.
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

// LoginShell is the path of the user's login shell: $SHELL of env, else what the system's list
// of users says; "" = nobody knows.
func LoginShell(env []string) string {
	if own, ok := Getenv(env, "SHELL"); ok && filepath.IsAbs(own) {
		return own
	}
	return userShell("/etc/passwd", os.Getuid())
}

// LoginArgs are the arguments with which a shell, by its path, runs a line as the user's
// interactive login shell does; false: it cannot, or nobody knows how.
func LoginArgs(path, line string) ([]string, bool) {
	switch FamilyOf(path) {
	case FamilyPOSIX, FamilyFish:
		return []string{"-l", "-i", "-c", line}, true
	}
	return nil, false
}
