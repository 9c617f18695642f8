package jobs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// execShells are the shells in which these tests run.
var execShells = []string{"bash", "zsh", "fish"}

// startShell starts an interactive shell without the user's files.
func startShell(t *testing.T, m *Manager, name string, sink Sink) *Job {
	t.Helper()
	needProgram(t, name)
	argv := map[string][]string{"bash": {"bash", "--norc"}, "zsh": {"zsh", "-f"}, "fish": {"fish", "--no-config"}}[name]
	j := mustStart(t, m, Spec{Argv: argv, Sink: sink, Cols: 200})
	if got := must(t, j.Info()).Integration; got != name {
		t.Fatalf("the integration is %q", got)
	}
	return j
}

// needProgram skips a test if a program is missing. In CI no program is missing.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil && os.Getenv("SHELLD_CI") == "" {
		t.Skip(name + " is not installed")
	} else if err != nil {
		t.Fatal(err)
	}
}

func execWait(timeout time.Duration, until ...Condition) *WaitSpec {
	return &WaitSpec{Until: until, Timeout: timeout, MaxBytes: 1 << 20, Plain: true}
}

// doExec runs a command until it ends, and returns the result and the output.
func doExec(t *testing.T, j *Job, command string) (ExecResult, string) {
	t.Helper()
	p, err := j.Exec(ExecOptions{Command: command, Wait: execWait(watchdog)})
	if err != nil {
		t.Fatal(err)
	}
	r := must(t, p)
	return r, execOutput(t, j, r)
}

func execOutput(t *testing.T, j *Job, r ExecResult) string {
	t.Helper()
	b, _ := j.Excerpt(PTY, r.Output, nil, true, 1<<20)
	return string(b)
}

func TestExec(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			dir := t.TempDir()
			for i, c := range []struct {
				command, output string
				exit            int
			}{
				{"echo one", "one\n", 0},
				{"false", "", 1},
				{"cd " + dir, "", 0},
				{"pwd", dir + "\n", 0},
				{"printf abc", "abc", 0},
				{"echo a\necho b", "a\nb\n", 0},
				{"cat /etc/passwd >/dev/null; echo \"it's $HOME\" | wc -l | tr -d ' '", "1\n", 0},
				{"sh -c 'exit 7'", "", 7},
				{"echo err >&2", "err\n", 0},
				{"echo 'a!b' \"c!d\"", "a!b c!d\n", 0},
				{"true", "", 0},
			} {
				r, out := doExec(t, j, c.command)
				cmd := r.Command
				if r.Outcome.Reason != "command" || r.Outcome.Index != -1 || !cmd.Finished || cmd.ExitCode == nil || *cmd.ExitCode != c.exit || out != c.output || cmd.ID != int64(i+1) {
					t.Errorf("%q: %+v, output %q", c.command, r, out)
				}
				if i >= 2 && cmd.Cwd != dir {
					t.Errorf("%q: cwd %q", c.command, cmd.Cwd)
				}
			}
			if got := must(t, j.Info()).CurrentDirectory; got != dir {
				t.Errorf("the job is in %q", got)
			}
			all := must(t, j.History())
			if len(all) != 11 || all[0].Text != "echo one" || all[0].Typed || deref(t, all[7].ExitCode) != 7 {
				t.Errorf("history %+v", all)
			}
			text, _ := j.Excerpt(PTY, Range{From: 0, To: j.output.streams[0].spool.End()}, nil, true, 1<<20)
			if strings.Contains(string(text), "]633") || strings.Contains(string(text), "eval") {
				t.Errorf("the stream has what nobody typed: %q", text)
			}
			t.Logf("%s", text)
		})
	}
}

// The prompt follows output without a line end on the same line, as for a person who types, even if the server sends
// commands of its own meanwhile.
func TestExecKeepsAnUnendedLine(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	doExec(t, j, "PS1='one\ntwo> '")
	doExec(t, j, "printf abc")
	doExec(t, j, "PS1='$ '; printf def")
	must(t, j.Variables())
	doExec(t, j, "echo x; printf ghi")
	must(t, j.Variables())
	must(t, j.Variables())
	doExec(t, j, "echo $((1 + 1)); :")
	shown := lines(must(t, j.Screen(0, nil)))
	for _, want := range []string{"|abcone|two>  PS1=", "|def$  echo x; printf ghi|x|ghi$ echo $((1 + 1)); :|2"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in %q", want, shown)
		}
	}
}

