package shellmark

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A state is a list of lines that write to the file seen. The contents must be the same with and without the
// integration, and whether the lines are typed or come through the FIFO.
type state struct {
	name  string
	shell Shell
	rc    string
	lines []string
	apart string // ways for which it is not the same, as documented in docs/exec.md
}

// Ways in which a line reaches a shell.
const (
	typedWay = "typed"
	lineWay  = "a line" // as the edited line itself, if Payload would choose that
	evalWay  = "eval"
)

var states = []state{
	{name: "ERR", shell: Bash, lines: trapped},
	{name: "ERR, with a hook", shell: Bash, rc: "PROMPT_COMMAND=:", lines: trapped},
	{name: "ERR, in functions", shell: Bash, rc: "set -E; PROMPT_COMMAND=('echo hook $? >>~/seen' :)", lines: trapped},
	{name: "ERR, with -e", shell: Bash, rc: "PROMPT_COMMAND='echo hook $? >>~/seen'", lines: []string{"trap 'echo err >>~/seen' ERR; set -e", "false || true", "if false; then :; fi", "set +e", "false", "echo $? >>~/seen"}},
	{name: "ERR that names are exported in", shell: Bash, rc: "set -a", lines: []string{"trap 'echo \"it'\\''s $?\" >>~/seen' ERR", "false", "trap -p >>~/seen", "env | grep shelld >>~/seen", "trap - ERR", "false", "trap >>~/seen"}},
	{name: "ERR", shell: Zsh, lines: []string{"trap 'echo err $? >>~/seen' ERR", "false", "(exit 3)", "echo $? >>~/seen", "true", "for i in 1; do false; done; false", "echo $? >>~/seen; trap >>~/seen"}},
	{name: "ERR, a function", shell: Zsh, rc: "precmd() { echo hook $? >>~/seen }", lines: []string{"TRAPZERR() { echo err $? >>~/seen }", "false", "(exit 3)", "true", "echo $? >>~/seen"}},
	{name: "ERR, traced", shell: Zsh, rc: "set -x", lines: []string{"trap '{ echo err $? >>~/seen } 2>/dev/null' ERR", "false", "true", "(exit 3)", "echo $? >>~/seen"}},

	{name: "statuses", shell: Bash, rc: "PROMPT_COMMAND=('echo a $? ${PIPESTATUS[*]} >>~/seen' 'echo b $? ${PIPESTATUS[*]} >>~/seen')", lines: []string{"false", "echo $? >>~/seen", "(exit 3)", "echo $? >>~/seen"}},
	{name: "PIPESTATUS", shell: Bash, lines: []string{"false | true", "echo ${PIPESTATUS[*]} >>~/seen", "false | true | (exit 4)", "echo ${PIPESTATUS[*]} >>~/seen"}, apart: evalWay},
	{name: "$_", shell: Bash, lines: []string{"true a b", "echo $_ >>~/seen", "true q >>~/seen", "echo $_ >>~/seen"}, apart: evalWay},
	{name: "matches", shell: Bash, lines: []string{"[[ abc =~ (b)(c) ]]", "declare -p BASH_REMATCH >>~/seen", "cd /", "declare -p BASH_REMATCH >>~/seen"}},
	{name: "what read reads", shell: Bash, lines: []string{"read <<<x; mapfile <<<y; read a b <<<'1 2'", "echo $REPLY ${MAPFILE[*]} $a $b >>~/seen"}},
	{name: "getopts", shell: Bash, lines: flagged},
	{name: "words", shell: Bash, lines: []string{"IFS=:; x=a:b", "printf '<%s>' $x >>~/seen", "set -f; set -- *", "echo $#$* >>~/seen"}},
	{name: "lines and commands", shell: Bash, rc: "p='\\#'", lines: []string{"echo $LINENO ${p@P} >>~/seen", "true", "echo $LINENO ${p@P} >>~/seen"}},
	{name: "numbers", shell: Bash, lines: numbers},
	{name: "options", shell: Bash, lines: []string{"set -fuC; shopt -s nullglob extglob failglob nocasematch", "set +o >>~/seen; shopt -p >>~/seen; echo $- $SHELLOPTS $BASHOPTS >>~/seen", "umask 027; trap 'true usr1' USR1", "umask >>~/seen; trap >>~/seen"}},
	{name: "the locale", shell: Bash, lines: []string{"x=$'\\u00e4'; LC_ALL=C", "echo ${#x} ${LC_ALL-none} >>~/seen", "unset LC_ALL", "echo ${#x} ${LC_ALL-none} >>~/seen"}},
	{name: "jobs", shell: Bash, lines: background},
	{name: "programs that were found", shell: Bash, lines: []string{"hash -r", "hash >>~/seen 2>&1", "cat /dev/null", "hash -l >>~/seen"}},
	{name: "history", shell: Bash, lines: []string{"p='\\!'; echo ${p@P} $HISTCMD >>~/seen", "true", "echo ${p@P} $HISTCMD >>~/seen; HISTTIMEFORMAT= history >>~/seen"}, apart: givenWays},
	{name: "where it is", shell: Bash, lines: []string{"cd /tmp; cd /", "echo $OLDPWD $PWD ${DIRSTACK[*]} ${FUNCNAME-none} ${BASH_SOURCE-none} $BASH_SUBSHELL $0 >>~/seen"}},
	{name: "descriptors", shell: Bash, lines: []string{"exec 9>>~/seen", "echo a >&9", "exec 10>&9", "echo b >&10"}},

	{name: "HISTIGNORE, exported without a value", shell: Bash, rc: "export HISTIGNORE", lines: []string{":", "(:)", "echo ${HISTIGNORE@a} ${HISTIGNORE-none} >>~/seen; HISTIGNORE=ls", "declare -p HISTIGNORE >>~/seen"}, apart: givenWays},
	{name: "HISTIGNORE, exported and left alone", shell: Bash, rc: "export HISTIGNORE", lines: []string{"cd", "(:)", "HISTIGNORE=ls; echo >>~/seen", "declare -p HISTIGNORE >>~/seen"}},
	{name: "HISTIGNORE, exported later", shell: Bash, lines: []string{"export HISTIGNORE", "cd", "HISTIGNORE=ls; echo >>~/seen", "declare -p HISTIGNORE >>~/seen"}},
	{name: "HISTIGNORE, exported no more", shell: Bash, rc: "export HISTIGNORE", lines: []string{"cd", "declare +x HISTIGNORE", "cd", "HISTIGNORE=ls; echo >>~/seen", "declare -p HISTIGNORE >>~/seen"}},
	{name: "HISTIGNORE, unset", shell: Bash, rc: "export HISTIGNORE", lines: []string{"cd", "unset HISTIGNORE", "cd", "HISTIGNORE=ls; echo >>~/seen", "declare -p HISTIGNORE >>~/seen"}},
	{name: "HISTIGNORE, exported with a value", shell: Bash, rc: "export HISTIGNORE=a", lines: []string{"cd", "declare -p HISTIGNORE >>~/seen; export HISTIGNORE='b c'", "declare -p HISTIGNORE >>~/seen", "declare +x HISTIGNORE", "declare -p HISTIGNORE >>~/seen; unset HISTIGNORE", "echo ${HISTIGNORE-none} >>~/seen"}},

	{name: "statuses", shell: Zsh, rc: "precmd() { echo $? $pipestatus >>~/seen }", lines: []string{"false", "echo $? >>~/seen", "(exit 3)", "echo $? >>~/seen"}},
	{name: "pipestatus", shell: Zsh, lines: []string{"false | true", "echo $pipestatus >>~/seen", "false | true | (exit 4)", "echo $pipestatus >>~/seen"}, apart: evalWay},
	{name: "$_", shell: Zsh, lines: []string{"true a b", "echo $_ >>~/seen", "true q >>~/seen", "echo $_ >>~/seen"}, apart: evalWay},
	{name: "matches", shell: Zsh, lines: []string{"[[ abc =~ '(b)(c)' ]]", "echo $MATCH $MBEGIN $MEND $match $mbegin $mend >>~/seen", "setopt extended_glob; [[ abc == (#b)a(b)c ]]", "echo $match $mbegin $mend >>~/seen"}},
	{name: "replies", shell: Zsh, lines: []string{"REPLY=x; reply=(a b)", "echo $REPLY $reply >>~/seen"}},
	{name: "getopts", shell: Zsh, lines: flagged},
	{name: "words", shell: Zsh, lines: []string{"IFS=:; x=a:b", "printf '<%s>' $=x >>~/seen", "set -- 1 2", "echo $# $* >>~/seen"}},
	{name: "numbers", shell: Zsh, lines: numbers},
	{name: "options", shell: Zsh, lines: []string{"setopt nonomatch extendedglob shwordsplit", "setopt >>~/seen; echo $- >>~/seen", "umask 027; trap 'true usr1' USR1", "umask >>~/seen; trap >>~/seen"}},
	{name: "the locale", shell: Zsh, lines: []string{"x=$'\\u00e4'; LC_ALL=C", "echo ${#x} ${LC_ALL-none} >>~/seen", "unset LC_ALL", "echo ${#x} ${LC_ALL-none} >>~/seen"}},
	{name: "jobs", shell: Zsh, lines: background, apart: evalWay},
	{name: "programs that were found", shell: Zsh, rc: "unsetopt hash_dirs", lines: []string{"hash -r", "hash >>~/seen", "cat /dev/null", "hash >>~/seen"}},
	{name: "history", shell: Zsh, lines: []string{"print -P '%h' $HISTCMD >>~/seen", "true", "print -P '%h' $HISTCMD >>~/seen; fc -l 1 >>~/seen"}, apart: givenWays},
	{name: "where it is", shell: Zsh, lines: []string{"cd /tmp; cd /", "echo $OLDPWD $PWD $dirstack $funcstack $0 $ZSH_SUBSHELL >>~/seen"}, apart: evalWay},
	{name: "descriptors", shell: Zsh, lines: []string{"exec 9>>~/seen", "echo a >&9", "exec {f}>&9", "echo $f >&$f"}},

	{name: "$status", shell: Fish, lines: []string{"false", "echo $status $pipestatus >>~/seen", "sh -c 'exit 3'", "echo $status >>~/seen; not true", "echo $status >>~/seen"}},
	{name: "$pipestatus", shell: Fish, lines: []string{"false | true", "echo $status $pipestatus >>~/seen", "sh -c 'exit 3' | sh -c 'exit 4' | true", "echo $status $pipestatus >>~/seen",
		"sleep 1000 & true; set p $last_pid; true | true | false | sh -c 'kill -9 $(sh -c \"echo \\$PPID\")'; true", "echo $status $pipestatus >>~/seen", "kill $p; true | false", "true | false &", "echo $status $pipestatus >>~/seen; test $p != $last_pid; or echo same >>~/seen",
		"true | cat </none", "echo $status $pipestatus >>~/seen", "true; true | false; and true", "echo $status $pipestatus >>~/seen", "no-such-program | true", "echo $status $pipestatus >>~/seen"}},
	{name: "$pipestatus, and $status another", shell: Fish, lines: []string{"not true | false", "echo $status $pipestatus >>~/seen"}, apart: evalWay},
	{name: "variables", shell: Fish, lines: []string{"set -g match a; set -g REPLY b; set -g argv 1 2 3; set -g IFS x", "echo $match $REPLY $argv $IFS >>~/seen", "set --names | string match -v -r '^(__shelld|__fish|fish)_' | sort >>~/seen"}},
	{name: "modes", shell: Fish, lines: []string{"umask 027; cd /tmp; cd /", "umask >>~/seen; echo $OLDPWD $PWD $dirprev >>~/seen", "set -g LC_ALL C", "string length \\u00e4 >>~/seen"}},
	{name: "jobs", shell: Fish, lines: []string{"sleep 1000 &", "set p $last_pid", "test $p = $last_pid; and echo same >>~/seen", "jobs -p | count >>~/seen", "kill %1 $p; wait; true", "jobs | count >>~/seen"}},
	{name: "where it is", shell: Fish, lines: []string{"echo (status line-number) (status filename) (status function) (status is-block) >>~/seen"}},
}

