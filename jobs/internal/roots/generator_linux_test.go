package roots

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// A generator makes lines from elements of shell syntax. None contains a slash or a dot, so that a faulty line cannot
// leave its directory.
type generator struct {
	*rand.Rand
	shell     string   // the program that runs the lines
	documents []string // pending here-documents, for the next newline
}

func (g *generator) line() string {
	line := g.program()
	if g.IntN(2) == 0 {
		line = g.mutated(line)
	}
	return line
}

func (g *generator) program() string {
	g.documents = nil
	switch g.IntN(9) {
	case 0:
		return g.soup()
	case 1, 2:
		return g.odd(1) + g.pick("", ";", "\n") + "\n" + g.flush()
	case 3:
		return g.row()
	case 4:
		return g.pick(g.uncovered(), g.computing(), g.subscript(), g.assignment(), g.substituted(), g.substituted(), g.ordered(), g.described(), g.braced()) + "\n" + g.flush()
	}
	n := 1 + g.IntN(3)
	var b strings.Builder
	for range n {
		b.WriteString(g.statement(3))
		b.WriteString(g.pick(";", "\n", "\n", " & wait\n", ";  # canary 'x\n"))
		if strings.HasSuffix(b.String(), "\n") {
			b.WriteString(g.flush())
		}
	}
	return b.String() + "\n" + g.flush()
}

func (g *generator) flush() string {
	text := strings.Join(g.documents, "")
	g.documents = nil
	return text
}

func (g *generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g *generator) command() string { return stubNames[1+g.IntN(len(stubNames)-1)] }

// spelled returns a spelling of a command's name.
func (g *generator) spelled() string {
	c := g.command()
	if g.IntN(60) == 0 {
		return g.pick("$"+c, "${x}"+c, "{"+c+",canary}", "c\\\n"+c[1:], "c["+c[1:]+"]", "$'"+c+"'")
	}
	return g.pick(c, c, c, c, "'"+c+"'", `"`+c+`"`, `c\`+c[1:], `c""`+c[1:])
}

// statement returns a statement without its terminator. Loops end by the status of their condition.
func (g *generator) statement(depth int) string {
	if depth == 0 {
		return g.simple(0)
	}
	s := func() string { return g.statement(depth - 1) }
	if g.IntN(3) == 0 {
		return g.odd(depth - 1)
	}
	switch g.IntN(30) {
	case 0:
		return s() + g.pick(" | ", " && ", " || ", "|", " |& ") + s()
	case 1:
		return "(" + s() + ")"
	case 2:
		return "{ " + s() + "; }"
	case 3:
		return "if " + s() + "; then " + s() + g.pick("", "; else "+s(), "; elif c0; then "+s()) + "; fi"
	case 4:
		return "while c1; do " + s() + "; done" // a broken pipe does not continue it
	case 5:
		return "for x in 1 " + g.argument(depth-1) + "; do " + s() + "; done"
	case 6:
		return "case " + g.argument(depth-1) + " in c*) " + s() + ";; (*) " + s() + ";; esac"
	case 7:
		return "f() { " + s() + "; }; " + g.pick("f", "f; f x", ":")
	case 8:
		return "! " + s()
	case 9:
		return g.pick("[[", "[") + " a = " + g.argument(depth-1) + g.pick(" ]]", " ]") + " || " + s()
	case 10:
		return "eval " + singleQuoted(s())
	case 11:
		return g.pick("bash", "sh") + " -c " + singleQuoted(s())
	case 12:
		return "(trap " + singleQuoted(s()) + " EXIT)"
	case 13:
		return g.pick("env ", "env X=1 ", "nice ", "nohup ", "timeout 9 ", "xargs ", "command ", "exec ", "setsid -w ", "env -i ") + g.simple(depth-1)
	case 14:
		return "find -maxdepth 0 -exec " + g.command() + g.pick(" {}", "", " x") + " ';'"
	case 15, 19:
		begin := g.pick(" <<E", " <<E", " <<'E'", " <<-E", ` <<\E`, ` <<"E" `) + g.pick("", "", " "+g.argument(depth-1))
		g.documents = append(g.documents, g.document(depth-1))
		return g.spelled() + begin
	case 16:
		return "x=" + g.argument(depth-1) + g.pick("", "", "", "; "+s(), "; "+s(), "; "+s(), "; echo $((x))", "; $x", "; eval $x")
	case 17:
		return "time " + s()
	case 18:
		return "((1)) && " + s()
	case 20:
		return g.pick("declare", "export", "a=(1); readonly") + " z=" + g.argument(depth-1)
	case 21:
		return "b=(" + g.argument(depth-1) + " [3]=" + g.argument(depth-1) + "); " + s()
	case 22:
		return "for ((i=0; i<2; i++)) { " + s() + "; }"
	case 23:
		return "function g {\n" + s() + "\n} 2>o; g"
	case 24:
		return "[[ x =~ ^(a|x)" + g.pick("$", "", "*", "[[:alpha:]]") + " ]] && " + s()
	case 25:
		return g.pick("coproc ", "coproc N ") + "{ " + s() + "; } <&-; wait"
	case 26:
		return "{fd}>o " + g.simple(depth-1)
	case 27:
		return "case x in x|y) " + s() + g.pick(";&", ";;&", ";;") + " *) " + s() + "\nesac"
	}
	return g.simple(depth)
}

func (g *generator) simple(depth int) string {
	var b strings.Builder
	b.WriteString(g.pick("", "", "", "X="+g.argument(depth)+" "))
	b.WriteString(g.spelled())
	for range g.IntN(3) {
		b.WriteString(g.pick(" ", "\t", " \\\n"))
		b.WriteString(g.argument(depth))
	}
	b.WriteString(g.pick("", "", " >o", " 2>&1", " <<<x", " &>o"))
	return b.String()
}

func (g *generator) argument(depth int) string {
	if depth <= 0 {
		return g.pick("a", `'$(canary)'`, `"a'b"`, `'"'`, `\"`, `"\""`, `a#b`, `$'\''`, `\$`, "c1", `"\$(canary)"`, "$((1+1))", "${#x}", `"$x"`, "'`canary`'", "\"a\ncanary\"", "'a\ncanary'")
	}
	if g.IntN(6) == 0 {
		return g.oddWord()
	}
	s := g.statement(depth - 1)
	if g.IntN(30) == 0 {
		return g.pick("$((1+$("+s+")))", `"${y:-'$(`+s+`)'}"`, "$(("+g.command()+"))", "<("+s+")")
	}
	return g.pick("$("+s+")", `"$(`+s+`)"`, "`"+g.command()+" a`", "${y:-$("+s+")}", `"${y:-$(`+g.command()+`)}"`, `"a'$(`+s+`)'b"`, "$(\n"+s+"\n)",
		"${y:-'$(canary)'}", "a", "${u/a/$("+s+")}", "${PWD##*$("+g.command()+")}", "$(# it's\n"+s+" # don't\n)", "$( ("+s+") )", "$(case x in (x) "+s+";; y) canary; esac)", "\"$(case x in x) "+g.command()+";; esac)\"", "'"+g.command()+"'")
}

