package roots

import (
	"slices"
	"strings"
	"sync"
)

// A runner is a subcommand that runs its arguments, of a program with many subcommands. All except ip put their own
// directories in front of PATH, or map words to other programs, so that the meaning of the words is unknown; the words
// are reported as roots nevertheless.
type runner struct {
	options        // of the subcommand
	behind  string // a word before the command; "" = the command follows the options
}

// runnerTable maps program and subcommand to runners: "uv run".
var runnerTable = sync.OnceValue(func() map[string]*runner {
	rows := map[string]*runner{
		"uv run": {options: options{flags: "msqvn", values: "pwCiP",
			long: "module script gui-script isolated active locked frozen no-sync exact offline no-project no-dev dev no-env-file quiet verbose no-cache with= with-editable= with-requirements= python= project= directory= env-file= package= extra= group= only-group= no-group= index= default-index="}},
		"conda run":   {options: options{flags: "vs", values: "np", long: "name= prefix= cwd= no-capture-output live-stream verbose"}},
		"bundle exec": {options: options{long: "keep-file-descriptors no-keep-file-descriptors gemfile="}},
		"rustup run":  {options: options{operands: 1, long: "install"}},
		"stack exec":  {}, "cabal exec": {}, "dune exec": {}, "opam exec": {behind: "--"},
		"mise exec": {behind: "--"}, "mise x": {behind: "--"}, "npm exec": {behind: "--"}, "npm x": {behind: "--"},
		"op run": {behind: "--"}, "infisical run": {behind: "--"}, "dotenvx run": {behind: "--"}, "chamber exec": {behind: "--"},
		"nix run": {behind: "--"}, "nix shell": {behind: "-c"}, "nix develop": {behind: "-c"}, "guix shell": {behind: "--"},
		"guix environment": {behind: "--"}, "sops exec-env": {behind: "--"}, "sops exec-file": {behind: "--"},
		"uv tool": {behind: "run"}, "bun x": {},
	}
	for _, name := range strings.Fields("poetry pipenv pdm rye hatch volta devbox toolbox") {
		rows[name+" run"] = &runner{}
	}
	for _, name := range strings.Fields("pyenv rbenv nodenv goenv jenv plenv phpenv tfenv asdf fnm pnpm yarn") {
		rows[name+" exec"] = &runner{}
	}
	for _, other := range [][2]string{
		{"mamba run", "conda run"}, {"micromamba run", "conda run"}, {"bundler exec", "bundle exec"}, {"bundle e", "bundle exec"},
		{"rtx exec", "mise exec"}, {"rtx x", "mise x"}, {"pnpm dlx", "pnpm exec"}, {"yarn dlx", "yarn exec"},
	} {
		rows[other[0]] = rows[other[1]]
	}
	return rows
})

// runnerNames are the programs of the runners.
var runnerNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{"ip": true}
	for row := range runnerTable() {
		name, _, _ := strings.Cut(row, " ")
		names[name] = true
	}
	return names
})

// runs examines a call of such a program. Options may come before the subcommand, and each may have a value: a word
// after an option may therefore be the subcommand or not.
func (r *reader) runs(name string, args []word) {
	if name == "ip" {
		r.runIP(args)
		return
	}
	for i, w := range args {
		option := strings.HasPrefix(w.text, "-")
		run := runnerTable()[name+" "+w.text]
		switch {
		case !w.known && !option:
			r.note("the arguments of " + name + " are known only when the line runs")
			return
		case run != nil:
			r.runnerCommand(name+" "+w.text, run, args[i+1:])
			return
		case !option && (i == 0 || !strings.HasPrefix(args[i-1].text, "-")):
			return // another subcommand
		}
	}
}

// runnerCommand examines the arguments of a subcommand.
func (r *reader) runnerCommand(what string, run *runner, args []word) {
	if run.behind == "" {
		r.note(what + " runs commands of an environment of its own")
		_, rest := r.options(what, args, &run.options)
		r.command(r.operands(what, rest, run.operands))
		return
	}
	at := slices.IndexFunc(args, func(w word) bool { return w.known && w.text == run.behind })
	if what == "uv tool" && at != 0 {
		return // It installs, or lists.
	}
	r.note(what + " runs commands of an environment of its own")
	if at >= 0 {
		r.command(args[at+1:])
	}
}

// runIP examines ip netns exec NAME and ip vrf exec NAME, which run a command from the usual PATH. ip accepts
// abbreviated words.
func (r *reader) runIP(args []word) {
	for len(args) > 0 && (!args[0].known || strings.HasPrefix(args[0].text, "-")) {
		switch w := args[0]; {
		case !w.known:
			r.note("the arguments of ip are known only when the line runs")
			return
		case slices.Contains([]string{"-f", "-family", "-n", "-netns", "-l", "-loops", "-rc", "-rcvbuf"}, w.text) && len(args) > 1:
			_, args = r.nextWord("ip", args[1:])
			continue
		case !slices.Contains(strings.Fields("-4 -6 -0 -B -M -o -s -d -r -t -ts -j -p -br -c -h -V -iec -N"), w.text) && !slices.Contains(strings.Fields("-oneline -stats -statistics -details -resolve -timestamp -tshort -json -pretty -brief -color -human -Version -Numeric"), w.text):
			r.note("the option " + w.text + " of ip is not known here")
		}
		args = args[1:]
	}
	if len(args) < 2 || !begins(args[0], "netns") && !begins(args[0], "vrf") {
		return
	}
	switch {
	case !args[1].known:
		r.note("the arguments of ip are known only when the line runs")
	case !begins(args[1], "exec"):
	default:
		if args[0].text != "netns" && args[0].text != "vrf" || args[1].text != "exec" {
			r.note("the meaning of ip " + args[0].text + " " + args[1].text + " depends on its version")
		}
		r.command(r.operands("ip", args[2:], 1))
	}
}

// begins reports whether a word is a prefix of another one, or equal to it.
func begins(w word, whole string) bool { return w.text != "" && strings.HasPrefix(whole, w.text) }