// givenWays are the ways other than typing.
const givenWays = lineWay + " and " + evalWay

// flagged are run in this order, each as a line.
var flagged = []string{"set -- -ab -cx y", "getopts abc: o; echo $o $OPTIND >>~/seen", "getopts abc: o; echo $o $OPTIND >>~/seen", "getopts abc: o; echo $o $OPTIND $OPTARG >>~/seen", "echo $OPTIND $# $* >>~/seen"}

// numbers depend on a random seed or on the clock.
var numbers = []string{"RANDOM=5", "echo $RANDOM >>~/seen", "echo $RANDOM >>~/seen", "SECONDS=10000", "((SECONDS >= 10000 && SECONDS < 20000)) && echo later >>~/seen"}

var background = []string{"sleep 1000 &", "p=$!", "[[ $p == $! ]] && echo same >>~/seen", "jobs >>~/seen", "kill $p; wait; true", "jobs >>~/seen; echo over >>~/seen"}

// trapped fail in different ways. A payload without a command also runs the trap; the last line shows that the trap is
// set.
var trapped = []string{"trap 'echo err $? >>~/seen' ERR", "false", "(exit 3)", "echo $? >>~/seen", "true", "for i in 1; do false; done; false", "echo $? >>~/seen; trap -p ERR >>~/seen"}

