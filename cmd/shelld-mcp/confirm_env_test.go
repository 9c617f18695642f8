package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// mayRunMore is the sentence in a question about a line with unknown commands.
const mayRunMore = "It may run other commands, which cannot be listed."

// TestSteeringVariableAsked sets and unsets variables for all commands: a person is asked about those that change which
// commands run, and about no others.
func TestSteeringVariableAsked(t *testing.T) {
	for _, flags := range [][]string{nil, {"-confirm", "seeds"}, {"-confirm", "all"}} {
		asked := &person{says: []string{"deny", "once", "deny", "once"}}
		h := startHost(t, asked.options(), flags...)
		value := func() (r cliEnvResult) {
			h.call("CliEnv", args{"action": "get", "name": "BASH_ENV"}, &r)
			return r
		}
		set := args{"action": "set", "name": "BASH_ENV", "value": "it's\x1b.sh"}
		contains(t, h.fail("CliEnv", set), "did not allow")
		if r := value(); r.Value != nil {
			t.Errorf("%v: it was set all the same: %+v", flags, r)
		}
		h.call("CliEnv", set, nil)
		if r := value(); r.Value == nil || *r.Value != "it's\x1b.sh" {
			t.Errorf("%v: it was not set: %+v", flags, r)
		}
		unset := args{"action": "unset", "name": "PATH"}
		contains(t, h.fail("CliEnv", unset), "did not allow")
		h.call("CliEnv", unset, nil)
		h.call("CliEnv", args{"action": "set", "name": "NODE_ENV", "value": "test"}, nil)
		h.call("CliEnv", args{"action": "unset", "name": "NODE_ENV"}, nil)
		const sets = "Confirm Environment Variable\n\nSet this for every command that starts from now on?\n\n    BASH_ENV=it's␛.sh\n\nIt changes which commands run.\n\ntest has called the tool CliEnv of shelld-mcp."
		const unsets = "Unset this for every command that starts from now on?\n\n    PATH\n\n"
		asked.expect(t, sets, sets, unsets, unsets)
	}
	h := startHost(t, nil, "-confirm", "seeds")
	contains(t, h.fail("CliEnv", args{"action": "set", "name": "PATH", "value": "/tmp"}), "this host cannot ask one")
	h = startHost(t, nil, "-confirm", "none")
	h.call("CliEnv", args{"action": "set", "name": "PATH", "value": "/tmp"}, nil)
}

// TestSteeringVariableOfShellAsked does the same in a running shell, for which the person is asked with -confirm all
// anyway.
func TestSteeringVariableOfShellAsked(t *testing.T) {
	asked := &person{says: []string{"deny"}}
	h := startHost(t, asked.options())
	h.startShell()
	contains(t, h.fail("CliEnv", args{"action": "set", "name": "PATH", "value": "/tmp", "sessionId": "sh"}), "did not allow")
	h.call("CliEnv", args{"action": "set", "name": "NODE_ENV", "value": "test", "sessionId": "sh"}, nil)
	asked.expect(t, "PATH='/tmp'")
}

// setVariable sets a variable for all commands, without the tool that asks about it.
func (h *host) setVariable(name, value string) {
	h.t.Helper()
	if err := h.front.ask(h.ctx, "env/set", schema.EnvSetParams{Name: name, Value: value}, nil); err != nil {
		h.t.Error(err)
	}
}

// script writes a file that a shell runs if BASH_ENV names it, and returns its path.
func (h *host) script() string {
	h.t.Helper()
	path := filepath.Join(h.root, "evil.sh")
	if err := os.WriteFile(path, []byte("touch ran\n"), 0o644); err != nil {
		h.t.Error(err)
	}
	return path
}

// TestQuestionShowsVariables sets variables that make ls run something else: the question about ls shows them.
func TestQuestionShowsVariables(t *testing.T) {
	asked := &person{says: []string{"deny", "deny", "deny"}}
	h := startHost(t, asked.options(), "-confirm", "all", "-tools", "all")
	script := h.script()
	h.fail("shell", args{"command": "ls", "env": map[string]string{"BASH_ENV": script, "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "DEBUG": "1"}})
	h.setVariable("BASH_ENV", script)
	if err := h.front.ask(h.ctx, "env/unset", schema.EnvUnsetParams{Name: "PATH"}, nil); err != nil {
		t.Error(err)
	}
	h.setVariable("DEBUG", "1")
	for _, tool := range []string{"execute_bash_command", "run_shell_command"} {
		h.fail(tool, args{"command": "ls"})
	}
	const with = "    ls\n\nThese variables change which commands run:\n\n"
	own := with + "    BASH_ENV=" + script + "\n    GIT_PAGER=cat\n\n" + mayRunMore
	all := with + "    BASH_ENV=" + script + "\n    PATH is unset\n\n" + mayRunMore
	asked.expect(t, own, all, all)
	if _, err := os.Stat(filepath.Join(h.root, "ran")); err == nil {
		t.Error("it was run all the same")
	}
}

// TestEnvironmentChangedMeanwhile changes a variable while a person decides about ls: the decision was about another
// environment, and does not count.
func TestEnvironmentChangedMeanwhile(t *testing.T) {
	for _, name := range []string{"BASH_ENV", "CFLAGS"} {
		for _, version := range []string{beforeCallingAgain, asksItself} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				var questions []string
				var h *host
				h = startHostOf(t, version, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					questions = append(questions, req.Params.Message)
					if len(questions) > 1 {
						return &mcp.ElicitResult{Action: "decline"}, nil
					}
					h.setVariable(name, h.script())
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, nil
				}})
				said := h.fail("execute_bash_command", args{"command": "ls >listed"})
				for _, file := range []string{"listed", "ran"} {
					if _, err := os.Stat(filepath.Join(h.root, file)); err == nil {
						t.Errorf("there is %s: it was run all the same", file)
					}
				}
				if version == beforeCallingAgain {
					contains(t, said, "has changed. Nothing was done")
					return
				}
				if len(questions) != 2 {
					t.Fatalf("%d questions", len(questions))
				}
				if shown := strings.Contains(questions[1], "BASH_ENV="); shown != (name == "BASH_ENV") {
					t.Errorf("%s", questions[1])
				}
			})
		}
	}
}

// TestQuestionShowsUnknownCommands checks the question about a line that may run more than it shows: it says so, and does not offer
// always.
func TestQuestionShowsUnknownCommands(t *testing.T) {
	asked := &person{says: []string{"once", "once", "always", "once", "once"}}
	h := startHost(t, asked.options())
	for range 2 {
		h.call("execute_bash_command", args{"command": "$(echo true)"}, nil)
	}
	h.call("execute_bash_command", args{"command": "true"}, nil)
	var j runShellResult
	h.call("run_shell_command", args{"command": "exec $(echo cat)", "is_background": true}, &j)
	h.call("write_to_shell", args{"pid": j.Handle, "input": "x"}, nil)
	h.call("kill", args{"handle": j.Handle}, nil)
	asked.expect(t, "$(echo true)\n\n"+mayRunMore, "$(echo true)\n\n"+mayRunMore, "    true\n\nalways allows every true", "    x", "Terminate process")
	for _, question := range asked.asked[2:] {
		if strings.Contains(question, mayRunMore) {
			t.Errorf("%s", question)
		}
	}
	for _, question := range asked.asked[:2] {
		if strings.Contains(question, "always") {
			t.Errorf("%s", question)
		}
	}
}