func (g *generator) document(depth int) string {
	return g.pick("", "text\n", "'") + g.argument(depth) + g.pick("", "'", `"`) + "\n" + g.pick("", "`c3`\n", "\\$(canary)\n", "${y:-$(c2)}\n", "E canary\n", " E\n") + g.pick("E\n", "E\n", "E\n", "\tE\n")
}

func singleQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// payload returns a text that runs the canary if a shell expands or evaluates it, or reads it as a command.
func (g *generator) payload() string {
	return g.pick("$(canary)", "$(canary)", "`canary`", "a[$(canary)]", "a[`canary`]", "<(canary)", ">(canary)", "canary", "; canary", "\ncanary\n", "&canary", "|canary", "$ev", "$ew", "$ep", "${!ew}", "${ev@P}", "($(canary))", "{canary,}", "(canary)", "ev", "ew", "x\ncanary #",
		"*(e:canary:)", "=canary", "${(e)ev}", "$~ev", "${ canary;}", "${|canary;}", "$(<g)", "${x:e}", "~[$(canary)]", "<1-2>", "^canary", "{canary}", "} canary {")
}

// oddWord returns a payload within quotes, patterns and expansions, some of which a shell must not expand.
func (g *generator) oddWord() string {
	p := g.payload()
	for range g.IntN(3) {
		p = g.pick("'"+p+"'", "\""+p+"\"", "$'"+p+"'", "`"+p+"`", "`"+p+"'`", "`'"+p+"`'", "@("+p+")", "+("+p+"|x)", "!("+p+")", "?(a|"+p+")", "\\"+p, "a"+p, p+"#", "{"+p+",b}", "["+p+"]", "~"+p,
			"${y:-"+p+"}", "${y-"+p+"}", "${PWD%%"+p+"}", "${PWD/"+p+"/x}", "${y:="+p+"}", "\"${y:-"+p+"}\"", "$(("+p+"))", "$["+p+"]", "${y["+p+"]}", "${y:"+p+"}", "="+p, p+"=", "$("+p+")", "$\""+p+"\"", "x=("+p+")", "<("+p+")", "$"+p, p+p, "\"`"+p+"`\"", "'`'"+p)
	}
	return p
}

// names are variables with a special meaning in some shell, and a few without.
var names = strings.Fields(`x y v w a _ PATH IFS ENV BASH_ENV PS4 ERRNO OPTIND SECONDS RANDOM LINENO COLUMNS LINES TMOUT HISTSIZE SAVEHIST KEYTIMEOUT LISTMAX MAILCHECK
	SHLVL FUNCNEST ZLE_RPROMPT_INDENT REPORTTIME REPORTMEMORY DIRSTACKSIZE PERIOD LOGCHECK BAUD TTYIDLE USERNAME UID GID EGID PPID HISTCMD EPOCHREALTIME PIPESTATUS STTY
	NULLCMD READNULLCMD REPLY OPTARG MAPFILE DIRSTACK CDPATH path fpath argv status pipestatus signals options aliases functions TIMEFMT WATCH POSTEDIT PROMPT prompt
	PGRP KSHUID KSHEGID USER_ID BASHPID BASH_ARGV0 BASH_COMPAT FUNCNAME GROUPS HOME SHELL MAIL MAILPATH TIMEFORMAT ARGV0 ARGC ZSH_SUBSHELL TRY_BLOCK_ERROR EXECSHELL COMP_WORDBREAKS`)

