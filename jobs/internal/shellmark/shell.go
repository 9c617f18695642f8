package shellmark

import (
	"path"
	"slices"
	"strings"
)

// A Shell is a shell with support for the integration: "bash", "zsh" or "fish".
type Shell string

const (
	Bash Shell = "bash"
	Zsh  Shell = "zsh"
	Fish Shell = "fish"
)

// For returns the shell that file and argv start, and reports whether it can have the integration: it must be
// interactive, and all its arguments must be flags that are known here. A shell cannot if it runs a script or a line
// (-c, -s, FILE), if it is restricted, privileged or in POSIX mode, or if it reads lines without its own editor; nor if
// it exports all that it defines, because that would include our functions.
//
// argv[0] may begin with "-", as for a login shell.
func For(file string, argv []string) (Shell, bool) {
	if len(argv) == 0 {
		return "", false
	}
	s := Shell(strings.TrimPrefix(path.Base(argv[0]), "-"))
	if !s.known() || file != "" && Shell(path.Base(file)) != s {
		return "", false // such as bash named sh, which then behaves as another shell
	}
	_, ok := s.options(argv)
	return s, ok
}

func (s Shell) known() bool { return s == Bash || s == Zsh || s == Fish }

// options are the settings in the arguments of an interactive shell.
type options struct {
	login     bool
	noRC      bool     // not the user's file for interactive shells
	noProfile bool     // bash: not the files for login shells
	rcFile    string   // bash: replaces the user's file
	long      []string // bash: must come before the others
	rest      []string // unchanged
}

// options parses argv; ok is false if an argument is not known here.
func (s Shell) options(argv []string) (o options, ok bool) {
	o.login = strings.HasPrefix(argv[0], "-")
	switch s {
	case Bash:
		ok = o.bash(argv[1:])
	case Zsh:
		ok = o.zsh(argv[1:])
	case Fish:
		ok = o.fish(argv[1:])
	}
	return o, ok
}

func (o *options) bash(args []string) bool {
	for i := 0; i < len(args); i++ {
		arg, more := args[i], i+1 < len(args)
		switch {
		case arg == "--login" || arg == "-l":
			o.login = true
		case arg == "--norc":
			o.noRC = true
		case arg == "--noprofile":
			o.noProfile = true
		case (arg == "--rcfile" || arg == "--init-file") && more:
			i++
			o.rcFile = args[i]
		case arg == "--verbose":
			o.long = append(o.long, arg)
		case slices.Contains([]string{"-o", "+o", "-O", "+O"}, arg) && more && args[i+1] != "posix" && args[i+1] != "allexport":
			o.rest = append(o.rest, arg, args[i+1])
			i++
		case flags(arg, "ilbefhmuvxBCEHPT"):
			if arg[0] == '-' && strings.Contains(arg, "l") {
				o.login, arg = true, strings.ReplaceAll(arg, "l", "")
			}
			if len(arg) > 1 {
				o.rest = append(o.rest, arg)
			}
		default:
			return false
		}
	}
	return true
}

func (o *options) zsh(args []string) bool {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--no-rcs":
			o.noRC = true
		case arg == "--login" || arg == "--interactive":
			o.rest = append(o.rest, arg)
		case (arg == "-o" || arg == "+o") && i+1 < len(args):
			switch strings.ReplaceAll(strings.ToLower(args[i+1]), "_", "") {
			case "rcs", "norcs", "zle", "nozle", "restricted", "privileged", "singlecommand", "exec", "noexec", "allexport":
				return false
			}
			o.rest = append(o.rest, arg, args[i+1])
			i++
		case flags(arg, "ilfdkevuxyCFHJ"):
			if arg[0] == '-' && strings.Contains(arg, "f") {
				o.noRC, arg = true, strings.ReplaceAll(arg, "f", "")
			}
			if len(arg) > 1 {
				o.rest = append(o.rest, arg)
			}
		default:
			return false
		}
	}
	return true
}

func (o *options) fish(args []string) bool {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case slices.Contains([]string{"--interactive", "--login", "--no-config", "--private"}, arg), arg[:min(1, len(arg))] != "+" && flags(arg, "ilNP"):
			o.rest = append(o.rest, arg)
		case slices.Contains([]string{"-C", "--init-command", "-f", "--features"}, arg) && i+1 < len(args):
			o.rest = append(o.rest, arg, args[i+1])
			i++
		case strings.HasPrefix(arg, "--init-command="), strings.HasPrefix(arg, "--features="):
			o.rest = append(o.rest, arg)
		default:
			return false
		}
	}
	return true
}

// flags reports whether an argument consists of single letters that are all known.
func flags(arg, known string) bool {
	if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
		return false
	}
	return strings.Trim(arg[1:], known) == ""
}
