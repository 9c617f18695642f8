package rpc_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// shell starts a bash without startup files, and returns its handle.
func (s *session) shell(more ...any) int64 {
	s.t.Helper()
	return do[schema.JobStartResult](s, "job/start", s.shellParams(more...)).Job.Handle
}

func (s *session) shellParams(more ...any) obj {
	s.t.Helper()
	needs(s.t, "bash")
	return merged(obj{"argv": []string{"bash", "--norc", "--noprofile"}, "env": obj{"HOME": s.t.TempDir(), "HISTFILE": nil}}, more)
}

// exec makes a shell run a command.
func (s *session) exec(handle any, command string, more ...any) schema.JobExecResult {
	s.t.Helper()
	return do[schema.JobExecResult](s, "job/exec", merged(obj{"handle": handle, "command": command}, more))
}

// asleep waits until a command of a shell has printed asleep.
func (s *session) asleep(handle int64) {
	s.t.Helper()
	if o := s.await(handle, obj{"pattern": `^asleep\r$`, "flags": "m"}, "from", "start"); o.Reason != schema.OutcomeReasonPattern {
		s.t.Fatalf("it ended with %s: %v", o.Reason, texts(o))
	}
}

// sleeps is a command that reports when it runs, and ends at an interrupt.
const sleeps = "sh -c 'echo asleep; exec sleep 1000'"

// TestExec: the state that one command sets exists for the next one. Each result has the command's output, exit and
// directory, and its end comes after its output.
func TestExec(t *testing.T) {
	s := start(t)
	h := s.shell("name", "sh")
	equal(t, "integration", str(s.get(h).ShellIntegration), "bash")
	dir := t.TempDir()
	r := s.exec("sh", "cd '"+dir+"'; word=kept")
	equal(t, "reason", r.Outcome.Reason, schema.OutcomeReasonCommand)
	equal(t, "outcome", len(r.Outcome.Output), 0)
	equal(t, "cwd", str(r.Cwd), dir)
	r = s.exec(h, "echo $word; (exit 3)")
	equal(t, "output", r.Output, "kept\n")
	equal(t, "exit", num(r.ExitCode), 3)
	equal(t, "command", r.CommandID, 2)
	if text, _ := s.readBytes(h, "offset", r.Range.From, "maxBytes", deref(t, r.Range.To)-r.Range.From); text != "kept\r\n" {
		t.Errorf("there is %q in its range", text)
	}
	s.wait("two ends", func() bool { return count(s.events, "job/commandFinished") == 2 })
	for i, e := range s.all(h, "job/commandFinished") {
		equal(t, "id", e.CommandID, int64(i+1))
		equal(t, "origin", e.Origin, schema.CommandOriginExec)
	}
	r = s.exec(h, "echo once more", "wait", obj{"format": "text"})
	if text := texts(r.Outcome)["pty"]; !strings.HasPrefix(text, "once more\r\n") { // the prompt may follow it
		t.Errorf("the outcome has %q", text)
	}
	s.kill(h)
}

// count returns the number of events with a method.
func count(events []event, method string) (n int) {
	for _, e := range events {
		if e.Method == method {
			n++
		}
	}
	return n
}

// TestExecInTurn: requests to a shell take effect in order, even before it is ready.
func TestExecInTurn(t *testing.T) {
	s := start(t)
	started := s.begin("job/start", s.shellParams("name", "sh"))
	var calls []*call
	for i := range 50 {
		calls = append(calls, s.begin("job/exec", obj{"handle": "sh", "command": fmt.Sprintf("n=$((n * 2 %% 1009 + %d)); echo $n", i)}))
	}
	result[schema.JobStartResult](started)
	n := 0
	for i, c := range calls {
		n = n*2%1009 + i
		if r := result[schema.JobExecResult](c); r.Output != fmt.Sprintln(n) || r.CommandID != int64(i+1) {
			t.Fatalf("command %d is %d, and says %q, not %d", i+1, r.CommandID, r.Output, n)
		}
	}
	all := do[schema.JobHistoryResult](s, "job/history", obj{"handle": "sh"}).Commands
	for i, c := range all {
		equal(t, "in the history", c.CommandID, int64(i+1))
	}
	equal(t, "history", len(all), 50)
	s.kill("sh")
}