// hot are names that steer in many ways; they are used more often.
var hot = strings.Fields("PATH BASH_ENV ENV ERRNO ZLE_RPROMPT_INDENT OPTIND STTY PS4 IFS x")

func (g *generator) name() string {
	if g.IntN(2) == 0 {
		return g.pick(hot...)
	}
	return g.pick(names...)
}

// odd returns a statement of a kind that parsers read differently.
func (g *generator) odd(depth int) string {
	w, p, s := g.oddWord(), "'"+strings.ReplaceAll(g.payload(), "'", "")+"'", g.statement(max(depth, 0))
	name := g.name()
	switch g.IntN(36) {
	case 0:
		return "[[ " + g.pick("x", p, w) + g.pick(" == ", " = ", " != ", " =~ ", " -eq ", " -lt ", " < ", " -nt ") + w + " ]]"
	case 1:
		return g.pick("[[ ", "[ ", "test ", "[ ! ", "[[ ! ", "[ x -o ") + g.pick("-t ", "-v ", "-R ", "-f ", "-n ", "-o ", "-z ", "-t", "-u ") + g.pick(w, p) + g.pick(" ]", " ]]", "", " -a x ]")
	case 2:
		return g.pick("echo", "c1", "", "exec", "{ c1; }", "(c1)") + " " + g.pick("", "2", "1", "{x}", "{a[0]}", "9") + g.pick(">&", "<&", "&>", ">", "<<<", "<>", ">|", "&>>", ">>", "<", ">!", ">&|") + g.pick(w, p, w, " "+p)
	case 3:
		return name + g.pick("=", "+=") + "(" + g.pick("", "1", w) + ")" + g.pick("#", "# ", " #", "x", ";#", "&#", "<x #", "") + g.pick("; canary", " canary", "\n"+s, "$(canary)")
	case 4:
		return "coproc " + g.pick("", "N ", "canary ", "X=1 ", "! ", "time ", ">o ") + g.pick(">x", "<<<x", "2>&1", "canary", s, "{ "+s+"; }", "( "+s+" )", "| cat", "canary x", "if c0; then "+s+"; fi") + "; wait"
	case 5:
		return g.pick("sleep 0 & ", "", "c0 & ") + "wait" + g.pick(" -n", " -f", " -p", " -np", " -fnp", " -n -p", " -pn", " -fp", " -npx -p", "") + g.pick(" ", "", " -- ") + g.pick(p, w, name, "'b[0]'")
	case 6:
		return g.pick("canary=1; ", "", "i=1; ") + "let " + g.pick("1", "i=1", "canary", "'"+p+"'") + g.pick("&&", "|", "||", "&", "<", ">", ";", "<(", "#", " ", "+", "*", "?", ",", "=", "[") + g.pick("canary", w, "canary)", "1")
	case 7:
		return g.pick("f() { ", "function f { ", "{ ", "f() ( ") + g.pick("local", "declare", "typeset", "readonly", "export", "global", "integer", "private", "command local", "builtin typeset", "declare -g", "local -a", "typeset -u", "declare -x", "export -n", "typeset -T") + " " + g.pick(name, name+"="+w, p, "'"+name+"'", name+"="+p, name+" x") + "; " + g.pick("c1", "c2 x", "eval c1", s) + g.pick("; }; f", "; }", " ); f")
	case 8:
		return "echo a | xargs " + g.pick("-n1 ", "--process-slot-var="+name+" ", "-I{} ", "-P2 ", "-i ", "-0 ") + g.pick("bash -c c1", "c1", "zsh -c c1", "env c1", "{}", "bash -c {}", "sh -c 'c1' {}")
	case 9:
		return g.pick("zsh", "bash", "sh", "mksh", "dash") + " " + g.pick("-b", "-c", "-e", "-x", "-k", "-p", "-t", "-r", "-l", "-f", "-o noglob", "-h", "-D", "-C", "-P", "-T", "-H", "-B", "-E", "-u", "+x", "-", "--", "-a", "-m", "-n", "-v", "-i") + " " + g.pick("-c", "-ec", "-cb", "-bc", "-c --", "-c -", "-c -x") + " " + g.pick("c1", "'"+g.pick("c1; ", "")+"canary'", "c2 canary", "-c c1")
	case 10:
		return name + "=" + g.pick("<<<", "<<", ">", "<", "<<<<", "<(", "=(", "$'", ">&") + g.pick(p, w, "'E'\na[$(canary)]\nE\n", "E\na[\\$(canary)]\nE\n", "x") + "; " + g.pick("echo $(("+name+"))", s)
	case 11:
		return g.pick("/bin/c1", "c1", "a-b", "c1.x", "./c1", "'c1'", "c1=", "~/c1", "c1#", "\\c1", "$x", "function c1", "function ./c1", "function a=b", "[", "time", "test", "true", "nohup", "type", "stop") + g.pick("() { :; }; ", "() { "+s+"; }; ", " () c0; ", "() (c0); ") + g.pick("/bin/c1 x", "c1 x", "a-b", "c1.x", "./c1", "c1= ", "~/c1", "c1", "time c1", "nohup c1", "type c1", "true c1")
	case 12:
		return name + "=" + g.pick(p, w, "$ew", "1", "$ev") + g.pick("; ", " ", "; export "+name+"; ") + g.pick("echo $(("+name+"))", "c1", "echo x >&$"+name, "[[ "+name+" -eq 1 ]]", "echo ${a["+name+"]}", "declare b=$"+name, "bash -c c1", "zsh -c c1", "mksh -c c1", "echo ${PWD:"+name+"}", "read "+name+" <f", "f() { local "+name+"; c1; }; f", "for "+name+" in 1; do c1; done")
	case 13:
		return g.pick("read ", "read -r ", "read -ra ", "read -a ", "printf -v ", "getopts x ", "mapfile ", "mapfile -t ", "unset ", "unset -v ", "export ", "readonly ", "read -t ", "read -n ", "read -u", "read -p ", "mapfile -C ", "readarray -n ") + g.pick(name, p, w, "-"+name, "a"+name) + g.pick(" <f", " <g", " <h", "") + "; " + g.pick("echo $(("+name+"))", "c1", "declare b=$"+name, "[[ "+name+" -eq 1 ]]", "echo x >&$"+name)
	case 14:
		return g.pick("declare", "typeset", "local", "readonly", "export", "declare -i", "typeset -i", "declare -a", "declare -A", "typeset -x", "declare -p", "export -p", "export -f", "typeset -f", "declare -rx", "typeset -U", "typeset -Z3", "typeset -n", "integer", "global") + " " + g.pick(name+"="+p, name+"="+w, p, name+"=(1 "+w+")", name+"["+w+"]=1", "'"+name+"=($(canary))'", name+"=$ep", name+"=$ew")
	case 15:
		return g.pick("exec -a ", "env -a ", "env --argv0=", "env --argv0 ", "exec -ca ", "exec -la ", "command -p ", "command -- ", "builtin command ", "exec -c ", "env -S ", "env -uPATH ", "env -C . ", "nice -n 1 ", "timeout 1 ", "setsid -w ", "stdbuf -o0 ") + g.pick("sh", "c1", "bash", w) + " " + g.pick("c1", "canary", "bash -c c1", "-c canary")
	case 16:
		return "trap " + g.pick("", "-- ", "- ", "-p ", "x ") + g.pick(p, w, "c1") + " " + g.pick("EXIT", "0", "ERR", "DEBUG", "USR1", "ZERR", "RETURN") + "; " + g.pick("c1", s)
	case 17:
		return "eval " + g.pick(w, p, "'"+s+"'", "-- "+p, "c1 "+w)
	case 18:
		return "for " + g.pick(name, "x", "x y") + g.pick(" in 1; do ", " in "+w+"; do ", "; do ", " (1 2) ", " in 1; { ", " { ", " do ") + s + g.pick("; done", "; }", "")
	case 19:
		return "case " + g.pick("x", w) + g.pick(" in ", " { ", " in\n") + g.pick("x)", "(x)", w+")", "x|"+w+")", "@("+g.payload()+"))", "x) c1 ;; "+w+")", "(x|y)#", "") + " " + s + g.pick(" ;;", ";&", ";;&", ";|", "") + g.pick(" esac", " }", "\nesac")
	case 20:
		return g.pick("if ", "while ", "until ") + g.pick("[[ a == b ]]", "c1", "(c1)", "{ c1; }", "[ a = "+w+" ]") + g.pick("; then ", " { ", " ", "; do ", "\nthen ") + s + g.pick("; fi", "; }", "; done", "")
	case 21:
		return "echo " + w + g.pick("|", "|&", "&&", "&", ";", "&!", "&|", "||", "\n", "# ") + s
	case 22:
		q := g.pick("'", "\"", "$'", "# ", "$(", "${x:-", "<<E\n")
		if g.IntN(2) == 0 {
			return g.pick("echo ", "cat <<E\n", "echo \"", "x=") + "`echo " + q + "`" + g.pick("; canary; ", " canary ", "\ncanary\n", "$(canary)", "|canary|") + "`echo " + strings.TrimPrefix(q, "$") + "`" + g.pick("", "\"", "\nE\n", ")", "}")
		}
		return "echo `" + g.pick("echo ", "c1 ", "", "cat <<E\n", "echo $(", "# ", "echo ${x:-") + g.pick("'", "\"", "\\", "#", "$'", "`", "", "\\`", "$(", "}") + "`" + g.pick("; canary; ", " canary ", "\ncanary\n", "$(canary)", "; echo ") + g.pick("echo ", "") + "`" + g.pick("'", "\"", "#", "", ")", "\nE\n") + g.pick("`", " `", "`'", "")
	case 23:
		return g.pick("", "c1 ") + "<<" + g.pick("E", "'E'", "\\E", "-E", "\"E\"", "E\"\"", "$x", "E#", "<E") + g.pick("", "; c1", " | cat", "; echo `", " && { c1", " # x") + "\n" + g.pick(g.payload(), w, "'"+g.payload(), "`echo '`", "\\"+g.payload(), "${y:-"+g.payload()+"}", "\"$(canary)\"") + g.pick("\nE\n", "\n E\ncanary\nE\n", "\n\tE\n", "\nE#\n", "\nE \nE\n", "\\\nE\n") + g.pick("", "canary", "`", "}\n", s)
	case 24:
		return g.pick("cd ", "cd -P ", "pushd ", "hash ", "type ", "command -v ", "ulimit -n ", "umask ", "exit ", "shift ", "return ", "set -", "set +", "set -o ", "shopt -s ", "jobs -x ", "times ", "dirs ", "fg ", "disown ", "suspend ", "limit ", "sched ", "print ", "whence ", "echo -e ", "printf %d ", "printf %s ", "printf '%(x)T' ", "printf %*s ", "echotc ", "noglob ", "- ") + g.pick(w, p, name, "J; canary", "x; c1", "k; c1") + g.pick("", "; c1", "; ./c1")
	case 25: // short forms, most of them of zsh
		return g.pick("for x ("+w+") ", "repeat 1 ", "if [[ a == a ]] ", "if (c0) ", "while (c1) ", "foreach x ("+w+"); ", "select x in "+w+"; ", "until [[ a == a ]] ", "() ", "function ", "f g () ", "time ", "! ", "nocorrect ", "noglob ", "- ", "{ c1 } always ", "if c0; then c1; else ") + g.pick("canary", "{ canary }", s, "(canary)", "{ "+s+" }", "canary; end", "{ canary; }") + g.pick("", "; done", "; fi", "; end", " } ; c1")
	case 26: // a function and a call of its name
		n := g.pick("c1", "./c1", "c1-x", "f", "c2", "[", "cat")
		return g.pick("", "", ": $((1/0)); ", "x=1; ", "readonly r=1; r=2; ", "c1\n") + g.pick(n+"()", "function "+n, "function "+n+"()", n+" f()") + g.pick(" { :; }", " { "+s+"; }", " (c0)", "\n{ :; }", " { :; } >o", " { :; } &", " { :; } | cat") + g.pick("; ", "\n", " && ") + g.pick(n, n+" x", "eval "+n, "command "+n, "(unset -f "+n+"; "+n+")", "bash -c "+n, "trap "+n+" EXIT", "PATH=$PWD "+n, "x=1 "+n, "\\"+n, "`"+n+"`")
	case 27:
		return g.uncovered()
	case 28:
		return g.assignment()
	case 29:
		return g.computing()
	case 30:
		return g.subscript()
	case 31:
		return g.substituted()
	case 32:
		return g.ordered()
	case 33:
		return g.described()
	case 34:
		return g.braced()
	}
	return g.soup()
}

