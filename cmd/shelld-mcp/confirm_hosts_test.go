package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestHostWithoutElicitation makes calls that a person must allow, with default flags and a host that cannot ask: the
// host's own approval of the call counts.
func TestHostWithoutElicitation(t *testing.T) {
	for _, version := range []string{beforeCallingAgain, asksItself} {
		h := startHostOf(t, version, nil)
		contains(t, h.call("execute_bash_command", args{"command": "echo there"}, nil), "Stdout: there")
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
		h.call("write_to_shell", args{"pid": 2, "input": "x", "special_keys": []string{"Ctrl-C"}}, nil)
		h.call("kill", args{"handle": 2}, nil)
		h.call("CliEnv", args{"action": "set", "name": "PAGER", "value": "cat"}, nil)
	}
	for _, flags := range [][]string{{"-confirm", "seeds"}, {"-confirm", "all"}, {"-unasked", "deny"}} {
		h := startHost(t, nil, flags...)
		contains(t, h.fail("execute_bash_command", args{"command": "touch there"}), "this host cannot ask one", "Nothing was done", "-confirm auto")
		if _, err := os.Stat(filepath.Join(h.root, "there")); err == nil {
			t.Error("it was run all the same")
		}
	}
	for _, confirm := range []string{"seeds", "all", "none"} {
		h := startHost(t, nil, "-confirm", confirm, "-unasked", "allow")
		contains(t, h.call("execute_bash_command", args{"command": "echo there"}, nil), "Stdout: there")
	}
}

// TestUnansweredIsNotDenied has a host answer in each way that allows nothing: the error distinguishes a person's denial,
// a host that declined, and a question that was not answered.
func TestUnansweredIsNotDenied(t *testing.T) {
	for _, version := range []string{beforeCallingAgain, asksItself} {
		for _, test := range []struct {
			answer    mcp.ElicitResult
			says, not string
		}{
			{mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, "the person at the host did not allow", "without a person"},
			{mcp.ElicitResult{Action: "decline"}, "The host has declined", "the person at the host did not allow"},
			{mcp.ElicitResult{Action: "cancel"}, "was closed without an answer", "the person at the host did not allow"},
		} {
			t.Run(version+" "+test.answer.Action, func(t *testing.T) {
				t.Parallel()
				h := startHostOf(t, version, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &test.answer, nil
				}})
				h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
				for tool, a := range map[string]args{
					"execute_bash_command": {"command": "touch there"},
					"kill":                 {"handle": 1},
					"write_to_shell":       {"pid": 1, "special_keys": []string{"Ctrl-C"}},
					"CliEnv":               {"action": "set", "name": "PATH", "value": "/tmp"},
				} {
					said := h.fail(tool, a)
					contains(t, said, test.says)
					if test.answer.Action != "accept" {
						contains(t, said, "Nothing was done", "without a person", "-confirm none")
					}
					lacks(t, said, test.not)
				}
				contains(t, h.call("jobs", nil, nil), "Status: running")
				if _, err := os.Stat(filepath.Join(h.root, "there")); err == nil {
					t.Error("it was run all the same")
				}
			})
		}
	}
}