func TestExecBusy(t *testing.T) {
	s := start(t)
	h := s.shell()
	one := s.begin("job/exec", obj{"handle": h, "command": sleeps})
	s.asleep(h)
	d := refused[schema.ShellBusyData](s.begin("job/exec", obj{"handle": h, "command": "true", "ifBusy": "fail"}), schema.KindShellBusy)
	equal(t, "handle", d.Handle, h)
	do[none](s, "job/signal", obj{"handle": h, "signal": "INT"})
	r := result[schema.JobExecResult](one)
	equal(t, "exit", num(r.ExitCode), 130)
	equal(t, "fine", num(s.exec(h, "true", "ifBusy", "fail").ExitCode), 0)
	s.kill(h)
}

// TestExecCancelled: a command that has begun goes on, or is interrupted if its deadline would interrupt it. A queued
// one is removed from the queue.
func TestExecCancelled(t *testing.T) {
	s := start(t)
	h := s.shell()
	one := s.begin("job/exec", obj{"handle": h, "command": sleeps + "; echo over", "onTimeout": "interrupt", "timeoutMs": nil})
	two := s.begin("job/exec", obj{"handle": h, "command": "echo never"})
	s.asleep(h)
	told := func(d schema.CanceledData, id int64, is schema.CommandState) {
		t.Helper()
		equal(t, "handle", num(d.Handle), h)
		equal(t, "command", num(d.CommandID), id)
		if d.Command == nil || *d.Command != is {
			t.Errorf("command %d is told to be %v, want %s", id, d.Command, is)
		}
	}
	two.withdraw()
	told(refused[schema.CanceledData](two, schema.KindCanceled), 2, schema.CommandStateDropped)
	one.withdraw()
	d := refused[schema.CanceledData](one, schema.KindCanceled)
	told(d, 1, schema.CommandStateInterrupted)
	if d.Outcome == nil || d.Outcome.Reason != schema.OutcomeReasonCanceled {
		t.Errorf("the outcome is %+v", d.Outcome)
	}
	s.exec(h, "echo next")
	var ids []string
	for _, c := range do[schema.JobHistoryResult](s, "job/history", obj{"handle": h}).Commands {
		ids = append(ids, fmt.Sprint(c.CommandID, " ", num(c.ExitCode)))
	}
	equal(t, "history", strings.Join(ids, ", "), "1 130, 3 0")
	s.kill(h)
}

// TestExecConfirmed: a command needs confirmation, as a start does.
func TestExecConfirmed(t *testing.T) {
	s := start(t, "capabilities", obj{"confirm": true}, "options", obj{"confirm": obj{"start": "ask"}})
	begun := s.begin("job/start", s.shellParams())
	s.allow(1, "once")
	h := result[schema.JobStartResult](begun).Job.Handle
	for i, outcome := range []schema.ConfirmOutcome{"deny", "once"} {
		r := s.begin("job/exec", obj{"handle": h, "command": "echo done"})
		id, p := s.asked(i + 2)
		equal(t, "action", string(p.Action), "start")
		equal(t, "command", p.Command, "echo done")
		equal(t, "handle", num(p.Handle), h)
		s.tell(id, obj{"outcome": outcome})
		if outcome == "deny" {
			equal(t, "denied", str(refused[schema.ConfirmationDeniedData](r, schema.KindConfirmationDenied).Action), "start")
			continue
		}
		equal(t, "output", result[schema.JobExecResult](r).Output, "done\n")
	}
	s.kill(h)
}