// If a command cannot be run, the hint has its name and path, in spite of the different error messages of the shells.
func TestExecHint(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			path := filepath.Join(t.TempDir(), "no program")
			if err := os.WriteFile(path, []byte("text\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for command, want := range map[string]Hint{
				"/etc/passwd":           {Kind: CodePermissionDenied, Command: "/etc/passwd", Path: "/etc/passwd"},
				"'" + path + "'":        {Kind: CodePermissionDenied, Command: path, Path: path},
				"echo a; /etc/passwd x": {Kind: CodePermissionDenied, Command: "/etc/passwd", Path: "/etc/passwd"},
				"no_such_program x":     {Kind: CodeCommandNotFound, Command: "no_such_program"},
			} {
				r, out := doExec(t, j, command)
				if h := r.Hint; h == nil || h.Kind != want.Kind || h.Command != want.Command || h.Path != want.Path {
					t.Errorf("%s: %+v, of %q", command, h, out)
				}
			}
		})
	}
}

// The results of commands that wait for input, time out or end the shell are reported. A queued command waits.
func TestExecGoesOn(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			sink := &recorder{}
			j := startShell(t, m, name, sink)
			ask := "sh -c 'printf \"name? \"; read x; echo \"hello $x\"'"
			p, err := j.Exec(ExecOptions{Command: ask, Wait: execWait(watchdog, Condition{Kind: UntilInput, Input: InputCondition{MinConfidence: "likely"}})})
			if err != nil {
				t.Fatal(err)
			}
			r := must(t, p)
			if r.Outcome.Reason != "input" || r.Command.Finished || execOutput(t, j, r) != "name? " {
				t.Fatalf("%+v, %q", r, execOutput(t, j, r))
			}
			busy, _ := j.Exec(ExecOptions{Command: "true", FailBusy: true})
			if got := <-busy.C; got.Err == nil || got.Err.(*Error).Code != CodeShellBusy {
				t.Errorf("a busy shell: %v", got.Err)
			}
			next, err := j.Exec(ExecOptions{Command: "echo next", Wait: execWait(watchdog)})
			if err != nil {
				t.Fatal(err)
			}
			w, err := j.Write(Input{Text: "you", AppendNewline: true, Wait: execWait(watchdog, Condition{Kind: UntilCommand, Command: r.Command.ID})})
			if err != nil {
				t.Fatal(err)
			}
			if o := must(t, w).Outcome; o.Reason != "command" {
				t.Errorf("%+v", o)
			}
			n := must(t, next)
			if got := execOutput(t, j, n); got != "next\n" || n.Command.ExitCode == nil || *n.Command.ExitCode != 0 {
				t.Errorf("next: %q, %+v", got, n)
			}
			late, err := j.Exec(ExecOptions{Command: "sleep 1000", Wait: execWait(time.Second), Interrupt: true})
			if err != nil {
				t.Fatal(err)
			}
			l := must(t, late)
			if l.Outcome.Reason != "timeout" || !l.Interrupt || !l.Command.Finished || l.Command.ExitCode == nil || *l.Command.ExitCode != 130 {
				t.Errorf("interrupted: %+v", l)
			}
			end, err := j.Exec(ExecOptions{Command: "exit 3", Wait: execWait(watchdog)})
			if err != nil {
				t.Fatal(err)
			}
			e := must(t, end)
			// fish reports the exit code before it ends, the other shells do not.
			told := e.Outcome.Reason == "exit" && deref(t, e.Outcome.State.Exit.Code) == 3 && e.Command.ExitCode == nil
			if name == "fish" {
				told = e.Outcome.Reason == "command" && deref(t, e.Command.ExitCode) == 3
			}
			if !told || !e.Command.Finished {
				t.Errorf("exit: %+v", e)
			}
			awaitClosed(t, j)
			var ids []string
			for _, ev := range sink.events {
				if c := ev.Command; c != nil {
					ids = append(ids, fmt.Sprint(c.ID, c.Text == ask || c.ID != r.Command.ID))
				}
			}
			if len(ids) != 4 || !slices.IsSorted(ids) {
				t.Errorf("finished: %v", ids)
			}
		})
	}
}

