package shellmark

import (
	_ "embed"
	"path/filepath"
	"strings"
)

var (
	//go:embed snippet.bash
	bashSnippet string
	//go:embed snippet.zsh
	zshSnippet string
	//go:embed snippet.fish
	fishSnippet string
)

// The keys that are typed: sequences that no terminal sends. The snippets bind them.
const (
	keyTrigger = "\x1b[5379;1~"
	keyAccept  = "\x1b[5379;2~" // bash: what runs a function cannot accept the line as well
	keyHidden  = "\x1b[5379;3~"
)

// triggerLines are what becomes the edited line where the command itself cannot.
var triggerLines = []string{`set __shelld_b 1; eval "$__shelld_c"`, `eval "$__shelld_c"`}

// A Launch says how to start a shell with the integration.
type Launch struct {
	Argv  []string          // in place of the given one
	Env   map[string]string // to be set beside what the job has; the shell's children do not get it
	Files map[string][]byte // by their names in the directory: to be written before, with mode 0600
}

// NewLaunch returns what starts the shell that [For] has found, with an environment. dir is
// a directory of this job alone, with mode 0700, in which the caller has made the FIFO
// "command"; nonce is 32 hexadecimal digits that nobody can guess. The files may be removed
// once the first Ready has come.
func NewLaunch(s Shell, argv, env []string, dir, nonce string) Launch {
	o, _ := s.options(argv)
	switch s {
	case Bash:
		return bashLaunch(o, argv, dir, nonce)
	case Zsh:
		return zshLaunch(o, argv, env, dir, nonce)
	default:
		return fishLaunch(o, argv, dir, nonce)
	}
}

// bash reads our file in place of the user's, which ours reads in its turn. A login shell
// reads none, so that it is started as another: only "shopt login_shell" tells.
func bashLaunch(o options, argv []string, dir, nonce string) Launch {
	user := "rc"
	switch {
	case o.login && o.noProfile:
		user = "none"
	case o.login:
		user = "login"
	case o.noRC:
		user = "none"
	case o.rcFile != "":
		user = "file"
	}
	name := filepath.Join(dir, "bashrc")
	args := append([]string{strings.TrimPrefix(argv[0], "-"), "--rcfile", name}, o.long...)
	return Launch{
		Argv: append(args, o.rest...),
		Files: map[string][]byte{"bashrc": fill(bashSnippet,
			"NONCE", nonce, "DIR", quote(dir), "USER", user, "FILE", quote(o.rcFile))},
	}
}

// zsh reads .zshenv of ZDOTDIR first of the user's files. Ours sets ZDOTDIR back, so that
// all others are read as ever.
func zshLaunch(o options, argv, env []string, dir, nonce string) Launch {
	restore := "builtin unset ZDOTDIR"
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "ZDOTDIR="); ok {
			restore = "builtin export ZDOTDIR=" + quote(value)
		}
	}
	user := "rc"
	if o.noRC {
		user = "none"
	}
	return Launch{
		Argv: append([]string{argv[0]}, o.rest...),
		Env:  map[string]string{"ZDOTDIR": dir},
		Files: map[string][]byte{".zshenv": fill(zshSnippet,
			"NONCE", nonce, "DIR", quote(dir), "RESTORE", restore, "USER", user)},
	}
}

// fish reads ours after the user's files, and after what other -C say.
func fishLaunch(o options, argv []string, dir, nonce string) Launch {
	name := filepath.Join(dir, "init.fish")
	args := append([]string{argv[0]}, o.rest...)
	return Launch{
		Argv:  append(args, "--init-command", "source "+fishQuote(name)),
		Files: map[string][]byte{"init.fish": fill(fishSnippet, "NONCE", nonce, "DIR", fishQuote(dir))},
	}
}

// fill puts values into a snippet, in the places of @NAME@.
func fill(snippet string, pairs ...string) []byte {
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "@" + pairs[i] + "@"
	}
	return []byte(strings.NewReplacer(pairs...).Replace(snippet))
}

// Trigger is what is typed to have the shell run what is in the FIFO.
func (s Shell) Trigger() []byte {
	if s == Bash {
		return []byte(keyTrigger + keyAccept)
	}
	return []byte(keyTrigger)
}

// HiddenTrigger is what is typed to have the shell run the code in the FIFO at once, without a
// new prompt. $? stays as it is, and what the code writes is dropped.
func (s Shell) HiddenTrigger() []byte { return []byte(keyHidden) }

// quote quotes for bash and zsh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
