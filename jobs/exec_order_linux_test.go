package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Input that was typed before the shell reads a line runs first. A command that is handed to the shell meanwhile runs
// once, after it, and no other command is taken for it.
func TestExecBehindTyped(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			file := filepath.Join(t.TempDir(), "ran")
			for _, text := range []string{"echo typed\r", "echo one; echo two\recho three\r"} {
				w, err := j.Write(Input{Text: text})
				if err != nil {
					t.Fatal(err)
				}
				must(t, w)
				doExec(t, j, "echo x >>"+file)
				if r, out := doExec(t, j, "echo behind"); out != "behind\n" {
					t.Errorf("%q: %+v", out, r)
				}
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != "x\nx\n" {
				t.Errorf("%q, %v; a command of two ran not once", got, err)
			}
			var texts []string
			for _, c := range must(t, j.History()) {
				if !c.Typed {
					texts = append(texts, c.Text)
				}
			}
			if got := strings.Count(strings.Join(texts, "|"), "echo x"); got != 2 || len(texts) != 4 {
				t.Errorf("history %q", texts)
			}
		})
	}
}

// If the line editor misinterprets the keys of a command, the command is refused. It does not run later in place of
// another one, however long it is.
func TestExecNotTaken(t *testing.T) {
	t.Parallel()
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			doExec(t, j, "true")
			for range 4 {
				w, err := j.Write(Input{Keys: []string{"Ctrl-V"}}) // The shell inserts the next key literally.
				if err != nil {
					t.Fatal(err)
				}
				must(t, w)
				p, err := j.Exec(ExecOptions{Command: "echo lost; : " + strings.Repeat("x", 900_000), Wait: execWait(watchdog)})
				if err != nil {
					t.Fatal(err)
				}
				if got := <-p.C; got.Err == nil && (got.Value.Command.ExitCode == nil || execOutput(t, j, got.Value) != "lost\n") {
					t.Errorf("%+v", got.Value.Outcome)
				} else if got.Err != nil && got.Err.(*Error).Code != CodeShellBusy {
					t.Error(got.Err)
				}
				if r, out := doExec(t, j, "echo next"); out != "next\n" {
					t.Errorf("%q: %+v", out, r.Outcome)
				}
			}
		})
	}
}

// Cancelling a running command interrupts it if a timeout would.
func TestExecCancelInterrupts(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	p, err := j.Exec(ExecOptions{Command: "sh -c 'echo asleep; exec sleep 1000'", Wait: execWait(-1), Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	asleep, err := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: "^asleep", Flags: "m"}}}, From: Origin{Kind: FromStart}, Timeout: -1})
	if err != nil {
		t.Fatal(err)
	}
	must(t, asleep)
	p.Cancel()
	if got := <-p.C; got.Err == nil || got.Err.(*Error).Code != CodeCanceled {
		t.Errorf("%+v", got)
	}
	if r, out := doExec(t, j, "echo four"); out != "four\n" {
		t.Errorf("%q: %+v", out, r.Outcome)
	}
	if c := must(t, j.History())[0]; c.ExitCode == nil || *c.ExitCode != 130 {
		t.Errorf("%+v", c)
	}
}

// An interrupt key right after a command ends it, whatever state it is in by then, and the shell goes on.
func TestExecInterruptKeyAtOnce(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			doExec(t, j, "true")
			for range 30 {
				p, err := j.Exec(ExecOptions{Command: "true", Wait: execWait(-1)})
				if err != nil {
					t.Fatal(err)
				}
				w, err := j.Write(Input{Keys: []string{"Ctrl-C"}})
				if err != nil {
					t.Fatal(err)
				}
				must(t, w)
				if got := <-p.C; got.Err != nil && (got.Err.(*Error).Code != CodeCanceled || got.Err.(*Error).Fate != CommandDropped) {
					t.Error(got.Err)
				}
			}
			if r, out := doExec(t, j, "echo next"); out != "next\n" {
				t.Errorf("%q: %+v", out, r.Outcome)
			}
		})
	}
}