// TestStates compares the state of a shell with the integration to that of the same shell without it.
func TestStates(t *testing.T) {
	for _, state := range states {
		t.Run(string(state.shell)+", "+state.name, func(t *testing.T) {
			want := state.alone(t)
			if want == "" {
				t.Fatal("it shows nothing")
			}
			for _, way := range []string{typedWay, lineWay, evalWay} {
				if way == lineWay && state.shell == Fish {
					continue
				}
				if got := state.seen(t, way, nil); (got != want) != strings.Contains(state.apart, way) {
					t.Errorf("%s: %q, and alone %q", way, got, want)
				}
				if state.shell != Bash || strings.Contains(state.apart, way) {
					continue
				}
				if got := state.seen(t, way, old); got != want {
					t.Errorf("%s, as one that is old: %q, and alone %q", way, got, want)
				}
			}
		})
	}
}

// old makes our file treat bash as an old version.
func old(text []byte) []byte {
	return bytes.Replace(text, []byte("BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]"), []byte("404"), 1)
}

// start starts the shell of a state.
func (st state) start(t *testing.T, plain bool, edit func([]byte) []byte) *session {
	t.Helper()
	return start(t, st.shell, setup{files: rc(st.shell, st.rc), plain: plain, edit: edit})
}

// alone returns the output of the shell without the integration. All lines are typed before it reads the first, except
// for fish, which would lose line ends: there the test waits for a prompt before each line.
func (st state) alone(t *testing.T) string {
	t.Helper()
	if st.shell == Fish {
		st.rc += "\nfunction fish_prompt; printf '\\e]777;ready\\a' >/dev/tty; end"
	}
	s := st.start(t, true, nil)
	for _, line := range append(slices.Clone(st.lines), "exit") {
		if from := len(s.out); st.shell == Fish {
			s.awaitText(from, "\x1b]777;ready\a")
		}
		s.typed(line + "\r")
	}
	for s.read() {
	}
	return s.seen()
}

