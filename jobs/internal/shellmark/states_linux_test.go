package shellmark

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A state is what lines write to the file seen, which is to be the same whether the shell has the
// integration or not, and whether somebody types the lines or they come through the FIFO.
type state struct {
	name  string
	shell Shell
	rc    string
	lines []string
	apart string // a way in which it is not the same, as docs/exec.md says
}

// The ways in which a line gets into a shell.
const (
	typedWay = "typed"
	lineWay  = "a line" // as the edited line itself, where Payload would have it so
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
}

// trapped fail in ways of their own. What is empty on the way has the trap run as well, and the last shows
// that it is there.
var trapped = []string{"trap 'echo err $? >>~/seen' ERR", "false", "(exit 3)", "echo $? >>~/seen", "true", "for i in 1; do false; done; false", "echo $? >>~/seen; trap -p ERR >>~/seen"}

// TestStates compares what a shell with the integration shows of itself to the same shell without it.
func TestStates(t *testing.T) {
	old := func(text []byte) []byte {
		return []byte(strings.Replace(string(text), "BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]", "404", 1))
	}
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
				if got := state.seen(t, way, nil); (got != want) != (way == state.apart) {
					t.Errorf("%s: %q, and alone %q", way, got, want)
				}
				if state.shell != Bash || way == state.apart {
					continue
				}
				if got := state.seen(t, way, old); got != want {
					t.Errorf("%s, as one that is old: %q, and alone %q", way, got, want)
				}
			}
		})
	}
}

// start starts the shell of a state.
func (st state) start(t *testing.T, plain bool, edit func([]byte) []byte) *session {
	t.Helper()
	return start(t, st.shell, setup{files: rc(st.shell, st.rc), plain: plain, edit: edit})
}

// alone is what the shell shows without the integration. All lines are typed before it reads the first.
func (st state) alone(t *testing.T) string {
	t.Helper()
	s := st.start(t, true, nil)
	s.typed(strings.Join(st.lines, "\r") + "\rexit\r")
	for s.read() {
	}
	return s.seen()
}

// seen is what it shows with the integration, where each line comes in one way, and code that nobody
// sees runs behind each.
func (st state) seen(t *testing.T, way string, edit func([]byte) []byte) string {
	t.Helper()
	s := st.start(t, false, edit)
	for _, line := range st.lines {
		if way == typedWay {
			s.typed(line + "\r")
			s.end(s.await(Began))
		} else {
			mode := map[string]string{lineWay: "n", evalWay: "e"}[way]
			s.end(s.give(s.shell.numbered(mode, s.number(), line), line))
		}
		s.hidden("false")
	}
	got := s.seen()
	s.leave("exit")
	return got
}

func (s *session) seen() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.home, "seen"))
	s.must(err)
	return strings.ReplaceAll(string(text), s.home, "~")
}