// uncovered removes a function that hides a command.
func (g *generator) uncovered() string {
	c := g.pick("c1", "c2", "canary")
	taken := g.pick("unset ", "unset ", "unset -f ", "unset -f ", "unset -v ", "command unset ", "builtin unset ", "command unset -f ", "eval unset ", "eval unset -f ", "unfunction ", "typeset -fu ", "disable -f ",
		"autoload ", "unalias ", "unhash -f ", "export -fn ", "typeset +f ") + c
	hidden := g.pick(c+"() { :; }", "function "+c+" { :; }", c+"() {\n:\n}")
	call := g.pick(c, c+" x", "eval "+c, "("+c+")", c+" | cat")
	event := g.pick("DEBUG", "DEBUG", "ERR", "ZERR", "EXIT", "RETURN")
	switch g.IntN(7) {
	case 0, 1:
		return "f() { " + taken + "; }; eval " + singleQuoted(hidden+"; f; "+call)
	case 2:
		return "trap " + singleQuoted(taken) + " " + event + "; eval " + singleQuoted(hidden+"; (exit 1); "+call)
	case 3:
		return "eval " + singleQuoted("f() { "+taken+"; }") + "; " + g.pick("eval "+singleQuoted(hidden+"; f; "+call), hidden+"; f; "+call)
	case 4:
		return "f() { " + taken + "; }; trap " + singleQuoted(hidden+"; f; "+call) + " " + event + "; (exit 1)"
	case 5:
		return hidden + "; " + g.pick(taken, "eval "+singleQuoted(taken), "trap "+singleQuoted(taken)+" "+event+"; :") + "; " + call
	}
	return "eval " + singleQuoted(hidden) + "; " + taken + "; " + g.pick(call, "eval "+singleQuoted(call))
}

