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
var triggerLines = []string{
	`for __shelld_i in 1; do \builtin eval "$__shelld_c"; done`,
	`set __shelld_b 1; builtin eval "$__shelld_e$__shelld_c"`,
	`set __shelld_b 1; builtin eval "$__shelld_e$__shelld_c$__shelld_f"; switch $__shelld_l; case 2; __shelld_x 1 | __shelld_x 2; case 3; __shelld_x 1 | __shelld_x 2 | __shelld_x 3; case 4; __shelld_x 1 | __shelld_x 2 | __shelld_x 3 | __shelld_x 4; end`,
	`\builtin eval "$__shelld_c"`,
	`\builtin \eval "$__shelld_c"`,
}

// FileNames are all that Files of a Launch can have.
var FileNames = []string{"bashrc", ".zshenv", "init.fish"}

// A Launch says how to start a shell with the integration.
type Launch struct {
	Argv  []string          // in place of the given one
	Env   map[string]string // to be set beside what the job has; the shell's children do not get it
	Files map[string][]byte // by their names in the directory: to be written before, with mode 0600
}

// A Place is what the caller has made for one shell, which nobody else is to open.
type Place struct {
	Dir      string // a directory for Files, with mode 0700; it may be removed once the first Ready has come
	Commands string // the path of a FIFO or a pipe
	Scratch  string // the path of a file or of memory, for what a shell keeps for a moment
	Nonce    string // 32 hexadecimal digits that nobody can guess
}

// NewLaunch returns what starts the shell that [For] has found, with an environment.
func NewLaunch(s Shell, argv, env []string, at Place) Launch {
	o, _ := s.options(argv)
	switch s {
	case Bash:
		return bashLaunch(o, argv, env, at)
	case Zsh:
		return zshLaunch(o, argv, env, at)
	default:
		return fishLaunch(o, argv, at)
	}
}

// bash reads our file in place of the user's, which ours reads in its turn. A login shell
// reads none, and one with --norc would read the system's with it. Those are made to read the
// file that ENV names, as bash does in the mode of POSIX, which is the first thing to be undone.
func bashLaunch(o options, argv, env []string, at Place) Launch {
	mode, user := "rc", "rc"
	switch {
	case o.login && o.noProfile:
		mode, user = "posix", "none"
	case o.login:
		mode, user = "posix", "login"
	case o.noRC:
		mode, user = "posix", "none"
	case o.rcFile != "":
		user = "file"
	}
	name := filepath.Join(at.Dir, "bashrc")
	launch := Launch{Argv: []string{argv[0]}, Files: map[string][]byte{"bashrc": fill(bashSnippet, "MODE", mode,
		"NONCE", at.Nonce, "COMMANDS", quote(at.Commands), "SCRATCH", quote(at.Scratch), "USER", user, "FILE", quote(o.rcFile), "RESTORE", restore(env, "ENV"))}}
	if mode == "posix" {
		launch.Argv = append(launch.Argv, "--posix")
		launch.Env = map[string]string{"ENV": name}
		if o.login {
			launch.Argv = append(launch.Argv, "--login")
		}
	} else {
		launch.Argv = append(launch.Argv, "--rcfile", name)
	}
	launch.Argv = append(append(launch.Argv, o.long...), o.rest...)
	return launch
}

// restore is code that sets a variable back to what an environment says.
func restore(env []string, name string) string {
	code := "builtin unset " + name
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			code = "builtin export " + name + "=" + quote(value)
		}
	}
	return code
}

// zsh reads .zshenv of ZDOTDIR first of the user's files. Ours sets ZDOTDIR back, so that
// all others are read as ever.
func zshLaunch(o options, argv, env []string, at Place) Launch {
	user := "rc"
	if o.noRC {
		user = "none"
	}
	return Launch{
		Argv: append([]string{argv[0]}, o.rest...),
		Env:  map[string]string{"ZDOTDIR": at.Dir},
		Files: map[string][]byte{".zshenv": fill(zshSnippet,
			"NONCE", at.Nonce, "COMMANDS", quote(at.Commands), "SCRATCH", quote(at.Scratch), "RESTORE", restore(env, "ZDOTDIR"), "USER", user)},
	}
}

// fish reads ours after the user's files, and after what other -C say.
func fishLaunch(o options, argv []string, at Place) Launch {
	name := filepath.Join(at.Dir, "init.fish")
	args := append([]string{argv[0]}, o.rest...)
	return Launch{
		Argv:  append(args, "--init-command", "source "+fishQuote(name)),
		Files: map[string][]byte{"init.fish": fill(fishSnippet, "NONCE", at.Nonce, "COMMANDS", fishQuote(at.Commands))},
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

// Drop is what is typed after More to have the shell drop the line that is not whole; Ready
// follows. bash may not see an interrupt before the next key where it comes as a prompt is
// being drawn, as it is without us: so there is one.
func (s Shell) Drop() []byte { return []byte("\x03\r") }

// quote quotes for bash and zsh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
