package inputwait_test

import (
	"testing"

	"shelld/jobs/internal/inputwait"
)

const (
	reading   = inputwait.Reading
	listening = inputwait.Listening
	line      = inputwait.Line
	password  = inputwait.Password
	raw       = inputwait.Raw
	exact     = inputwait.Exact
	likely    = inputwait.Likely
)

// Programs that wait for input alone. Where it is only likely they wake up by themselves
// after some seconds.
func TestProgramsThatRead(t *testing.T) {
	for _, test := range []struct {
		name   string
		prompt string
		kind   inputwait.Kind
		sure   inputwait.Confidence
		args   []string
	}{
		{"cat", "", line, exact, []string{"cat"}},
		{"bash", "$ ", raw, exact, []string{"bash", "--norc", "-i"}},
		{"dash read", "name? ", line, exact, []string{"dash", "-c", `printf 'name? '; read x`}},
		{"bash read", "name? ", line, exact, []string{"bash", "-c", `read -p 'name? ' x`}},
		{"bash read -s", "secret? ", password, exact, []string{"bash", "-c", `read -s -p 'secret? ' x`}},
		{"bash read -n1", "key? ", raw, exact, []string{"bash", "-c", `read -n1 -p 'key? ' x`}},
		{"python3", ">>> ", raw, exact, []string{"python3", "-q"}},
		{"getpass", "Password: ", password, exact, []string{"python3", "-c", "import getpass; getpass.getpass()"}},
		{"input", "name? ", line, exact, []string{"python3", "-c", "input('name? ')"}},
		{"less", "END", raw, exact, []string{"bash", "-c", "echo text | less"}},
		{"vim", "~", raw, likely, []string{"vim", "-u", "NONE", "-n"}},
		{"node", "> ", raw, likely, []string{"node", "-i"}},
		{"gdb", "(gdb) ", raw, exact, []string{"gdb", "-q", "-nx"}},
		{"cat in a pipeline", "", line, exact, []string{"bash", "-c", "cat | cat | cat"}},
		{"cat in another session", "", line, exact, []string{"bash", "-c", "setsid -w cat; :"}},
		{"somebody sleeps beside", "go? ", line, exact, []string{"bash", "-c", "sleep 60 & read -p 'go? ' x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			need(t, test.args[0])
			onTerminal(t, test.args...).waits(test.prompt, reading, test.kind, test.sure)
		})
	}
}