// assignment returns an assignment to some shells, and the name of a command to others.
func (g *generator) assignment() string {
	if g.IntN(8) == 0 {
		return g.pick("", "X=1 ", "eval ") + g.pick("{\u00e9}", "{1}", "{a.b}", "{a[1]}", "{\u00e9[1]}", "{x}") + g.pick(">o ", "<o ", ">&1 ", "<<<x ") + g.pick("c1", "canary x")
	}
	return g.pick("", "", "if ", "time ", "! ", "X=1 ", ">o ", "exec ", "eval ") + g.pick("1", "0", "12", "1a", "\u00e9", "a\u00e9", "\uff58", "a.b", ".a", "\u0967", "1[1]", "\u00e9[1]", "a[1]", "a-b", "@", "*", "1x") +
		g.pick("=", "=", "+=", "==") + g.pick("2", "", "(2)", g.oddWord()) + " " + g.pick("c1", "c1 x", "exec c1", "canary") + g.pick("", "; then :; fi")
}

// computing returns a builtin that may evaluate its arguments.
func (g *generator) computing() string {
	v := g.pick("x", "x", "n", "limits", "d", "St")
	begin, operand := v+"='a[$(canary)]'; ", g.pick(v, v, "$"+v, "\"$"+v+"\"", "-"+v, v+" 1")
	switch g.IntN(5) {
	case 0, 1:
		return begin + "printf " + g.pick("-- ", "-- ", "-v y ", "-v y ", "-vy ", "- ", "") + g.pick("%d ", "%d ", "-%d ", "%s%d ", "%*s ", "'%d %s' ") + operand
	case 2, 3:
		return begin + "ulimit " + g.pick("", "-n ", "-c ", "-S ", "-St ", "-n -- ", "-n", "-a ") + operand
	}
	return begin + g.pick("shift ", "return ", "exit ", "break ", "read ", "test ", "wait ", "umask ", "sleep ", "typeset ", "getopts ") + g.pick("", "", "-- ", "-n ", "-t ", "-k ", "-u ", "-a ", "-n") + operand
}

