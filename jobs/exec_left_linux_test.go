package jobs

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sleepsInShell is a command that prints a word when it runs, and goes on until it is interrupted.
const sleepsInShell = "sh -c 'echo asleep; exec sleep 1000'"

// beginAsleep starts sleepsInShell, and returns when it runs.
func beginAsleep(t *testing.T, j *Job, o ExecOptions) Pending[ExecResult] {
	t.Helper()
	from := j.End(PTY)
	o.Command, o.Wait = sleepsInShell, execWait(-1)
	p, err := j.Exec(o)
	if err != nil {
		t.Fatal(err)
	}
	asleep, err := j.Wait(&WaitSpec{Until: []Condition{{Kind: UntilPattern, Watch: WatchSpec{Pattern: "^asleep", Flags: "m"}}}, From: Origin{Kind: FromOffset, Offsets: map[Stream]int64{PTY: from}}, Timeout: -1})
	if err != nil {
		t.Fatal(err)
	}
	must(t, asleep)
	return p
}

// The answer to a cancelled exec has the fate of the command: it never runs, it goes on, or it is interrupted.
func TestExecCanceledTells(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	canceled := func(p Pending[ExecResult], id int64, fate CommandFate) {
		t.Helper()
		p.Cancel()
		if e := refused(t, p, CodeCanceled); e.CommandID != id || e.Fate != fate || e.Handle != j.ID() {
			t.Errorf("%+v, want command %d to be %s", e, id, fate)
		}
	}
	one := beginAsleep(t, j, ExecOptions{})
	two, err := j.Exec(ExecOptions{Command: "echo two", Wait: execWait(-1)})
	if err != nil {
		t.Fatal(err)
	}
	three, err := j.Exec(ExecOptions{Command: "echo three", Wait: execWait(-1), Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	canceled(two, 2, CommandDropped)
	canceled(three, 3, CommandDropped)
	canceled(one, 1, CommandRunning)
	struck, err := j.Signal("INT", SignalForeground, Asker{})
	if err != nil {
		t.Fatal(err)
	}
	must(t, struck)
	end, err := j.Wait(execWait(-1, Condition{Kind: UntilCommand, Command: 1}))
	if err != nil {
		t.Fatal(err)
	}
	if c := must(t, end).Command; c == nil || c.ID != 1 || c.ExitCode == nil || *c.ExitCode != 130 || c.Output.To <= c.Output.From {
		t.Errorf("the wait tells of %+v", c)
	}
	canceled(beginAsleep(t, j, ExecOptions{Interrupt: true}), 4, CommandInterrupted)
	if r, out := doExec(t, j, "echo five"); out != "five\n" || r.Command.ID != 5 {
		t.Errorf("%q: %+v", out, r)
	}
	var ran []int64
	for _, c := range must(t, j.History()) {
		ran = append(ran, c.ID)
	}
	if !slices.Equal(ran, []int64{1, 4, 5}) {
		t.Errorf("commands %v have run", ran)
	}
}

// If an interrupt drops a command before the shell begins it, the error is not that the shell is busy.
func TestExecDroppedByAnInterrupt(t *testing.T) {
	for _, name := range execShells[:2] {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			must(t, j.Variables()) // When it returns, the shell reads a line.
			if err := syscall.Kill(j.info.PID, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			p, err := j.Exec(ExecOptions{Command: "echo never", Wait: execWait(-1)})
			if err != nil {
				t.Fatal(err)
			}
			w, err := j.Write(Input{Keys: []string{"Ctrl-C"}})
			if err != nil {
				t.Fatal(err)
			}
			must(t, w)
			if err := syscall.Kill(j.info.PID, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if got := <-p.C; got.Err == nil {
				t.Logf("it had begun: %+v", got.Value) // The key came too late.
			} else if e := got.Err.(*Error); e.Code != CodeCanceled || e.CommandID != 1 || e.Fate != CommandDropped {
				t.Errorf("%+v", e)
			}
			if r, out := doExec(t, j, "echo next"); out != "next\n" {
				t.Errorf("%q: %+v", out, r.Outcome)
			}
		})
	}
}

// If a command replaces the shell by another program, the server detects that without a request, even if the program is
// silent: the command has ended, and the job has no integration any more.
func TestShellReplacedIsSeen(t *testing.T) {
	for _, name := range execShells {
		for _, by := range []string{"sh", "sleep 1000", name} {
			t.Run(name+" by "+by, func(t *testing.T) {
				m := startReal(t, Options{})
				sink := &recorder{}
				j := startShell(t, m, name, sink)
				doExec(t, j, "cd /")
				if err := os.WriteFile(actorOf(j).shell.watch.files.ScratchPath, []byte("A=secret\x00"), 0); err != nil {
					t.Fatal(err)
				}
				p, err := j.Exec(ExecOptions{Command: "exec " + by, Wait: execWait(-1)})
				if err != nil {
					t.Fatal(err)
				}
				next, err := j.Exec(ExecOptions{Command: "echo never", Wait: execWait(-1)})
				if err != nil {
					t.Fatal(err)
				}
				r := must(t, p)
				if !r.Replaced || !r.Command.Finished || r.Command.ExitCode != nil || r.Outcome.Reason != "command" || r.Outcome.Index != -1 {
					t.Errorf("%+v", r)
				}
				refused(t, next, CodeShellIntegrationUnavailable)
				if e := refused(t, j.Variables(), CodeShellIntegrationUnavailable); !strings.Contains(e.Message, "environment") {
					t.Errorf("%s", e.Message)
				}
				if info := must(t, j.Info()); info.Integration != "" || info.CurrentDirectory != "" {
					t.Errorf("the job has the integration %q, in %q", info.Integration, info.CurrentDirectory)
				}
				if all := strings.Join(sink.changes(), "\n"); strings.Count(all, `integration ""`) != 1 {
					t.Errorf("told:\n%s", all)
				}
				if all := must(t, j.History()); len(all) != 2 || !all[1].Finished {
					t.Errorf("history %+v", all)
				}
				if fi, err := os.Stat(actorOf(j).shell.watch.files.ScratchPath); err != nil || fi.Size() != 0 {
					t.Errorf("what the shell has told last is kept: %d bytes, %v", fi.Size(), err)
				}
			})
		}
	}
}

// A request that waits for a shell that does not answer can be cancelled. The shell's late answer is not taken for the
// answer to the next request.
func TestShellQuestionsEnd(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			m.system.askTime = time.Hour
			j := startShell(t, m, name, nil)
			must(t, j.Variables())
			stop := func(sig syscall.Signal) {
				t.Helper()
				if err := syscall.Kill(j.info.PID, sig); err != nil {
					t.Fatal(err)
				}
			}
			stop(syscall.SIGSTOP)
			value := "hidden value"
			asked := j.Variables()
			change, err := j.ChangeVariable("GIVEN_UP", &value, false, Asker{}, "")
			if err != nil {
				t.Fatal(err)
			}
			asked.Cancel()
			refused(t, asked, CodeCanceled)
			change.Cancel()
			refused(t, change, CodeCanceled)
			stop(syscall.SIGCONT)
			if vars := must(t, j.Variables()); FindVariable(vars, "PATH") == nil { // GIVEN_UP may be set or not.
				t.Errorf("%+v", vars)
			}
			if fi, err := os.Stat(actorOf(j).shell.watch.files.ScratchPath); err != nil || fi.Size() != 0 {
				t.Errorf("%d bytes are kept of its answer, %v", fi.Size(), err)
			}
		})
	}
}

// Requests to a shell whose start-up files wait for input time out.
func TestShellQuestionsHaveADeadline(t *testing.T) {
	m := startReal(t, Options{})
	m.system.askTime = 50 * time.Millisecond
	needProgram(t, "bash")
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/rc", []byte("read -r -p 'name? '\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := mustStart(t, m, Spec{Argv: []string{"bash", "--rcfile", dir + "/rc"}})
	if e := refused(t, j.Variables(), CodeShellBusy); !strings.Contains(e.Message, "start-up files") {
		t.Errorf("%s", e.Message)
	}
	value := "x"
	change, err := j.ChangeVariable("A", &value, false, Asker{}, "")
	if err != nil {
		t.Fatal(err)
	}
	refused(t, change, CodeShellBusy)
	w, err := j.Write(Input{Text: "somebody\r"})
	if err != nil {
		t.Fatal(err)
	}
	must(t, w)
	if _, out := doExec(t, j, "echo $A-$REPLY"); out != "-somebody\n" {
		t.Errorf("%q", out)
	}
}