// seen returns the output with the integration, if each line comes in one way, followed by hidden code.
func (st state) seen(t *testing.T, way string, edit func([]byte) []byte) string {
	t.Helper()
	s := st.start(t, false, edit)
	for _, line := range st.lines {
		if way == typedWay {
			s.typed(line + "\r")
			s.end(s.await(Began))
		} else {
			s.end(s.give(st.payload(s.number(), way, line), line))
		}
		s.hidden("false")
	}
	got := s.seen()
	s.leave("exit")
	return got
}

func (st state) payload(seq int64, way, line string) []byte {
	if st.shell == Fish {
		payload, _ := Fish.Payload(seq, line)
		return payload
	}
	return st.shell.numbered(map[string]string{lineWay: "n", evalWay: "e"}[way], seq, line)
}

func (s *session) seen() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.home, "seen"))
	s.must(err)
	return strings.ReplaceAll(string(text), s.home, "~")
}

// TestTrapIsBack checks that the user's ERR trap is restored if the command for which it was removed does not run:
// because of an interrupt before the line is accepted, or a key that asks about the command.
func TestTrapIsBack(t *testing.T) {
	for name, drop := range map[string]func(s *session){
		"an interrupt": func(s *session) {
			s.typed("\x03")
			s.await(Dropped)
			s.await(Ready)
		},
		"a key": func(s *session) { s.hidden("") },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Bash, setup{})
			s.run("trap 'echo err' ERR")
			payload, err := Bash.Payload(s.number(), "echo a\nfalse")
			s.must(err)
			_, err = s.fifo.Write(payload)
			s.must(err)
			s.typed(keyTrigger)
			s.await(Loaded)
			drop(s)
			s.typed("false\r")
			began := s.await(Began)
			ended := s.await(Ended)
			if out := string(s.out[began.At:ended.At]); strings.Count(out, "err\r\n") != 1 {
				t.Errorf("a command that fails wrote %q", out)
			}
			if ended.Text != "false" {
				t.Errorf("it is told as %q", ended.Text)
			}
			s.await(Ready)
			if got := s.run("echo a\nfalse"); got.out != "a\nerr\n" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestHalfTypedLine checks that one of our keys runs no text that the user has typed or searched for, whatever consumes
// the first key or a part of it; and that the next command runs.
func TestHalfTypedLine(t *testing.T) {
	for name, keys := range map[string]string{
		"a search":             "\x12precious",
		"a search on a line":   "touch ran #precious\x12",
		"escape":               "touch ran #precious\x1b",
		"a quoted key":         "touch ran #precious\x16",
		"a key of two":         "touch ran #precious\x18",
		"half a key":           "touch ran #precious\x1b[",
		"a line that is whole": "touch ran #precious",
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Bash, setup{})
			s.run("history -s 'touch ran #precious'") // any text appended to it is in the comment
			from := len(s.out)
			s.typed(keys)
			s.awaitText(from, "ious")
			payload, err := Bash.Payload(s.number(), "echo first")
			s.must(err)
			_, err = s.fifo.Write(payload)
			s.must(err)
			s.typed(string(Bash.Trigger()))
			if name != "a line that is whole" { // there the key is also intact
				s.typed("\x07" + string(Bash.Trigger()))
			}
			s.await(Loaded)
			if got := s.end(s.await(Began)); got.out != "first\n" {
				t.Errorf("%+v", got)
			}
			if _, err := os.Stat(filepath.Join(s.home, "ran")); err == nil {
				t.Error("it has run")
			}
		})
	}
}