// subscript returns an expansion with a subscript, in the place of a word.
func (g *generator) subscript() string {
	w := g.pick("$0", "$0", "$1", "$10", "$?", "$#", "$$", "$!", "$@", "$*", "$-", "$_", "$x", "$a\u00e9", "$\u00e9", "$+0", "$#0", "$#?", "$#@", "$#*", "$#-", "$#!", "$##", "$#$", "$~0", "$=0", "${0}", "${x}", "$0:h", "$(echo)", "$((1))", "$x$0") + g.pick("[x]", "[x]", "[x]", "[1][x]", "[$x]", "['x']")
	w = g.pick(w, w, "\""+w+"\"", "a"+w+"b", "${y:-"+w+"}", "\"${y:-"+w+"}\"", "${y/a/"+w+"}")
	return "x='a[$(canary)]'; " + g.pick("echo "+w, "for y in "+w+"; do :; done", "c1 >"+w, "cat <<<"+w, "case "+w+" in y) ;; esac", "cat <<E\n"+w+"\nE\n", "y="+w, "y=("+w+")", "[[ "+w+" == y ]]", "[ a = "+w+" ]", "echo $(("+w+"))", "echo \"$(echo "+w+")\"", "typeset y="+w)
}

// substituted returns a substitution with a compound command, whose end a shell may find elsewhere.
func (g *generator) substituted() string {
	quoted := g.pick("'$(canary)'", "'$(canary)'", "'`canary`'", "' $(canary) '", "'; canary; '", "\\$(canary)", "\"'\"'$(canary)'", " '$(canary)'", ";'$(canary)'", "# $(canary)\n", "$'$(canary)'")
	pattern := g.pick("*)", "*)", "x)", "(x)", "x|*)", "esac)", "(esac)", "if|*)", "time)", "@(x))", "'x')", "\"x\")", "$x)")
	compound := g.pick("case "+g.pick("x", "''", "in", "time", "esac", "$x", "\n")+g.pick(" in ", " in\n", "\nin ", " in # x\n")+pattern+quoted+g.pick(";;", "", ";;&", "\n", ";")+g.pick("esac", " esac"), "for x in 1; do case x in "+pattern+quoted+";; esac; done",
		"[[ x "+g.pick("=~ (x)", "== (x)", "=~ x|(y)", "< (x)")+" ]]; "+quoted, "((1)); "+quoted, "for ((i=0;i<1;i++)) { "+quoted+"; }", "x=(1) "+quoted, "x=(1)"+quoted, "(c1)"+quoted, "{ c1; }; "+quoted, "f() (c1); "+quoted, "function f() { c1; }; "+quoted,
		"select x in )"+quoted, "c1 @(x)"+quoted, "c1 <<E\n)"+quoted+"\nE\n", "c1 <<'E'\n)"+quoted+"\nE\n", "c1 # )"+quoted+"\n", "c1 )"+quoted, "c1 'x)'"+quoted, "c1 "+g.pick("$(", "${x:-", "`", "<(", "$((1+")+")"+quoted, "if c0; then case x in "+pattern+quoted+";; esac; fi", "f() case x in "+pattern+quoted+";; esac; f")
	for range g.IntN(3) {
		compound = g.pick("time ", "time ", "time -p ", "time -- ", "time\n", "time ! ", "! ", "! time ", "coproc ", "coproc N ", "X=1 ", ">o ", "c1 | ", "c1 && ", "c1; ", "c1 & ", "( ", "{ ", "f() ", "function f ", "if ", "while ", "in ", "then ", "time X=1 ", "time >o ", "time & ", "time; ", "time | ", "noglob ", "command ", "eval ",
			"esac\n", "# ' \n", "case x in y) ;; esac; ", "exec ", "&", "let x=1; ", "declare x=1; ", "declare -a x=(1); ", "export x=(1); ", "alias ", "c1 case x in ", "case in in (in) ") + compound + g.pick("", "", "", "; }", ")", "; fi", "; done", "; c1", " | cat", " 2>&1")
	}
	in := g.pick("$(@)", "$(@)", "$( @ )", "<(@)", ">(@)", "`@`", "$(\n@\n)", "${ @;}", "$((@))", "=(@)")
	word := strings.Replace(g.pick("\"@\"", "\"@\"", "\"a@b\"", "@", "${y:-@}", "${y:-\"@\"}", "\"${y:-@}\"", "\"$(c1 \"@\")\"", "x@", "$(c1 @)", "${PWD/a/@}", "${PWD#@}", "$\"@\""), "@", strings.Replace(in, "@", compound, 1), 1)
	return g.pick("c1 "+word, "x="+word, "x="+word+" c1", "x=("+word+")", "cat <<E\n"+strings.Trim(word, "\"")+"\nE\n", "cat <<<"+word, "for x in "+word+"; do :; done", "case "+word+" in x) ;; esac", "[[ "+word+" == x ]]", "c1 >"+word, "declare x="+word, "((1+"+word+"))", "eval "+singleQuoted("c1 "+word), "f() { c1 "+word+"; }; f", "case x in "+word+") ;; esac", "c0 "+word+" "+word)
}

