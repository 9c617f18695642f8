package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// An execGenerator generates commands for a shell that end, read no input, and have the same effect in a script.
type execGenerator struct {
	*rand.Rand
	shell string
	file  string // quoted path of a writable file
}

func (g *execGenerator) pick(of ...string) string { return of[g.IntN(len(of))] }

// in returns the form for bash and zsh, or that for fish.
func (g *execGenerator) in(posix, fish string) string {
	if g.shell == "fish" {
		return fish
	}
	return posix
}

func (g *execGenerator) name() string { return g.pick("v", "w", "x_1", "LONGER") }

func (g *execGenerator) word() string {
	return g.pick("one", "'two words'", `"in quotes"`, `"$v"`, `"$w"`, `"$PWD"`, "'a!b'", "'it\"s'", "ä日🙂", `'back\slash'`, "'#'", "'~'", "'$v'", "-n'x'", "''", "'a;b'", "'^'", "'%s'", "'*'", "'a\nb'", "'\t'")
}

// step returns one command, of one or several lines.
func (g *execGenerator) step() string {
	switch g.IntN(8) {
	case 0:
		return g.simple() + g.pick("; ", "\n", " && ", " || ", "\n\n# "+g.pick("a comment", "don't", "`x")+"\n") + g.simple()
	case 1:
		return g.compound()
	case 2:
		return g.compound() + "\n" + g.simple()
	default:
		return g.simple()
	}
}

// simple returns a command that may be part of a list.
func (g *execGenerator) simple() string {
	n := g.name()
	switch g.IntN(17) {
	case 0:
		return "cd " + g.pick("a", "b", "..", "../..", "'b 2'", "ü", "c", "d", "/", "-", ".", "a/b", "'a/b 2'", "nowhere") + " >/dev/null 2>&1"
	case 1:
		return g.in(n+"="+g.word(), "set -g "+n+" "+g.word())
	case 2:
		return g.in("export "+n+"="+g.word(), "set -gx "+n+" "+g.word())
	case 3:
		return g.in("unset "+n, "set -e "+n)
	case 4:
		return g.in(`echo "${`+n+`-unset}"`, `set -q `+n+`; and echo "$`+n+`"; or echo unset`)
	case 5:
		return "sh -c 'echo \"[${" + n + "-unset}]\"'"
	case 6:
		return "printf '%s\\n' " + g.word() + " " + g.word()
	case 7:
		return "printf %s " + g.word()
	case 8:
		return g.pick("true", "false", fmt.Sprintf("sh -c 'exit %d'", g.IntN(256)), g.in("! true", "not true"), g.in("(exit 3)", "command false"), "test -d b", g.in("no-such-command-x 2>/dev/null", "command test -d b"))
	case 9:
		return g.in("echo $?", "echo $status")
	case 10:
		return "pwd"
	case 11:
		return "umask " + g.pick("022", "077", "027", "002") + g.in("; umask", "")
	case 12:
		return fmt.Sprintf(g.in("echo $((%d %s %d))", "math '%d %s %d'"), g.IntN(1000), g.pick("+", "-", "*", "%"), 1+g.IntN(99))
	case 13:
		return fmt.Sprintf("seq %d | tail -n %d", 1+g.IntN(2000), 1+g.IntN(5))
	case 14:
		return "echo " + g.word() + " >" + g.file + "; cat " + g.file + "; ls -l " + g.file + " | cut -c1-10"
	case 15:
		return "echo to err >&2; echo to out"
	default:
		return g.option()
	}
}

// option returns a command with a lasting effect.
func (g *execGenerator) option() string {
	switch g.shell {
	case "bash":
		return g.pick("set -f; echo *; set +f", "set -o pipefail", "set +o pipefail", "false | true", "shopt -s nullglob", "shopt -u nullglob", "echo none-*", "set -- a 'b c'; echo $#", "set -a", "set +a")
	case "zsh":
		return g.pick("setopt no_glob; echo *; setopt glob", "setopt pipefail", "unsetopt pipefail", "false | true", "{ setopt null_glob; echo none-*; unsetopt null_glob; }", "setopt sh_word_split", "unsetopt sh_word_split", "set -- a 'b c'; echo $#", "set -a", "set +a", "setopt ksh_arrays; unsetopt ksh_arrays")
	}
	return g.pick("set -g list a 'b c'; count $list", "false | true; echo $pipestatus", "string upper abc", "set -l gone 1", "echo (count $list)", "set -g fish_trace; set -e fish_trace")
}

// compound returns a compound command.
func (g *execGenerator) compound() string {
	inner := g.simple()
	for strings.HasPrefix(inner, "cd ") {
		inner = g.simple()
	}
	sep := g.pick("; ", "\n")
	switch g.IntN(9) {
	case 0:
		return g.in("if "+g.pick("true", "false", "test -d a")+"; then"+g.pick(" ", "\n")+inner+sep+"else echo no"+sep+"fi", "if "+g.pick("true", "false", "test -d a")+sep+inner+sep+"else"+sep+"echo no"+sep+"end")
	case 1:
		return g.in("for i in 1 2 3; do"+g.pick(" ", "\n")+inner+sep+"echo $i"+sep+"done", "for i in 1 2 3"+sep+inner+sep+"echo $i"+sep+"end")
	case 2:
		return g.in("i=0; while [ $i -lt 3 ]; do i=$((i + 1)); [ $i = 2 ] && continue; echo $i; done", "set i 0; while test $i -lt 3; set i (math $i + 1); test $i = 2; and continue; echo $i; end")
	case 3:
		return g.in("f() {\n"+inner+"\nreturn "+fmt.Sprint(g.IntN(9))+"\n}\nf", "function f\n"+inner+"\nreturn "+fmt.Sprint(g.IntN(9))+"\nend\nf")
	case 4:
		return g.in("case $v in one|two*) echo case ;; *) "+inner+" ;; esac", "switch \"$v\"\ncase one 'two*'\necho case\ncase '*'\n"+inner+"\nend")
	case 5:
		return g.in("( "+inner+"; exit "+fmt.Sprint(g.IntN(5))+")", "begin; "+inner+"; end")
	case 6:
		return g.in("cat <<EOF\na ${v-} $((1 + 2))\n\tb\nEOF", "printf '%s\\n' \"a $v\" (math 1 + 2)")
	case 7:
		return g.in("echo \"$( "+inner+")\"", "echo (echo sub)")
	default:
		return g.in("{ "+inner+"; } | cat", "begin; "+inner+"; end | cat")
	}
}
