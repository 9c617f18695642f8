package jobs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var interruptedLoops = flag.Int("interrupts", 3, "loops in TestExecInterruptOfALoop that are interrupted, in each shell")

// looped returns a loop in the syntax of a shell, which runs a command n times, or endlessly if n is 0.
func looped(shell, command string, n int) string {
	switch {
	case shell == "fish" && n == 0:
		return "while true; " + command + "; end"
	case shell == "fish":
		return fmt.Sprintf("for i in (seq %d); %s; end", n, command)
	case n == 0:
		return "while :; do " + command + "; done"
	}
	return fmt.Sprintf("for i in $(seq %d); do %s; done", n, command)
}

// doInterrupt runs a command that times out after some time and is then interrupted.
func doInterrupt(t *testing.T, j *Job, command string, after time.Duration, kill bool) ExecResult {
	t.Helper()
	p, err := j.Exec(ExecOptions{Command: command, Wait: execWait(after), Interrupt: true, Kill: kill})
	if err != nil {
		t.Fatal(err)
	}
	return must(t, p)
}

// ends fails the test if an interrupted command goes on. On a busy machine it may end after the answer.
func ends(t *testing.T, j *Job, command string, r ExecResult) {
	t.Helper()
	if !r.Interrupt && !r.Dropped {
		t.Errorf("%q was not interrupted: %+v", command, r)
	}
	if r.Command.Finished {
		return
	}
	w, err := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilCommand, Command: r.Command.ID}}, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if o := must(t, w); o.Reason != "command" {
		t.Fatalf("%q goes on: %+v, %q", command, r, execOutput(t, j, r))
	}
}

// An interrupt ends a loop of short commands, although a shell loses interrupts that come between two commands. It also
// ends a command that has just begun.
func TestExecInterruptOfALoop(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			doExec(t, j, "true")
			taken := `sh -c 'trap "exit 0" INT; while :; do sleep 0.01; done'; ` + looped(name, "/bin/true", 0)
			ends(t, j, taken, doInterrupt(t, j, taken, 500*time.Millisecond, false)) // The first program gets it, not the loop.
			for i := range *interruptedLoops {
				for command, after := range map[string]time.Duration{
					looped(name, "/bin/true", 0):            time.Duration(100+13*i) * time.Millisecond,
					"bash -c 'while :; do /bin/true; done'": time.Duration(100+13*i) * time.Millisecond,
					"sleep 1000":                            time.Duration(2+3*i) * time.Millisecond,
				} {
					r := doInterrupt(t, j, command, after, false)
					ends(t, j, command, r)
					if n, out := doExec(t, j, "echo next"); out != "next\n" || !n.Command.Finished {
						t.Fatalf("what comes behind %q: %+v, %q", command, n, out)
					}
				}
			}
		})
	}
}

// If an interrupt ends only the present program of a loop, and the loop goes on, each further program gets an
// interrupt. A silent program that ignores the first interrupt gets another one.
func TestExecInterruptIsRepeated(t *testing.T) {
	t.Parallel()
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			doExec(t, j, "true")
			for _, command := range []string{
				looped(name, `sh -c 'trap "exit 0" INT; while :; do sleep 0.01; done'`, 2),
				`sh -c 'n=0; trap "n=\$((n + 1))" INT; while [ $n -lt 2 ]; do sleep 0.01; done'`,
			} {
				r := doInterrupt(t, j, command, 500*time.Millisecond, false)
				ends(t, j, command, r)
				if n, out := doExec(t, j, "echo next"); out != "next\n" || !n.Command.Finished {
					t.Fatalf("what comes behind %q: %+v, %q", command, n, out)
				}
			}
		})
	}
}

// If the request of a command is cancelled, interrupts are repeated too.
func TestExecCancelRepeatsTheInterrupt(t *testing.T) {
	t.Parallel()
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			command := looped(name, `sh -c 'trap "exit 0" INT; echo up; while :; do sleep 0.01; done'`, 2)
			p, err := j.Exec(ExecOptions{Command: command, Wait: execWait(-1), Interrupt: true})
			if err != nil {
				t.Fatal(err)
			}
			await(t, j, pattern(`\nup\r`))
			p.Cancel()
			if e := refused(t, p, CodeCanceled); e.CommandID != 1 {
				t.Errorf("%+v", e)
			}
			w, err := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilCommand, Command: 1}}, Timeout: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if o := must(t, w); o.Reason != "command" {
				t.Errorf("the cancelled command goes on: %+v", o)
			}
		})
	}
}

// A program that reacts to an interrupt gets no further one: it might take that as a request to abandon its cleanup.
// This holds too if the first program of the pipeline, whose pid is the id of the group, has ended, and for a script of
// bash with a trap that goes on to run commands.
func TestExecInterruptIsNotRepeatedToOneThatReacts(t *testing.T) {
	t.Parallel()
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			doExec(t, j, "true")
			const trap = `'trap "echo caught" INT; echo ready; while [ ! -e %s ]; do sleep 0.01; done'`
			for _, command := range []string{"sh -c " + trap, "yes | sh -c " + trap, "bash -c " + trap} {
				testReacts(t, j, command)
			}
		})
	}
}