// ordered returns an expansion that comes after the definition of a function, though it may be expanded before that.
func (g *generator) ordered() string {
	c := g.pick("c1", "c2", "canary")
	hidden := g.pick(c+"() { :; }", c+"() { :; }", "function "+c+" { :; }", "function "+c+" { :;}", c+"() {\n:\n}")
	call := g.pick("$("+c+")", "`"+c+"`", "${y:-$("+c+")}", "$(c0 | "+c+")", "<("+c+")")
	join := func() string {
		return g.pick("; ", ";", "; ", " & ", " && ", " | ", "\n", " || ", "; : $((1/0)); ", "; x=1; ")
	}
	body := "\n" + call + "\nE\n"
	reader := g.pick("cat <<E", "<<E", "cat <<-E", "c0 <<E", "{ cat; } <<E", "cat <<E | cat", "if cat <<E", "x=1 <<E", "exec <<E", "eval cat <<E", "f() { cat; } <<E", "cat <<'F' <<E\nF", "while cat <<E", "time cat <<E", "! cat <<E", "cat <<E >o"+call, "coproc cat <<E", "(cat) <<E")
	if strings.HasPrefix(reader, "if") {
		hidden = "then :; fi; " + hidden
	}
	if strings.HasPrefix(reader, "while") {
		hidden = "do break; done; " + hidden
	}
	switch g.IntN(8) {
	case 0, 1, 2:
		return reader + join() + hidden + g.pick("", "; "+c, "; f", "; :") + body + g.pick("", c, "f", c+" x")
	case 3:
		return hidden + " " + g.pick("<<E", ">o"+call, "<<E >o", "<<<"+call, ">&"+call) + g.pick("; "+c, "", "; f") + body + g.pick("", c)
	case 4:
		return hidden + join() + reader + body + c
	case 5:
		return g.pick("x=", "c0 ", "for x in ", "export x=", "x=(1 ", "[[ x == ", "trap ") + call + join() + hidden + g.pick("", "; "+c, "\n"+c)
	case 6:
		return "f() { " + g.pick(c, "c0 "+call, reader+body) + "; }" + g.pick("; f", "; f &", "; trap f EXIT", "; f | cat") + join() + hidden + join() + g.pick("f", c, "wait")
	}
	return g.pick(": $((1/0))", "c0 ${x?}", "readonly r=1; r=2", ": ${r:?}", "r=$((", ">$", "cat <<E") + join() + hidden + join() + g.pick(c, "{\n"+c+"\n}", "cat <<E"+body, "c0 "+call, "if :; then\n"+c+"; fi", "(\n"+c+")") + g.pick("", "\n"+c)
}

