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
	keyAccept  = "\x1b[5379;2~" // bash: a key that runs a function cannot also accept the line
	keyHidden  = "\x1b[5379;3~"
)

// triggerLines are the edited lines used when the command itself cannot be the edited line.
var triggerLines = []string{
	`for __shelld_i in 1; do \builtin eval "$__shelld_c"; done`,
	`set __shelld_b 1; builtin eval "$__shelld_e$__shelld_c"`,
	`set __shelld_b 1; builtin eval "$__shelld_e$__shelld_c$__shelld_f"; switch $__shelld_l; case 2; __shelld_x 1 | __shelld_x 2; case 3; __shelld_x 1 | __shelld_x 2 | __shelld_x 3; case 4; __shelld_x 1 | __shelld_x 2 | __shelld_x 3 | __shelld_x 4; end`,
	`\builtin eval "$__shelld_c"`,
	`\builtin \eval "$__shelld_c"`,
}

// FileNames are all names that can occur in Files of a Launch.
var FileNames = []string{"bashrc", ".zshenv", "init.fish"}

// A Launch describes how to start a shell with the integration.
type Launch struct {
	Argv  []string          // replaces the given arguments
	Env   map[string]string // added to the job's environment; the shell's children do not inherit it
	Files map[string][]byte // by file name in the directory: to be written first, with mode 0600
}

// A Place is the set of files and secrets that the caller has made for one shell. No other process may open them.
type Place struct {
	Dir      string // directory for Files, with mode 0700; it may be removed after the first Ready
	Commands string // path of a FIFO or pipe
	Scratch  string // path of a file on disk or in memory, for short-lived data of the shell
	Nonce    string // 32 hexadecimal digits that cannot be guessed
}

// NewLaunch returns how to start the shell that [For] has found, in an environment.
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

// bashLaunch makes bash read our file in place of the user's, which our file then reads. A login shell does not read
// such a file, and with --norc bash would not read it, nor the system's. These two instead read the file that ENV
// names, as bash does in POSIX mode, which our file switches off first.
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

// restore returns code that sets a variable back to its value in an environment.
func restore(env []string, name string) string {
	code := "builtin unset " + name
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			code = "builtin export " + name + "=" + quote(value)
		}
	}
	return code
}

// zshLaunch sets ZDOTDIR, whose .zshenv zsh reads before the user's other files. Our file sets ZDOTDIR back, so that
// all others are read as usual.
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

// fishLaunch makes fish read our file after the user's files, and after the code of other -C options.
func fishLaunch(o options, argv []string, at Place) Launch {
	name := filepath.Join(at.Dir, "init.fish")
	args := append([]string{argv[0]}, o.rest...)
	return Launch{
		Argv:  append(args, "--init-command", "source "+fishQuote(name)),
		Files: map[string][]byte{"init.fish": fill(fishSnippet, "NONCE", at.Nonce, "COMMANDS", fishQuote(at.Commands))},
	}
}

// fill replaces @NAME@ by values in a snippet.
func fill(snippet string, pairs ...string) []byte {
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "@" + pairs[i] + "@"
	}
	return []byte(strings.NewReplacer(pairs...).Replace(snippet))
}

// Trigger returns the keys to type so that the shell runs the command from the FIFO.
func (s Shell) Trigger() []byte {
	if s == Bash {
		return []byte(keyTrigger + keyAccept)
	}
	return []byte(keyTrigger)
}

// HiddenTrigger returns the keys to type so that the shell runs the code from the FIFO at once, without a new prompt.
// $? does not change, and the output of the code is discarded.
func (s Shell) HiddenTrigger() []byte { return []byte(keyHidden) }

// Drop returns the keys to type after More so that the shell discards the incomplete line; Ready follows. They include
// a key after the interrupt, because bash, even without the integration, may only handle an interrupt at the next key
// if it came while the prompt was being drawn.
func (s Shell) Drop() []byte { return []byte("\x03\r") }

// quote quotes s for bash and zsh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
