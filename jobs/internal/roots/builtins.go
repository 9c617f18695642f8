package roots

import (
	"slices"
	"strings"
	"sync"
)

// builtinTable is the only table of the shells' builtins that run other commands, or that change the meaning of words.
// Any other builtin is only a root.
var builtinTable struct {
	sync.Once
	rows map[string]func(r *reader, name string, args []word)
}

func builtins() map[string]func(r *reader, name string, args []word) {
	builtinTable.Do(makeBuiltins)
	return builtinTable.rows
}

func makeBuiltins() {
	builtinTable.rows = map[string]func(*reader, string, []word){
		"eval":      runEval,
		"trap":      runTrap,
		"exec":      runExec,
		"command":   runCommand,
		"builtin":   runWords,
		"noglob":    runWords,
		"nocorrect": runWords,
		"enable":    refuseArguments,
		"alias":     runAlias,
		"set":       runSet,
		"shopt":     runShopt,
		"hash":      runHash,
		"jobs":      runJobs,
		"unset":     runUnset,
		"printf":    runPrintf,
		"mapfile":   runMapfile,
		"readarray": runMapfile,
		"read":      runRead,
		"getopts":   runRead,
		"wait":      runWait,
		"export":    runExport,
		"readonly":  runExport,
		"declare":   runExport,
		"typeset":   runExport,
		"local":     runExport,
		"global":    runExport,
		"test":      runTest,
		"[":         runTest,
	}
	for _, name := range strings.Fields(". source let complete compgen bind fc zle sched zmodload autoload emulate setopt unsetopt functions zargs zcompile zsystem zformat zregexparse zparseopts zstyle vared print coproc repeat nameref integer float history r cmd - hist redirect getln pushln private foreach enum disable bindkey ttyctl unfunction unhash compctl add-zsh-hook add-zle-hook-widget") {
		builtinTable.rows[name] = refuse
	}
}

// refuse is for builtins that run text from outside the line, or that change the meaning of words.
func refuse(r *reader, name string, _ []word) {
	r.note(name + " runs unknown commands, or changes what words mean")
}

func refuseArguments(r *reader, name string, args []word) {
	if len(args) > 0 {
		refuse(r, name, args)
	}
}

func runEval(r *reader, name string, args []word) {
	if len(args) > 0 && args[0].known && args[0].text == "--" {
		args = args[1:]
	}
	r.joined(args, r.family.speaking(r.lang), name)
}

func runTrap(r *reader, name string, args []word) {
	got, rest := r.options(name, args, &options{flags: "lpP"})
	if got.has("l") || got.has("p") || got.has("P") || len(rest) < 2 || rest[0].known && rest[0].text == "-" {
		return
	}
	r.text(rest[0], r.family.speaking(r.lang), name)
}

func runExec(r *reader, name string, args []word) {
	got, rest := r.options(name, args, &options{flags: "cl", values: "a"})
	r.renamed(name, got)
	defer r.withoutPath(got.has("c"))()
	r.command(rest)
}

// renamed rejects a start under another name: a program such as busybox behaves according to its name.
func (r *reader) renamed(name string, got givens) {
	if got.has("a") || got.has("argv0") {
		r.note(name + " starts a program under another name, which may change what it does")
	}
}

// withoutPath notes that the commands examined next run with an empty environment, until the returned function is
// called.
func (r *reader) withoutPath(is bool) (restore func()) {
	before := r.noPath
	r.noPath = before || is
	return func() { r.noPath = before }
}

func runCommand(r *reader, name string, args []word) {
	got, rest := r.options(name, args, &options{flags: "pvV"})
	if !got.has("v") && !got.has("V") {
		r.command(rest)
	}
}

func runWords(r *reader, name string, args []word) {
	_, rest := r.options(name, args, &options{})
	r.command(rest)
}

func runAlias(r *reader, name string, args []word) {
	for _, w := range args {
		if !w.known || strings.Contains(w.text, "=") {
			r.note("the line defines an alias")
		}
	}
}

// harmlessSetting reports whether a setting does not change the meaning of words.
func harmlessSetting(name string) bool {
	return slices.Contains(strings.Fields("errexit nounset pipefail xtrace noglob noclobber verbose noexec monitor notify errtrace functrace braceexpand hashall physical allexport"), name)
}

func runSet(r *reader, name string, args []word) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case !w.known:
			r.note("the arguments of set are known only when the line runs")
			return
		case w.text == "--" || w.text == "-" || w.text == "" || !strings.ContainsAny(w.text[:1], "-+"):
			return // the rest are parameters
		case strings.Trim(w.text[1:], "abBCefhHmntuvxEPTo") != "":
			r.note("set " + w.text + " changes what words mean")
			return
		case strings.HasSuffix(w.text, "o") && i+1 < len(args):
			i++
			if !args[i].known || !harmlessSetting(args[i].text) {
				r.note("set -o changes what words mean")
			}
		}
	}
}

func runShopt(r *reader, name string, args []word) {
	for _, w := range args {
		harmless := slices.Contains(strings.Fields("-s -u -q -p -o nullglob failglob dotglob globstar nocaseglob nocasematch lastpipe inherit_errexit extglob checkwinsize"), w.text)
		if !w.known || !harmless && !harmlessSetting(w.text) {
			r.note(name + " changes what words mean")
		}
	}
}

func runHash(r *reader, name string, args []word) {
	for _, w := range args {
		if !w.known || strings.Contains(w.text, "=") || strings.HasPrefix(w.text, "-") && w.text != "-r" {
			r.note(name + " changes which programs names refer to")
		}
	}
}

func runJobs(r *reader, name string, args []word) {
	got, rest := r.options(name, args, &options{flags: "lnprsxd"})
	if got.has("x") {
		r.command(rest)
	}
}