// TestVariableConfirmed: so does a variable of a shell, since the shell runs the content of some variables. A secret
// value is not shown, and there is no question about a request that is refused anyway.
func TestVariableConfirmed(t *testing.T) {
	s := start(t, "capabilities", obj{"confirm": true}, "options", obj{"confirm": obj{"start": "ask"}})
	begun := s.begin("job/start", s.shellParams())
	s.allow(1, "once")
	h := result[schema.JobStartResult](begun).Job.Handle
	refused[schema.InvalidParamsData](s.begin("env/set", obj{"handle": h, "name": "a-b", "value": "x"}), schema.KindInvalidParams)
	long := strings.Repeat("A", 65<<10) // Too long for a person to read.
	refused[schema.PolicyDeniedData](s.begin("env/set", obj{"handle": h, "name": "A", "value": long}), schema.KindPolicyDenied)
	for i, test := range []struct {
		method string
		params obj
		shown  string
	}{
		{"env/set", obj{"handle": h, "name": "PROMPT_COMMAND", "value": ":"}, "PROMPT_COMMAND=':'"},
		{"env/set", obj{"handle": h, "name": "SAID", "value": "said to be", "secret": true}, "SAID='***'"},
		{"env/set", obj{"handle": h, "name": "API_TOKEN", "value": "looks like it"}, "API_TOKEN='***'"},
		{"env/unset", obj{"handle": h, "name": "API_TOKEN"}, "API_TOKEN"},
	} {
		for k, outcome := range []schema.ConfirmOutcome{"deny", "always"} {
			r := s.begin(test.method, test.params)
			id, p := s.asked(2 + 2*i + k) // There is no always: the commands that a shell then runs are unknown.
			equal(t, "action", string(p.Action), "start")
			equal(t, "handle", num(p.Handle), h)
			equal(t, "unknown", p.Unknown, true)
			if !strings.HasSuffix(p.Command, test.shown) {
				t.Errorf("%s %v is shown as %q", test.method, test.params, p.Command)
			}
			s.tell(id, obj{"outcome": outcome})
			if outcome == "deny" {
				equal(t, "denied", str(refused[schema.ConfirmationDeniedData](r, schema.KindConfirmationDenied).Action), "start")
				continue
			}
			result[none](r)
		}
	}
	s.kill(h)
}

// TestExecEnvironment: a shell's variables are its current ones, and it is not asked while it runs a command.
func TestExecEnvironment(t *testing.T) {
	s := start(t)
	h := s.shell()
	s.exec(h, "export MADE='a b'")
	set := do[schema.EnvSetResult](s, "env/set", obj{"handle": h, "name": "SET", "value": "x\ny"})
	equal(t, "scope", set.Scope, schema.EnvScopeJob)
	list := do[schema.EnvListResult](s, "env/list", obj{"handle": h}).Variables
	for name, want := range map[string]string{"MADE": "a b", "SET": "x\ny"} {
		if v := list[name]; v.Source != schema.EnvSourceShell || str(v.Value) != want {
			t.Errorf("%s is %q from %s", name, str(v.Value), v.Source)
		}
	}
	equal(t, "unset", do[schema.EnvUnsetResult](s, "env/unset", obj{"handle": h, "name": "SET"}).Scope, schema.EnvScopeJob)
	equal(t, "inside", s.exec(h, `echo "${SET-none}"`).Output, "none\n")
	one := s.begin("job/exec", obj{"handle": h, "command": sleeps})
	s.asleep(h)
	for method, p := range map[string]obj{
		"env/list": {"handle": h}, "env/get": {"handle": h, "name": "MADE"},
		"env/set": {"handle": h, "name": "SET", "value": "x"}, "env/unset": {"handle": h, "name": "SET"},
	} {
		refused[schema.ShellBusyData](s.begin(method, p), schema.KindShellBusy)
	}
	do[none](s, "job/signal", obj{"handle": h, "signal": "INT"})
	result[schema.JobExecResult](one)
	s.kill(h)
}

