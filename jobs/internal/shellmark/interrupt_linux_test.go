package shellmark

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// interrupts are start-up files of users that receive an interrupt; each sends it to itself.
var interrupts = []struct {
	name string
	argv []string
	file string
	text string
}{
	{name: "at the top", text: "kill -INT $$"},
	{name: "in a function, which has options of its own", text: "f() { local - IFS=x; set -fu; kill -INT $$; }; f"},
	{name: "in a file that is read", text: "echo 'kill -INT $$' >~/other; . ~/other"},
	{name: "in an eval", text: "eval 'kill -INT $$'"},
	{name: "in a program", text: "sh -c 'kill -INT $$'"},
	{name: "in a substitution", text: "x=$(sh -c 'kill -INT $$')"},
	{name: "in a condition", text: "if sh -c 'kill -INT $$'; then :; fi"},
	{name: "to a program that takes it", text: "sh -c 'trap \"exit 0\" INT; kill -INT $$'; echo more >>~/seen"},
	{name: "with a prompt and hooks", text: "PS1='mine> '; PROMPT_COMMAND='echo hook $? >>~/seen'; kill -INT $$"},
	{name: "with options", text: "set -efu; shopt -s extdebug failglob; set -a; kill -INT $$"},
	{name: "with a trap", text: "trap 'echo int >>~/seen' INT; kill -INT $$; trap -p INT >>~/seen"},
	{name: "with a trap that is taken away", text: "trap '' INT; kill -INT $$; trap - INT; trap -p INT >>~/seen"},
	{name: "which is ignored", text: "trap '' INT; kill -INT $$"},
	{name: "in a profile", argv: []string{"bash", "-l"}, file: ".bash_profile", text: "kill -INT $$"},
	{name: "in a file that is named", argv: []string{"bash", "--rcfile", "other"}, file: "other", text: "kill -INT $$"},
	{name: "never", text: "echo none >>~/seen"},
	{name: "never, in posix mode", text: "set -o posix; echo none >>~/seen"},
}

// TestInterruptedFiles checks that bash, if an interrupt has ended its start-up files, takes commands as usual, and has
// the same state as without the integration: the files that it has read, its traps, hooks and options.
func TestInterruptedFiles(t *testing.T) {
	show := []string{"echo $- $SHELLOPTS $BASHOPTS >>~/seen", "trap >>~/seen", "echo ${rest-given up} $IFS >>~/seen", "echo error >&2"}
	for _, c := range interrupts {
		t.Run(c.name, func(t *testing.T) {
			file := c.file
			if file == "" {
				file = ".bashrc"
			}
			with := setup{argv: c.argv, files: map[string]string{file: "echo begun >>~/seen\n" + c.text + "\nrest='read on'\n"}}
			plain := with
			plain.plain = true
			s := start(t, Bash, plain)
			for _, line := range append(show, "exit") {
				s.typed(line + "\r")
			}
			for s.read() {
			}
			want := s.seen()
			for _, edit := range []func([]byte) []byte{nil, old} {
				with.edit = edit
				s := start(t, Bash, with)
				for _, line := range show {
					got := s.run(line)
					if strings.HasSuffix(line, "&2") && got.out != "error\n" {
						t.Errorf("%q: %+v", line, got)
					}
				}
				if got := s.seen(); got != want {
					t.Errorf("with the integration %q, without %q", got, want)
				}
				goesOn(t, s, c.name != "which is ignored")
			}
		})
	}
}

// goesOn checks that a shell takes commands, also after an interrupt at its prompt.
func goesOn(t *testing.T, s *session, interrupt bool) {
	t.Helper()
	if got := s.run("echo one\necho two"); got.out != "one\ntwo\n" || got.exit != 0 {
		t.Errorf("%+v", got)
	}
	if interrupt {
		s.typed(string(Bash.Drop()))
		s.await(Ready)
	}
	if got := s.run("echo three"); got.out != "three\n" {
		t.Errorf("after an interrupt at the prompt: %+v", got)
	}
}

// TestInterruptedOwnFile checks the same if the interrupt comes before the user's files are read: these are not read
// then, as in a bash that has only just begun to read them.
func TestInterruptedOwnFile(t *testing.T) {
	const behind = "__shelld_tell() {"
	s := start(t, Bash, setup{files: rc(Bash, "echo read >>~/seen"), edit: func(text []byte) []byte {
		if strings.Count(string(text), behind) != 1 {
			t.Fatalf("%q is not there once", behind)
		}
		return []byte(strings.Replace(string(text), behind, "kill -INT $$\n"+behind, 1))
	}})
	if got := s.run("echo one"); got.out != "one\n" {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(filepath.Join(s.home, "seen")); err == nil {
		t.Errorf("the user's file was read: %q", text)
	}
	if got := s.run("trap"); got.out != "" {
		t.Errorf("traps are left: %q", got.out)
	}
}