func runUnset(r *reader, name string, args []word) {
	for _, w := range args {
		r.nameText(w)
		if r.total.defined[w.text] || strings.HasPrefix(w.text, "-") && w.text != "-v" || Steers(w.text) {
			r.note("unset " + w.text + " changes which commands run")
		}
	}
}

func runPrintf(r *reader, name string, args []word) {
	if r.family.ksh && !printsText(args) {
		r.note("printf evaluates its arguments as arithmetic in some shells, which can run a command")
	}
	switch {
	case len(args) > 0 && args[0].many:
		r.note("the arguments of printf are known only when the line runs")
	case len(args) < 2:
	case !args[0].known && (args[0].text == "" || args[0].text[0] == '-'):
		r.note("the arguments of printf are known only when the line runs")
	case args[0].text == "-v":
		r.naming(args[1])
	case strings.HasPrefix(args[0].text, "-v"):
		r.naming(word{text: args[0].text[2:], known: args[0].known})
	}
}

// printsText reports whether a printf computes only with numbers. Some shells evaluate the arguments of %d. Which word
// is the format depends on the shell, which may support options or not: each word can be it, up to the first one that
// neither looks like an option nor follows -v.
func printsText(args []word) bool {
	if len(args) < 2 {
		return true
	}
	for i, w := range args {
		if !w.known {
			return false
		}
		if format := strings.NewReplacer("%%", "", "%s", "", "%b", "", "%q", "").Replace(w.text); strings.Contains(format, "%") {
			return !slices.ContainsFunc(args[i+1:], func(w word) bool { return !w.number })
		}
		named := i > 0 && strings.HasPrefix(args[i-1].text, "-") && strings.HasSuffix(args[i-1].text, "v")
		if !named && !strings.HasPrefix(w.text, "-") {
			break
		}
	}
	return true
}

func runMapfile(r *reader, name string, args []word) {
	got, rest := r.options(name, args, &options{flags: "t", values: "dnOsucC"})
	if got.has("C") {
		r.note(name + " -C runs a command")
	}
	for _, w := range rest {
		r.naming(w)
	}
	r.values.arrays = true
	r.values.given("MAPFILE")
}

// runRead examines read and getopts, which assign to the variables named by their arguments. Some arguments are not
// names: treating them as names does no harm.
func runRead(r *reader, name string, args []word) {
	for _, w := range args {
		if !strings.HasPrefix(w.text, "-") || !w.known {
			r.naming(w)
			continue
		}
		r.values.arrays = r.values.arrays || strings.Contains(w.text, "a")
		for i := range w.text { // -aNAME, and -raNAME
			r.naming(word{text: w.text[i:], known: true})
		}
	}
	r.values.given("REPLY")
	r.values.given("OPTARG")
}

func runWait(r *reader, name string, args []word) {
	got, rest := r.options(name, args, &options{flags: "fn", values: "p"})
	for _, o := range got {
		if o.name == "p" {
			r.naming(o.value)
		}
	}
	for _, w := range rest {
		if !w.known && !w.number {
			r.note("the arguments of wait are known only when the line runs")
		}
	}
}

func runExport(r *reader, name string, args []word) {
	array := false
	for _, w := range args {
		array = r.declareArray(name, w, array)
		r.declareOption(w)
		r.setting(w)
	}
}

// binaries are the binary operators of test.
var binaries = [...]string{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=~"}

// runTest examines test and [. With -v, a subscript is evaluated; which words are operators depends on the number of
// words, so they must be known.
func runTest(r *reader, name string, args []word) {
	if n := len(args); name == "[" && n > 0 && args[n-1].text == "]" {
		args = args[:n-1]
	}
	known, many := true, false
	for _, w := range args {
		known = known && (w.known || w.number)
		many = many || w.many && !w.number
	}
	if !known && (many || !plainTest(args)) {
		r.note("an argument of " + name + " may be an operator that runs a command; quote the expansions")
	}
	for i, w := range args {
		if !w.known || i+1 == len(args) {
			continue
		}
		switch w.text {
		case "-v", "-R":
			r.nameText(args[i+1])
		case "-t":
			if r.family.ksh {
				r.computedValue(args[i+1])
			}
		}
	}
}

// plainTest reports whether the operators of a test are known although some of its words are not.
func plainTest(args []word) bool {
	if len(args) > 1 && args[0].known && args[0].text == "!" {
		args = args[1:]
	}
	switch len(args) {
	case 0, 1:
		return true
	case 2:
		return args[0].known && !slices.Contains([]string{"!", "-v", "-R", "-t"}, args[0].text)
	case 3:
		return args[1].known && slices.Contains(binaries[:], args[1].text)
	}
	return false
}

// evaluated examines the arguments of builtins in shells that evaluate them as expressions.
func (r *reader) evaluated(name string, args []word) {
	if !r.family.ksh {
		return
	}
	switch name {
	case "exit", "bye", "logout", "return", "break", "continue", "shift":
		for _, w := range args {
			r.computedValue(w)
		}
	case "ulimit":
		for len(args) > 0 && args[0].known && isLimit(args[0].text) {
			args = args[1:]
		}
		for _, w := range args {
			if !w.known || w.text != "unlimited" && w.text != "--" {
				r.computedValue(w)
			}
		}
	case "test", "[":
		for i, w := range args {
			if w.known && slices.Contains(binaries[5:11], w.text) && i > 0 && i+1 < len(args) {
				r.computedValue(args[i-1])
				r.computedValue(args[i+1])
			}
		}
	}
}

// isLimit reports whether a word of ulimit is an option without a value.
func isLimit(word string) bool {
	option, is := strings.CutPrefix(word, "-")
	return is && option != "-" && len(strings.TrimLeft(option, "HS")) <= 1
}
