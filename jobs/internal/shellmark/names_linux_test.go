package shellmark

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// theirs are possible names of users' variables. Our code has used each of them for a variable of its own.
var theirs = []string{"REPLY", "seen", "s", "c", "n", "u", "x", "e", "i", "h", "v", "t", "w", "text", "cwd", "line", "was", "has",
	"other", "others", "attributes", "keymap", "ask", "about", "mode", "j"}

// TestNamesAsked checks that users' variables may have any name that one of our hooks could use for its own variable.
func TestNamesAsked(t *testing.T) {
	own := map[Shell][]string{
		Bash: {"IFS", "LC_ALL", "MAPFILE", "BASH_REMATCH_X"},
		Zsh:  {"IFS", "LC_ALL", "MATCH", "MBEGIN_X", "reply"},
		Fish: {"IFS", "name", "argv"},
	}
	for _, shell := range []Shell{Bash, Zsh, Fish} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			export, has := "export %s=inner", `sh -c 'echo "[${%s-none}]"'`
			if shell == Fish {
				export = "set -gx %s inner"
			}
			for _, name := range slices.Concat(theirs, own[shell]) {
				if status := s.hidden(shell.SetVariable(name, "outer")); status != 0 {
					t.Errorf("%s could not be set: %d", name, status)
				}
				if !slices.Contains(s.environment(), name+"=outer") {
					t.Errorf("%s is not told when it was set", name)
				}
				if got := s.run(fmt.Sprintf(has, name)); got.out != "[outer]\n" && name != "IFS" { // sh does not import it
					t.Errorf("%s in the shell is %q", name, got.out)
				}
				s.run(fmt.Sprintf(export, name))
				if !slices.Contains(s.environment(), name+"=inner") {
					t.Errorf("%s is not told when the shell has set it", name)
				}
				if status := s.hidden(shell.UnsetVariable(name)); status != 0 {
					t.Errorf("%s could not be unset: %d", name, status)
				}
				if all := s.environment(); slices.ContainsFunc(all, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
					t.Errorf("%s is told when it was unset", name)
				}
				if got := s.run(fmt.Sprintf(has, name)); got.out != "[none]\n" && name != "IFS" {
					t.Errorf("%s is in the shell when it was unset: %q", name, got.out)
				}
			}
		})
	}
}

// TestReadOnlyNames checks that results are exact even if a user has made variables read-only.
func TestReadOnlyNames(t *testing.T) {
	own := map[Shell][]string{
		Bash: {"IFS", "LC_ALL", "HISTTIMEFORMAT", "HISTIGNORE", "PROMPT_COMMAND", "PS0", "PS1", "MAPFILE", "OPTIND"},
		Zsh:  {"IFS", "LC_ALL", "MATCH", "MBEGIN", "MEND", "reply", "match", "mbegin", "mend", "precmd_functions", "preexec_functions", "zshaddhistory_functions", "PROMPT_EOL_MARK", "PS1", "HISTFILE", "BUFFER", "CURSOR"},
	}
	for _, shell := range []Shell{Bash, Zsh} {
		t.Run(string(shell), func(t *testing.T) {
			s := start(t, shell, setup{})
			odd := filepath.Join(s.home, "a;b%41 \x01ü")
			s.must(os.Mkdir(odd, 0o700))
			for _, name := range slices.Concat(theirs, own[shell]) {
				if got := s.run("readonly " + name); got.exit != 0 {
					t.Errorf("readonly %s: %+v", name, got)
				}
				s.exact(name, odd)
			}
		})
	}
}

// TestReadOnlyValues checks the same for variables whose values matter.
func TestReadOnlyValues(t *testing.T) {
	for _, line := range []string{"IFS=''", "IFS=$'xe;.\\x04 \\n'", "IFS=0123456789", "LC_ALL=C", "LC_ALL=C.UTF-8", "HISTTIMEFORMAT='%F %T '"} {
		for _, shell := range []Shell{Bash, Zsh} {
			t.Run(string(shell)+", "+line, func(t *testing.T) {
				s := start(t, shell, setup{files: rc(shell, "readonly "+line)})
				odd := filepath.Join(s.home, "a;b%41 \x01ü")
				s.must(os.Mkdir(odd, 0o700))
				s.exact(line, odd)
				s.hidden(shell.SetVariable("NEW", " x "))
				if !slices.Contains(s.environment(), "NEW= x ") {
					t.Errorf("with %s a variable is not told", line)
				}
			})
		}
	}
}

// exact runs commands that need careful handling by our hooks.
func (s *session) exact(with, odd string) {
	s.t.Helper()
	for _, step := range []step{
		{command: "echo plain", out: "plain\n"},
		{command: "echo a\necho \"b\" \\ ", out: "a\nb  \n"},
		{command: "cd '" + odd + "'", cwd: odd},
		{command: "printf 'no \\001 end'; false; # \x01 ä\n ", out: "no \x01 end", exit: 1, cwd: odd},
		{command: "cd", cwd: s.home},
	} {
		cwd := s.home
		if step.cwd != "" {
			cwd = step.cwd
		}
		if got := s.run(step.command); got.out != step.out || got.exit != step.exit || got.cwd != cwd {
			s.t.Errorf("with %s, %q: %+v", with, step.command, got)
		}
	}
	s.typed("echo typed; false # %\r")
	began := s.await(Began)
	if got := s.end(began); got.exit != 1 {
		s.t.Errorf("with %s, typed: %+v", with, got)
	}
}

// TestSnippetNames checks that snippets use no variable name that may be a user's.
func TestSnippetNames(t *testing.T) {
	assigned := regexp.MustCompile(`(?m)^\s*(?:builtin )?(?:local|set -l|for|typeset)((?: +[-+][a-zA-Z]+)*) +(.*)$`)
	name := regexp.MustCompile(`^(?:-|__shelld_\w+|LC_ALL|PROMPT_EOL_MARK)(?:[=\s]|$)`)
	for file, text := range map[string]string{"snippet.bash": bashSnippet, "snippet.zsh": zshSnippet, "snippet.fish": fishSnippet} {
		for _, m := range assigned.FindAllStringSubmatch(text, -1) {
			if !name.MatchString(m[2]) {
				t.Errorf("%s: %q", file, strings.TrimSpace(m[0]))
			}
		}
	}
}

// TestFishIFS checks that fish's field separators make no difference.
func TestFishIFS(t *testing.T) {
	for _, set := range []string{"set -e IFS", "set -g IFS ''", "set -g IFS e", "set -gx IFS \\x04.\\ "} {
		s := start(t, Fish, setup{})
		s.run(set)
		s.exact(set, s.home)
		if got := s.environment(); !slices.Contains(got, "HOME="+s.home) {
			t.Errorf("with %s the environment is %q", set, got)
		}
		if got := s.run("functions --names --all | string match -r '^__shelld_prompt_.*' | count"); got.out != "1\n" {
			t.Errorf("with %s the prompt is wrapped %q times", set, got.out)
		}
	}
}
