package shellmark

import (
	"path"
	"slices"
	"strings"
)

// A Shell is one that can be given the integration: "bash", "zsh" or "fish".
type Shell string

const (
	Bash Shell = "bash"
	Zsh  Shell = "zsh"
	Fish Shell = "fish"
)

// For says which shell it is that path and argv start, and whether it can be given the
// integration: it must be interactive, and all its arguments flags that are known here. What runs
// a script or a line (-c, -s, FILE), is restricted, privileged or POSIX's own, or reads no line by
// an editor of its own, is not.
//
// argv[0] may begin with "-", as that of a login shell does.
func For(file string, argv []string) (Shell, bool) {
	if len(argv) == 0 {
		return "", false
	}
	s := Shell(strings.TrimPrefix(path.Base(argv[0]), "-"))
	if !s.known() {
		s = Shell(path.Base(file))
	}
	if base := Shell(path.Base(file)); !s.known() || file != "" && base != s {
		return "", false // such as bash under the name of sh, which is another shell then
	}
	_, ok := s.options(argv)
	return s, ok
}

func (s Shell) known() bool { return s == Bash || s == Zsh || s == Fish }

// options are what the arguments of an interactive shell say.
type options struct {
	login     bool
	noRC      bool     // not the user's file for interactive shells
	noProfile bool     // bash: not those for login shells
	rcFile    string   // bash: in place of the user's
	long      []string // bash: must stand before the others
	rest      []string // as they are
}

// options reads argv; ok is false where it has something that is not known here.
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
		case slices.Contains([]string{"-o", "+o", "-O", "+O"}, arg) && more && args[i+1] != "posix":
			o.rest = append(o.rest, arg, args[i+1])
			i++
		case flags(arg, "ilabefhmuvxBCEHPT"):
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
			case "rcs", "norcs", "zle", "nozle", "restricted", "privileged", "singlecommand", "exec", "noexec":
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
		case slices.Contains([]string{"--interactive", "--login", "--no-config", "--private"}, arg), flags(arg, "ilNP"):
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
	return !strings.HasPrefix(strings.Join(o.rest, " "), "+")
}

// flags says whether an argument is of single letters, all among those that are known.
func flags(arg, known string) bool {
	if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
		return false
	}
	return strings.Trim(arg[1:], known) == ""
}
