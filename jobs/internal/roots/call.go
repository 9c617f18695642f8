package roots

import (
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// reserved are reserved words that may occur as the name of a command in one dialect. Other versions of the shell may
// treat them as reserved.
var reserved = sync.OnceValue(func() []string {
	return strings.Fields("! { } [[ ]] (( )) if then else elif fi case esac for select while until do done in function coproc foreach end repeat always nocorrect noglob - namespace")
})

// call examines a simple command. Its assignments are visited separately.
func (r *reader) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	words := make([]word, len(c.Args))
	for i, arg := range c.Args {
		words[i] = wordOf(arg, r.lang)
	}
	first := words[0]
	if name := assigns(r.source(c.Args[0])); name != "" {
		r.note("whether " + name + "… is an assignment or a command depends on the shell and its locale")
	}
	switch function, defined := r.functions[first.text]; {
	case !first.known:
		r.note("a command is named by an expansion")
		return
	case !first.quoted && slices.Contains(reserved(), first.text):
		r.note("whether " + first.text + " is a word of the shell depends on its version")
	case r.family.zsh && strings.ContainsAny(patternOf(c.Args[0]), "{}"):
		r.note("a brace begins a list of commands in some shells")
	case !first.quoted && strings.HasPrefix(first.text, "{") && !isName(strings.Trim(first.text, "{}")) && assigns(strings.Trim(first.text, "{}")+"=") != "":
		r.note("whether " + first.text + " names a descriptor depends on the shell and its locale")
	case defined && r.statement > function.from && r.statement < function.until:
		return // its body is examined at its definition
	}
	r.command(words)
}

// assigns returns the start of a word that some shell may treat as an assignment (NAME=, NAME+= or NAME[…]=), or "".
// The parser accepts fewer names than shells do: zsh also assigns to parameters by number and to names with letters of
// all alphabets, ksh93 to names with dots, and bash goes by the letters of its locale.
func assigns(word string) string {
	end := strings.IndexFunc(word, func(c rune) bool { return c < utf8.RuneSelf && c != '.' && !isName("x"+string(c)) })
	if end <= 0 {
		return ""
	}
	after := word[end:]
	if after[0] == '[' {
		after = after[strings.LastIndexByte(after, ']')+1:]
	}
	if after = strings.TrimPrefix(after, "+"); !strings.HasPrefix(after, "=") {
		return ""
	}
	return word[:end] + "="
}

// command examines a command and its arguments. It comes from a line, from another command, or from a start without a
// shell.
func (r *reader) command(words []word) {
	if len(words) == 0 {
		return
	}
	first, args := words[0], words[1:]
	if !first.known {
		r.note("a command is named by an expansion")
		return
	}
	name := first.text
	switch {
	case name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\n\x00"):
		r.note("a command has an invalid name")
	case first.tilde:
		name = "./" + name
	case byDescriptor(name):
		r.note(name + " refers to a file that a process has open, or to its directory")
	}
	r.add(name)
	if r.depth > maxDepth {
		r.note("commands are nested too deeply")
		return
	}
	r.evaluated(name, args)
	r.depth++
	if run := builtins()[name]; run != nil {
		run(r, name, args)
	} else {
		r.wrapped(base(name), args)
	}
	r.depth--
}

// byDescriptor reports whether a path may name a program through a process's open files or its directory:
// /proc/self/cwd/x, /dev/fd/3.
func byDescriptor(name string) bool {
	clean := "/" + strings.TrimLeft(path.Clean(name), "/.~+-") + "/"
	return strings.Contains(name, "/") && slices.ContainsFunc([]string{"/proc/", "/dev/fd/", "/dev/std"}, func(p string) bool { return strings.HasPrefix(clean, p) })
}

// special reports whether a function with that name would hide a command that this package examines.
func special(name string) bool {
	_, wraps := wrappers()[name]
	_, shell := families[name]
	return wraps || shell || runnerNames()[name] || builtins()[name] != nil || slices.Contains(opaque(), name) || slices.Contains(reserved(), name) ||
		slices.Contains(plain(), name)
}

// plain are builtins that run nothing, and that no honest line hides with a function.
var plain = sync.OnceValue(func() []string {
	return strings.Fields("cd pwd echo true false : exit return break continue shift kill wait umask ulimit type times getopts")
})