// TestExecReplaced: another program in the shell's place has none of its commands.
func TestExecReplaced(t *testing.T) {
	s := start(t)
	h := s.shell()
	one := s.begin("job/exec", obj{"handle": h, "command": "exec sh -c 'echo asleep; exec sleep 1000'", "timeoutMs": nil})
	s.asleep(h)
	if r := result[schema.JobExecResult](one); !r.Finished || r.ExitCode != nil || r.Replaced == nil || !*r.Replaced {
		t.Errorf("%+v", r)
	}
	equal(t, "integration", str(s.get(h).ShellIntegration), "(absent)")
	refused[schema.ShellIntegrationUnavailableData](s.begin("job/exec", obj{"handle": h, "command": "true"}), schema.KindShellIntegrationUnavailable)
	refused[none](s.begin("env/get", obj{"handle": h, "name": "A"}), schema.KindShellIntegrationUnavailable)
	refused[none](s.begin("env/list", obj{"handle": h}), schema.KindShellIntegrationUnavailable)
	refused[none](s.begin("env/set", obj{"handle": h, "name": "A", "value": "x"}), schema.KindShellIntegrationUnavailable)
	refused[none](s.begin("env/unset", obj{"handle": h, "name": "A"}), schema.KindShellIntegrationUnavailable)
	s.kill(h)
}

// TestExecAwaited: a wait for a command returns how it ended, and the range of its output.
func TestExecAwaited(t *testing.T) {
	s := start(t)
	h := s.shell()
	long := ": " + strings.Repeat("x", 5000) + "; read line; echo \"got $line\"; (exit 3)"
	r := s.exec(h, long, "wait", obj{"until": []obj{{"input": true}}})
	equal(t, "finished", r.Finished, false)
	awaited := s.begin("job/wait", obj{"handle": h, "until": []obj{{"command": r.CommandID}}})
	do[schema.JobWriteResult](s, "job/write", obj{"handle": h, "input": "it", "appendNewline": true})
	c := result[schema.JobWaitResult](awaited).Outcome.Command
	if c == nil || c.CommandID != r.CommandID || num(c.ExitCode) != 3 || !c.Finished || c.Output.From != r.Range.From || c.Output.To == nil {
		t.Fatalf("%+v", c)
	}
	if text := str(c.Command); len(text) != 4096 || !strings.HasPrefix(long, text) || c.Truncated == nil || !*c.Truncated {
		t.Errorf("%d bytes of its text are told, truncated %v", len(text), c.Truncated)
	}
	text := do[schema.JobReadResult](s, "job/read", obj{"handle": h, "offset": c.Output.From, "maxBytes": *c.Output.To - c.Output.From, "format": "plain"}).Text
	equal(t, "output", str(text), "it\ngot it\n")
	s.kill(h)
}

// TestExecQuestionCancelled: a request to a shell that does not answer can be cancelled.
func TestExecQuestionCancelled(t *testing.T) {
	s := start(t)
	file := filepath.Join(t.TempDir(), "rc")
	if err := os.WriteFile(file, []byte("read -r -p stuck\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := s.shell("argv", []string{"bash", "--rcfile", file})
	s.see(h, "stuck")
	for method, p := range map[string]obj{
		"env/list": {"handle": h}, "env/get": {"handle": h, "name": "A"},
		"env/set": {"handle": h, "name": "A", "value": "x"}, "env/unset": {"handle": h, "name": "A"},
	} {
		c := s.begin(method, p)
		c.withdraw()
		equal(t, method, num(refused[schema.CanceledData](c, schema.KindCanceled).Handle), h)
	}
	s.killNow(h)
}

// TestExecAtTheEnd: a command that runs when the server ends is answered as a job/run is.
func TestExecAtTheEnd(t *testing.T) {
	s := start(t)
	h := s.shell()
	one := s.begin("job/exec", obj{"handle": h, "command": sleeps, "timeoutMs": nil})
	s.asleep(h)
	do[none](s, "shutdown", nil)
	r := result[schema.JobExecResult](one)
	if r.Outcome.Reason != schema.OutcomeReasonExit || exitText(r.Outcome.Job.Exit) == "none" || r.Outcome.Job.Exit.Reason != schema.ExitReasonShutdown || !r.Finished {
		t.Errorf("%s, %s, finished %t", r.Outcome.Reason, exitText(r.Outcome.Job.Exit), r.Finished)
	}
	s.send(`{"jsonrpc":"2.0","method":"exit"}`)
	clean, err := s.end()
	equal(t, "clean", clean, true)
	equal(t, "error", err, nil)
}