// testReacts interrupts a command that prints a line for each interrupt, and goes on until a file exists.
func testReacts(t *testing.T, j *Job, command string) {
	t.Helper()
	end := filepath.Join(t.TempDir(), "end")
	p, err := j.Exec(ExecOptions{Command: fmt.Sprintf(command, end), Wait: execWait(time.Second), Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	r := must(t, p)
	if out := execOutput(t, j, r); r.Command.Finished || strings.Count(out, "caught") != 1 {
		t.Errorf("%q: %+v, %q", command, r, out)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out := doExec(t, j, "echo next"); out != "next\n" {
		t.Errorf("behind %q: %q", command, out)
	}
}

// A script gets further interrupts if it has lost the first two: bash drops an interrupt if its child handles it and
// does not die of it.
func TestExecInterruptOfAScriptIsRepeated(t *testing.T) {
	t.Parallel()
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	doExec(t, j, "true")
	const taken = `sh -c "trap \"exit 0\" INT; while :; do sleep 0.01; done"; `
	command := "bash -c '" + taken + taken + "while :; do sleep 0.01; done'"
	ends(t, j, command, doInterrupt(t, j, command, 500*time.Millisecond, false))
	if n, out := doExec(t, j, "echo next"); out != "next\n" || !n.Command.Finished {
		t.Fatalf("what comes behind %q: %+v, %q", command, n, out)
	}
}

// A program that cleans up silently gets two interrupts and not more: many programs abandon their cleanup at the third.
func TestExecInterruptIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip(err)
	}
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	doExec(t, j, "true")
	dir := t.TempDir()
	end, got := filepath.Join(dir, "end"), filepath.Join(dir, "got")
	command := fmt.Sprintf(`perl -e 'open F, ">", "%s"; F->autoflush; $SIG{INT} = sub { print F "x" }; print "ready\n"; select undef, undef, undef, 0.01 until -e "%s"'`, got, end)
	r := doInterrupt(t, j, command, time.Second, false)
	if r.Command.Finished || !r.Interrupt {
		t.Errorf("%+v", r)
	}
	if n, err := os.ReadFile(got); string(n) != "xx" {
		t.Errorf("it got %q, %v; want two interrupts", n, err)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out := doExec(t, j, "echo next"); out != "next\n" {
		t.Errorf("behind it: %q", out)
	}
}

// If the request asks for it, a command that interrupts do not end is killed. The shell stays.
func TestExecKill(t *testing.T) {
	t.Parallel()
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testExecKill(t, startReal(t, Options{}), name, `sh -c 'trap "" INT; sleep 1000; echo no'`, `sh -c 'trap "" INT; sleep 1000; echo no' | cat`)
		})
	}
	t.Run("bash without keepers", func(t *testing.T) { // Nothing reaps orphans there.
		t.Parallel()
		testExecKill(t, startReal(t, Options{WithoutKeepers: true}), "bash", `sh -c 'trap "" INT; exec sleep 1000'`)
	})
}

func testExecKill(t *testing.T, m *Manager, name string, commands ...string) {
	t.Helper()
	j := startShell(t, m, name, nil)
	doExec(t, j, "cd /; true")
	for _, command := range commands {
		r := doInterrupt(t, j, command, 2*time.Second, true)
		ends(t, j, command, r)
		if !r.Killed || r.Outcome.Reason != "timeout" {
			t.Fatalf("%q: %+v", command, r)
		}
		if _, out := doExec(t, j, "pwd"); out != "/\n" {
			t.Errorf("behind it: %q", out)
		}
	}
	r := doInterrupt(t, j, "sleep 1000", 200*time.Millisecond, true)
	ends(t, j, "sleep 1000", r)
	if r.Killed {
		t.Errorf("what an interrupt ends was killed: %+v", r)
	}
}

// A loop within the shell that ignores interrupts is not killed, since that would kill the shell.
func TestExecKillSparesTheShell(t *testing.T) {
	t.Parallel()
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	doExec(t, j, "true")
	end := filepath.Join(t.TempDir(), "end")
	r := doInterrupt(t, j, fmt.Sprintf("trap '' INT; while [ ! -e %s ]; do :; done", end), 200*time.Millisecond, true)
	if r.Command.Finished || !r.Interrupt || r.Killed || r.Outcome.Reason != "timeout" {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out := doExec(t, j, "echo next"); out != "next\n" {
		t.Errorf("behind it: %q", out)
	}
}

func TestNeedsAnotherInterrupt(t *testing.T) {
	at := time.Unix(1000, 0)
	soon, later, much := at.Add(interruptEvery), at.Add(interruptAgain), at.Add(interruptAgain+interruptEvery)
	sample := func(group int, image string, at time.Time, end int64) foregroundSample {
		return foregroundSample{group: group, image: image, at: at, first: time.Unix(1000, 0), end: end, sent: 1}
	}
	one := sample(7, "sleep", at, 100)
	two := sample(7, "sleep", later, 100)
	two.sent = 2
	script := two
	script.shell = true
	for what, c := range map[string]struct {
		last, now foregroundSample
		another   bool
	}{
		"the same, soon":                         {one, sample(7, "sleep", soon, 100), false},
		"the same, later":                        {one, sample(7, "sleep", later, 100), true},
		"the same, which has written":            {one, sample(7, "sleep", later, 101), false},
		"another group":                          {one, sample(8, "sleep", soon, 101), true},
		"another program":                        {one, sample(7, "cat", soon, 101), true},
		"another program that is not known":      {one, sample(7, imageUnknown, soon, 101), true},
		"a pipeline whose first program is over": {one, sample(7, imageEnded, soon, 101), false},
		"such a pipeline, later":                 {one, sample(7, imageEnded, later, 100), true},
		"a foreground that is not known":         {one, sample(0, "", soon, 100), true},
		"a silent one that has got two":          {two, sample(7, "sleep", much, 100), false},
		"one that writes after two":              {two, sample(7, "sleep", much, 101), false},
		"another program after two":              {two, sample(7, "cat", much, 100), true},
		"a silent script that has got two":       {script, sample(7, "sleep", much, 100), true},
		"a script that writes after two":         {script, sample(7, "sleep", much, 101), false},
	} {
		if got := c.last.needsAnother(c.now); got != c.another {
			t.Errorf("%s needs another: %v", what, got)
		}
	}
}