// The reported environment of a shell is that of its commands, and can be changed.
func TestShellEnvironment(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			set := map[string]string{"fish": "set -gx A 'one two'"}[name]
			if set == "" {
				set = "export A='one two'"
			}
			doExec(t, j, set)
			value := "it's \"$HOME\"\n\\n; `x` %"
			p, err := j.ChangeVariable("B", &value, false, Asker{}, "")
			if err != nil {
				t.Fatal(err)
			}
			must(t, p)
			hidden := "hidden-value-1"
			p, err = j.ChangeVariable("C", &hidden, true, Asker{}, "")
			if err != nil {
				t.Fatal(err)
			}
			must(t, p)
			vars := must(t, j.Variables())
			a, b, c, pwd := FindVariable(vars, "A"), FindVariable(vars, "B"), FindVariable(vars, "C"), FindVariable(vars, "PWD")
			if a == nil || a.Value != "one two" || a.Source != "shell" || b == nil || b.Value != value || c == nil || !c.Secret || c.Value != "" || pwd == nil || pwd.Value != j.info.Cwd {
				t.Errorf("%+v %+v %+v %+v", a, b, c, pwd)
			}
			if _, out := doExec(t, j, `printf '%s|' "$A" "$B" "$C"`); out != "one two|"+value+"|***|" {
				t.Errorf("the shell has %q", out)
			}
			p, err = j.ChangeVariable("A", nil, false, Asker{}, "")
			if err != nil {
				t.Fatal(err)
			}
			must(t, p)
			if r, _ := doExec(t, j, "sh -c 'exit ${A:+1}'"); deref(t, r.Command.ExitCode) != 0 {
				t.Error("A is there")
			}
			bad, err := j.ChangeVariable("a-b", &value, false, Asker{}, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := <-bad.C; got.Err == nil || got.Err.(*Error).Code != CodeInvalidParams {
				t.Errorf("a name that no shell takes: %v", got.Err)
			}
			if all := must(t, j.History()); len(all) != 3 {
				t.Errorf("history %+v", all)
			}
		})
	}
}

// Input that is sent after a command which still waits for its shell is for that command.
func TestWriteBehindExec(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			p, err := j.Exec(ExecOptions{Command: "sh -c 'read x; echo \"got $x\"'", Wait: execWait(watchdog)})
			if err != nil {
				t.Fatal(err)
			}
			w, err := j.Write(Input{Text: "hello", AppendNewline: true})
			if err != nil {
				t.Fatal(err)
			}
			must(t, w)
			if out := execOutput(t, j, must(t, p)); !strings.HasSuffix(out, "got hello\n") {
				t.Errorf("%q", out)
			}
		})
	}
}

// A pasted line that was not sent is removed before a command runs.
func TestExecBehindAPaste(t *testing.T) {
	for _, name := range execShells {
		t.Run(name, func(t *testing.T) {
			m := startReal(t, Options{})
			j := startShell(t, m, name, nil)
			doExec(t, j, "echo one")
			text := "echo a\necho b\n"
			w, err := j.Write(Input{Send: []SendItem{{Paste: &text}}})
			if err != nil {
				t.Fatal(err)
			}
			must(t, w)
			if _, out := doExec(t, j, "echo two"); out != "two\n" {
				t.Errorf("%q", out)
			}
		})
	}
}

// If a command replaces the shell, it has finished, and further commands are refused.
func TestExecReplacesItsShell(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	p, err := j.Exec(ExecOptions{Command: "exec sh -i", Wait: execWait(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if r := must(t, p); !r.Command.Finished || r.Command.ExitCode != nil {
		t.Errorf("%+v", r)
	}
	next, err := j.Exec(ExecOptions{Command: "true", Wait: execWait(watchdog)})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, next, CodeShellIntegrationUnavailable)
}

// A pattern in the output of a command counts before the command's end, even if the follower has not searched that
// output yet.
func TestExecPatternBeforeTheEnd(t *testing.T) {
	m := startReal(t, Options{})
	j := startShell(t, m, "bash", nil)
	doExec(t, j, "true")
	p, err := j.Watch(WatchSpec{Pattern: "there is a follower"}, true)
	if err != nil {
		t.Fatal(err)
	}
	must(t, p)
	q, err := j.Exec(ExecOptions{Command: "echo asks; read x; echo fo''und", Wait: execWait(watchdog, Condition{Kind: UntilPattern, Watch: WatchSpec{Pattern: "found"}})})
	if err != nil {
		t.Fatal(err)
	}
	await(t, j, pattern(`asks\s`))
	release := j.output.follower.Load().Hold()
	typed, err := j.Write(Input{Text: "\n"})
	if err != nil {
		t.Fatal(err)
	}
	must(t, typed)
	for h := must(t, j.History()); len(h) < 2 || !h[1].Finished; h = must(t, j.History()) {
	}
	release()
	if r := must(t, q); r.Outcome.Reason != "pattern" || r.Outcome.Match == nil || r.Outcome.Match.Text != "found" {
		t.Errorf("it ended by %q, with the match %+v", r.Outcome.Reason, r.Outcome.Match)
	}
}
