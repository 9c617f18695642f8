package shellmark

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestArrowUp checks that the previous line of history is the one that was typed last, and no injected line, in
// whatever way a command was run.
func TestArrowUp(t *testing.T) {
	const up = "\x1b[A"
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		for _, command := range []string{"echo ours", "echo ours\necho more", "false; (true)", "if true"} {
			t.Run(string(shell)+" "+command, func(t *testing.T) {
				s := start(t, shell, setup{files: map[string]string{".zshrc": "HISTFILE=~/.zsh_history SAVEHIST=100 HISTSIZE=100\n"}})
				s.typed("echo typed\r")
				s.end(s.await(Began))
				s.run(command)
				s.run(command)
				s.typed(up + "\r")
				began := s.await(Began)
				if out := s.end(began); !strings.HasSuffix(out.out, "typed\n") || strings.Contains(out.out, "ours") {
					t.Errorf("the line before %q: %q", command, out.out)
				}
			})
		}
	}
}

// TestHistoryIsTheUsers checks that a command sees the history and its settings as the user has set them, and that no
// injected line gets into it.
func TestHistoryIsTheUsers(t *testing.T) {
	for _, test := range []struct {
		shell      Shell
		name, file string
		says, want string
	}{
		{Zsh, "a file", "HISTFILE=~/h SAVEHIST=100 HISTSIZE=70\n", "print -r -- ${HISTFILE:t} $SAVEHIST $HISTSIZE ${(t)HISTFILE}; fc -ln -3", "h 100 70 scalar\necho typed\n"},
		{Zsh, "exported", "export HISTFILE=~/h; SAVEHIST=100\n", "print -r -- ${HISTFILE:t} ${(t)HISTFILE}; fc -ln -3", "h scalar-export\necho typed\n"},
		{Zsh, "no file", "unset HISTFILE\n", "print -r -- ${+HISTFILE}; fc -ln -3", "0\necho typed\n"},
		{Zsh, "read-only", "HISTFILE=~/h; readonly HISTFILE\n", "print -r -- ${HISTFILE:t}; fc -ln -3", "h\necho typed\n"},
		{Zsh, "shared", "HISTFILE=~/h SAVEHIST=100; setopt share_history\n", "print -r -- ${HISTFILE:t}; fc -ln -3", "h\necho typed\n"},
		{Fish, "its own", "", "set -q fish_history; echo $status; history search --max=3 | cat", "1\necho typed\n"},
		{Fish, "a name", "set -gx fish_history mine\n", "echo $fish_history; env | string match 'fish_history=*'; history search --max=3 | cat", "mine\nfish_history=mine\necho typed\n"},
		{Fish, "none", "set -g fish_history ''\n", "count $fish_history; echo $fish_history; history search --max=3 | cat", "1\n\necho typed\n"},
	} {
		t.Run(string(test.shell)+" "+test.name, func(t *testing.T) {
			s := start(t, test.shell, setup{files: rc(test.shell, test.file)})
			s.typed("echo typed\r")
			s.end(s.await(Began))
			s.run("true")
			for range 2 {
				if got := s.run("true\n" + test.says); got.out != test.want {
					t.Errorf("%q, want %q", got.out, test.want)
				}
			}
			if got := s.run("(:); " + test.says); test.shell == Zsh && got.out != test.want {
				t.Errorf("%q, want %q", got.out, test.want)
			}
			s.leave("exit")
			for _, path := range []string{"h", ".local/share/fish/fish_history", ".local/share/fish/mine_history"} {
				if text, err := os.ReadFile(filepath.Join(s.home, path)); err == nil && (strings.Contains(string(text), "true") || strings.Contains(string(text), "__shelld")) {
					t.Errorf("%s has %q", path, text)
				}
			}
		})
	}
}

// TestPreexecGetsCommand checks that users' functions that zsh calls before a command get the command's text, and that
// no injected line gets into histories that users' functions keep.
func TestPreexecGetsCommand(t *testing.T) {
	const hooks = `HISTFILE=~/h SAVEHIST=100 HISTSIZE=70
preexec() { print -r -- "one<$1>" >>~/ran }
second() { print -r -- "two<$1>" >>~/ran }
preexec_functions=(second)
`
	for name, file := range map[string]string{
		"hooks":                       hooks,
		"by directory":                hooks + "zshaddhistory() { print -sr -- ${1%%$'\\n'}; fc -p ~/local 50 50 }\n",
		"lines with a blank are kept": hooks + "unsetopt hist_ignore_space\nsetopt inc_append_history\n",
		"no lines with a blank":       hooks + "setopt hist_ignore_space hist_ignore_all_dups hist_reduce_blanks\n",
		"trace":                       hooks + "set -x\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Zsh, setup{files: rc(Zsh, file)})
			var want strings.Builder
			for _, command := range []string{"echo ours", "echo ours\necho \"more\"", " (true)", "echo ours", "false # not", "fi"} {
				if command == "fi" && name == "trace" {
					continue // a trace shows no start of a command that cannot be parsed
				}
				s.run(command)
				want.WriteString("one<" + command + ">\ntwo<" + command + ">\n")
			}
			s.typed("echo typed\r")
			s.end(s.await(Began))
			want.WriteString("one<echo typed>\ntwo<echo typed>\n")
			s.leave("exit")
			text, err := os.ReadFile(filepath.Join(s.home, "ran"))
			s.must(err)
			if got, ok := strings.CutSuffix(string(text), "one<exit>\ntwo<exit>\n"); !ok || got != want.String() && name != "by directory" {
				t.Errorf("%q, want %q", text, want.String())
			}
			for _, file := range []string{"h", "local"} {
				if text, err := os.ReadFile(filepath.Join(s.home, file)); err == nil && (strings.Contains(string(text), "ours") || strings.Contains(string(text), "__shelld")) {
					t.Errorf("%s has %q", file, text)
				}
			}
		})
	}
}
