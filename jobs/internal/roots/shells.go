package roots

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A family is a group of shells that read a line alike.
type family struct {
	langs []syntax.LangVariant // all dialects that a shell of the family may speak
	ksh   bool                 // test computes: [ x -eq 1 ] evaluates x
	zsh   bool
	given *options // options of the shell
	later bool     // the text is read while a line of the same shell runs
}

// speaking returns the family for a text that the shell reads in the same dialect as the line, as with eval.
func (f *family) speaking(lang syntax.LangVariant) *family {
	one := *f
	one.langs = []syntax.LangVariant{lang}
	one.later = true
	return &one
}

// bashOptions and posixOptions are options that do not change the meaning of a line: those of bash, and those that all
// other shells share: -b ends the options of zsh, and dash has no long options. Not among them are -i, which reads the
// user's start-up files, -s, which reads commands from stdin, and -k, which turns arguments into assignments.
var (
	bashOptions  = options{flags: "abBCcDeEfhHlmnprtuvxP", values: "o", long: "login norc noprofile restricted verbose noediting help version"}
	posixOptions = options{flags: "aCcefhlmnpuvx", values: "o", long: "login help version"}
)

// sh is dash, bash, busybox or ksh, depending on the system. The parser for zsh is young, and Korn shells differ: their
// lines must have the same meaning in bash, which is parsed best.
var (
	posixFamily = &family{langs: []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash}, ksh: true, given: &posixOptions}
	bashFamily  = &family{langs: []syntax.LangVariant{syntax.LangBash}, given: &bashOptions}
	kshFamily   = &family{langs: []syntax.LangVariant{syntax.LangMirBSDKorn, syntax.LangBash}, ksh: true, given: &posixOptions}
	zshFamily   = &family{langs: []syntax.LangVariant{syntax.LangZsh, syntax.LangBash}, ksh: true, zsh: true, given: &posixOptions}
)

var families = map[string]*family{
	"sh": posixFamily, "dash": posixFamily, "ash": posixFamily, "posh": posixFamily, "yash": posixFamily,
	"bash": bashFamily, "rbash": bashFamily,
	"zsh": zshFamily, "rzsh": zshFamily,
	"ksh": kshFamily, "ksh93": kshFamily, "rksh": kshFamily, "mksh": kshFamily, "lksh": kshFamily,
	"oksh": kshFamily, "loksh": kshFamily, "pdksh": kshFamily,
	// Shells whose lines cannot be read.
	"fish": nil, "nu": nil, "xonsh": nil, "elvish": nil, "csh": nil, "tcsh": nil, "rc": nil, "es": nil,
	"hush": nil, "sash": nil, "mrsh": nil, "gosh": nil, "brush": nil, "bosh": nil, "ion": nil,
	"osh": nil, "ysh": nil, "murex": nil, "pwsh": nil, "powershell": nil, "cmd": nil,
}

func familyOf(shell string) (*family, bool) {
	f := families[base(shell)]
	return f, f != nil
}

// base returns the name of a program without its directory, and without the extension that Windows lets users omit.
func base(program string) string {
	name := path.Base(strings.ReplaceAll(program, `\`, "/"))
	for _, ending := range []string{".exe", ".EXE", ".cmd", ".bat", ".com"} {
		if cut, ok := strings.CutSuffix(name, ending); ok && cut != "" {
			return cut
		}
	}
	return name
}

// runsShell examines a call of a shell: its text after -c.
func (r *reader) runsShell(name string, args []word) {
	fam, known := familyOf(name)
	if !known {
		r.note("lines of the shell " + name + " cannot be analysed")
		return
	}
	if r.noPath {
		r.note(name + " looks for programs in directories of its own choice if PATH is unset")
	}
	got, rest := r.options(name, args, fam.given)
	for _, o := range got {
		if o.name == "o" && !(o.value.known && harmlessSetting(o.value.text)) {
			r.note(name + " -o changes how commands are read")
		}
	}
	switch {
	case got.has("help"), got.has("version"):
	case !got.has("c") && len(rest) == 0:
		r.note(name + " reads commands from its input")
	case !got.has("c"):
		r.note(name + " runs a file whose commands are unknown")
	case len(rest) == 0: // an error of the shell
		r.note(name + " -c has no command")
	case strings.HasPrefix(rest[0].text, "+"):
		r.note(name + " takes " + rest[0].text + " for an option, and its command from the next argument")
	default:
		r.text(rest[0], fam, name+" -c")
	}
}

// text examines a text that is a program of its own.
func (r *reader) text(w word, fam *family, what string) {
	if !w.known {
		r.note("the command of " + what + " is known only when the line runs")
		return
	}
	if why := unreadable(w.text); why != "" {
		r.note(why)
		return
	}
	r.merge(r.total.read(w.text, fam, r.depth+1))
}

// joined examines the text of commands that join their arguments.
func (r *reader) joined(words []word, fam *family, what string) {
	all := word{known: true}
	for i, w := range words {
		if i > 0 {
			all.text += " "
		}
		all.text += w.text
		all.known = all.known && w.known
	}
	r.text(all, fam, what)
}
