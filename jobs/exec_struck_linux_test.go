package jobs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var execStrikes = flag.Int("strikes", 10, "pairs of commands in TestExecInterruptAtAnyMoment that are interrupted")

// A strike is a way to interrupt a command that was just requested.
type strike struct {
	name string
	do   func(t *testing.T, j *Job, one Pending[ExecResult])
}

var strikes = []strike{
	{"key", func(t *testing.T, j *Job, _ Pending[ExecResult]) {
		w, err := j.Write(Input{Keys: []string{"Ctrl-C"}})
		if err != nil {
			t.Fatal(err)
		}
		must(t, w)
	}},
	{"signal", func(t *testing.T, j *Job, _ Pending[ExecResult]) {
		s, err := j.Signal("INT", SignalForeground, Asker{})
		if err != nil {
			t.Fatal(err)
		}
		must(t, s)
	}},
	{"cancel", func(_ *testing.T, _ *Job, one Pending[ExecResult]) { one.Cancel() }},
}

// Whatever an interrupt hits, and whenever, the results of the commands agree with the commands that have run: each
// command writes its name to a file.
func TestExecInterruptAtAnyMoment(t *testing.T) {
	for _, name := range execShells {
		for _, by := range strikes {
			t.Run(name+" by "+by.name, func(t *testing.T) {
				m := startReal(t, Options{})
				j := startShell(t, m, name, nil)
				doExec(t, j, "true")
				log := filepath.Join(t.TempDir(), "ran")
				told := map[string]Result[ExecResult]{}
				for i := range *execStrikes {
					one, two := fmt.Sprintf("A%d", i), fmt.Sprintf("B%d", i)
					first := execSays(t, j, one, log, i)
					second := execSays(t, j, two, log, i+1)
					for until := time.Now().Add(time.Duration(i%7) * time.Millisecond); time.Now().Before(until); {
						must(t, j.History()) // The interrupt then comes in any phase of the command.
					}
					by.do(t, j, first)
					told[one], told[two] = <-first.C, <-second.C
				}
				doExec(t, j, "true")
				text, err := os.ReadFile(log)
				if err != nil {
					t.Fatal(err)
				}
				ran := strings.Fields(string(text))
				for command, r := range told {
					checkTold(t, j, name, command, r, ran)
				}
			})
		}
	}
}

// execSays runs a command that writes its name to a file, and prints it.
func execSays(t *testing.T, j *Job, name, log string, i int) Pending[ExecResult] {
	t.Helper()
	command := []string{"echo %[1]s >>%[2]s; echo %[1]s", "echo %[1]s >>%[2]s; sleep 0.003; echo %[1]s", "echo %[1]s >>%[2]s\necho %[1]s"}[i%3]
	p, err := j.Exec(ExecOptions{Command: fmt.Sprintf(command, name, log), Wait: execWait(-1), Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkTold compares the result of a command with the names in the file.
func checkTold(t *testing.T, j *Job, kind, name string, r Result[ExecResult], ran []string) {
	t.Helper()
	times := 0
	for _, other := range ran {
		if other == name {
			times++
		}
	}
	if times > 1 {
		t.Errorf("%s ran %d times", name, times)
	}
	if r.Err != nil {
		e, ok := r.Err.(*Error)
		fates := []CommandFate{CommandDropped, CommandInterrupted, CommandUnknown}
		if !ok || e.Code != CodeCanceled || !slices.Contains(fates, e.Fate) && e.Outcome == nil || e.Fate == CommandDropped && times > 0 {
			t.Errorf("%s ran %d times: %+v", name, times, r.Err)
		}
		return
	}
	out, exit := execOutput(t, j, r.Value), r.Value.Command.ExitCode
	// Its output may be missing: an interrupt key discards output in transit. And zsh keeps the $? of the command
	// before, if an interrupt comes right before a line.
	if exit == nil || *exit == 0 && times == 0 && kind != "zsh" {
		t.Errorf("%s ran %d times: %+v", name, times, r.Value)
	}
	for _, word := range strings.Fields(out) {
		if word != name && (word[0] == 'A' || word[0] == 'B') {
			t.Errorf("%s has the output %q", name, out)
		}
	}
}