// TestWithoutStandardError checks that bash takes commands while its stderr is closed, and after it is opened again.
func TestWithoutStandardError(t *testing.T) {
	s := start(t, Bash, setup{})
	s.run("exec 3>&2 2>&-")
	for _, command := range []string{"echo one", "echo two\necho three", "false"} {
		if got, want := s.run(command), strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(command, "echo ", ""), "false", "")+"\n", "\n\n", ""); strings.TrimSpace(got.out) != strings.TrimSpace(want) || got.exit != map[bool]int{true: 1}[command == "false"] {
			t.Errorf("%q: %+v", command, got)
		}
	}
	s.run("exec 2>&3 3>&-")
	if got := s.run("echo four >&2"); got.out != "four\n" {
		t.Errorf("%+v", got)
	}
}

// TestRedrawnWhileLoaded checks that no output is lost if the prompt is redrawn between our key and the start of the
// command: fish does so if the size of its window changes.
func TestRedrawnWhileLoaded(t *testing.T) {
	s := start(t, Fish, setup{files: rc(Fish, "function again --on-variable __shelld_o; set -q __shelld_o; and commandline -f repaint; end\n")})
	for range 5 {
		if got := s.run("echo one"); got.out != "one\n" || got.exit != 0 {
			t.Errorf("%+v", got)
		}
	}
}