// described returns a named descriptor, which is a variable of a special type in some shells.
func (g *generator) described() string {
	v := g.pick("x", "x", "y", "OPTIND", "fd", "ev", "path")
	value := g.pick("'path[$(canary)]'", "'path[$(canary)]'", "'a[$(canary)]'", "$ew", "$ev", "\"$ew\"", "1")
	made := g.pick("exec ", "exec ", ": ", "c1 ", "{ :; } ", "(:) ", "") + "{" + v + "}" + g.pick(">o", "<f", ">&1", "<<<a", "<>o", ">>o", "<<E\nE\n", ">$", "<&0", ">|o", ">&-", "&>o")
	given := g.pick(v+"="+value, v+"+="+value, "for "+v+" in "+value+"; do :; done", "echo "+value+" | read "+v, "read "+v+" <f", "local "+v+"="+value, "typeset "+v+"="+value, "export "+v+"="+value, "readonly "+v+"="+value, ": ${"+v+":="+value+"}", ": ${"+v+"="+value+"}", "printf -v "+v+" %s "+value,
		"getopts "+value+" "+v+" x", v+"=("+value+")", "f() { "+v+"="+value+"; }; f", v+"="+value+" c1", "select "+v+" in "+value+"; do break; done <f", "(("+v+"++))", "eval "+v+"="+value, "mapfile "+v+" <f", "set -- "+value+"; "+v+"=$1", "env "+v+"="+value+" mksh -c :", "echo $"+v+"[1]", "echo ${"+v+"}[$ew]", "["+" -v "+v+" ]", "coproc "+v+" { :; }", "wait -p "+v)
	if g.IntN(4) == 0 {
		return given + g.pick("; ", "\n") + made + g.pick("", "; "+given)
	}
	return made + g.pick("; ", "\n", " && ") + g.pick("", "", "exec {"+v+"}>&-; ", "unset "+v+"; ") + given
}

// braced returns a substitution in braces, as mksh, ksh93 and new versions of bash have it, or a similar text.
func (g *generator) braced() string {
	inner := g.pick("canary", "canary", "c1; canary", "unset -f c1", "c1() { :; }", "REPLY=x", "'canary'", "{canary", "canary #", "x=canary")
	w := g.pick("${ ", "${|", "${\t", "${\n", "${", "${|\n", "${\\\n ", "$\\\n{ ", "\\${ ", "${ ${ ", "$${ ", "${#", "${( ", "${=", "${<", "${; ", "${{ ") + inner + g.pick(";}", "; }", "\n}", "}", "};}", "} }", ";};}", ")}", ";}}", " ;}", "&}", "|}") + g.pick("", "", "[", "}", "x", "; canary")
	return g.pick("", "", "c1() { :; }; ") + g.pick("c1 "+w, "c1 \""+w+"\"", "x="+w, "x=\""+w+"\"", "cat <<E\n"+w+"\nE\n", "c1 ${x:-"+w+"}", "c1 \"${x:-"+w+"}\"", "c1 '"+w+"'", "cat <<'E'\n"+w+"\nE\n", "c1 $("+w+")", "c1 \"$(c2 "+w+")\"", "[[ x == "+w+" ]]", "case "+w+" in x) ;; esac", "cat <<<"+w, w, "c1 >"+w, "(("+w+"))", "echo \"${x/"+w+"/y}\"", "x=("+w+")", "c1 `"+w+"`")
}

// row returns a line from the tables of the other tests, with the sandbox's commands in place of theirs.
func (g *generator) row() string {
	line := allRows[g.IntN(len(allRows))].line
	if g.IntN(3) == 0 {
		lines := classes[g.IntN(len(classes))].lines
		line = lines[g.IntN(len(lines))]
	}
	line = g.mutated(strings.NewReplacer("rm", "canary", "ls", "c1", "mv", "c2", "cp", "c3", "git", "c0", "$y", "$ev", "$v", "$ew").Replace(line) + " ")
	return line + g.pick("", "; canary", "\ncanary", " canary")
}

// soup returns tokens without an order, which no grammar produces.
func (g *generator) soup() string {
	var b strings.Builder
	for range 2 + g.IntN(10) {
		b.WriteString(g.pick(g.pick(tokens...), g.pick(tokens...), g.payload(), g.pick(" ", " ", ";", "\n", "c1 ", "x=1", "echo ", "E\n", "f() ", "let ", "coproc ", "local ", "[ ", "test ", "eval ", "for x in ", "case x in ", "select x in ")))
	}
	return b.String()
}

// tokens have a special meaning in a shell, some of them only in certain places.
var tokens = []string{
	"'", "\"", "`", "$(", ")", "{ ", "; }", ";", "&", "|", " || ", " && ", "<", ">", "#", " # ", "\n", " ",
	"\\", "\\\n", "!", "=", "c", "${y:-", "}", " <<E\n", "E\n", "((", "))", "$'", "$((", "<(", "@(", "[[ ",
	" ]]", "esac", "if ", "fi", ";; ", "coproc ", "in ", "do ", "&>", "2>", "~", "[", "*", ",", "..", "\t",
	"!(", "function ", "time ", "{", "}", "|&", "&|", "=(", ">!", "$~", "${~", "${=", "$[", ";|", "()", "+", "$+", "$#", "$x[", "]", "<>", ">&",
	"-", "then ", "else ", "done", "@", "%", "?", ":", "_", "x=", "select ", "{c1}", "\"$#", "-c ", "+x ",
}

// mutated changes a few places, so that unusual lines occur.
func (g *generator) mutated(line string) string {
	b := []byte(line)
	for range 1 + g.IntN(3) {
		if g.IntN(4) == 0 { // at a continuation
			b = slices.Insert(b, g.IntN(len(b)), '\\', '\n')
			continue
		}
		from := g.IntN(len(b))
		to := from + g.IntN(2)
		b = slices.Replace(b, from, to, []byte(g.pick(tokens...))...)
	}
	return string(b)
}
