package jobs

import (
	"strings"
	"testing"
	"time"
)

// If a command removes all hooks with which bash reports the end of a command, the server asks the shell. The command
// ends with its own status, and the hooks are there again.
func TestExecWithoutHooks(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	for _, c := range []struct {
		command, output string
		exit            int
	}{
		{"PS1='$ '; unset PROMPT_COMMAND", "", 0},
		{"echo one; false", "one\n", 1},
		{"echo $?\nPS1='$ '; unset PROMPT_COMMAND\ncd /; (exit 3)", "1\n", 3},
		{"echo $?; pwd", "3\n/\n", 0},
		{"PS1='$ ' PROMPT_COMMAND=", "", 0},
	} {
		if r, out := doExec(t, j, c.command); r.Outcome.Reason != "command" || out != c.output || deref(t, r.Command.ExitCode) != c.exit {
			t.Fatalf("%q: %q: %+v", c.command, out, r)
		}
	}
	w, err := j.Write(Input{Text: "PS1='$ '; unset PROMPT_COMMAND\r"})
	if err != nil {
		t.Fatal(err)
	}
	must(t, w)
	if r, out := doExec(t, j, "echo two"); out != "two\n" {
		t.Errorf("behind a typed command: %q: %+v", out, r)
	}
}

// A command that reads a line with the line editor has not ended, and the shell answers so if it is asked.
func TestExecReadsALine(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	asked := func(id int64) bool {
		must(t, j.Info()) // It makes a probe.
		a := actorOf(j)
		a.lock.Lock()
		defer a.lock.Unlock()
		s := a.shell.watch
		return s.current != nil && s.current.ID == id && s.askedAt.After(s.current.StartedAt) && !s.handing()
	}
	for i, command := range []string{"read -e -p 'name? ' x; echo \"it is $x\"", "read -e -p 'name? ' x\necho \"it is $x\""} {
		p := askExec(t, j, ExecOptions{Command: command, Wait: execWait(watchdog)})
		for until := time.Now().Add(watchdog); !asked(int64(2*i + 1)); {
			if time.Now().After(until) {
				t.Fatal("the shell is not asked")
			}
		}
		w, err := j.Write(Input{Text: "Ada\r"})
		if err != nil {
			t.Fatal(err)
		}
		must(t, w)
		r := must(t, p)
		if out := execOutput(t, j, r); deref(t, r.Command.ExitCode) != 0 || !strings.HasSuffix(out, "it is Ada\n") {
			t.Errorf("%q: %+v", out, r)
		}
		if _, out := doExec(t, j, "echo $x"); out != "Ada\n" {
			t.Errorf("it has read %q", out)
		}
	}
}
