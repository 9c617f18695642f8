package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld/schema"
)

// TestUnasked calls what a person has to allow, of a host that cannot ask one.
func TestUnasked(t *testing.T) {
	h := startHost(t, nil)
	contains(t, h.fail("execute_bash_command", args{"command": "touch there"}), "this host has no way to ask one", "-unasked allow")
	if _, err := os.Stat(filepath.Join(h.root, "there")); err == nil {
		t.Error("it was run all the same")
	}
	h = startHost(t, nil, "-unasked", "allow")
	contains(t, h.call("execute_bash_command", args{"command": "echo there"}, nil), "Stdout: there")
	h = startHost(t, nil, "-confirm", "none")
	contains(t, h.call("execute_bash_command", args{"command": "echo there"}, nil), "Stdout: there")
}

// TestConfirmAll has a person asked about each call that starts, types or ends something, and
// about none twice.
func TestConfirmAll(t *testing.T) {
	asked := &person{says: []string{"once", "once", "deny", "once", "once"}}
	h := startHost(t, asked.options(), "-confirm", "all", "-tools", "all")
	var j runShellResult
	h.call("run_shell_command", args{"command": "cat", "is_background": true}, &j)
	h.call("send_input", args{"handle": j.Handle, "input": "typed", "ai_callback_pattern": "typed"}, nil)
	h.fail("CliRun", args{"command": "touch there"})
	if _, err := os.Stat(filepath.Join(h.root, "there")); err == nil {
		t.Error("it was run all the same")
	}
	// The start of a command with what is typed into it is one question.
	var r shellResult
	h.call("shell", args{"command": "read x; echo \"[$x]\"", "input": "y", "wait": "exit"}, &r)
	contains(t, r.Output, "[y]")
	h.call("kill", args{"handle": j.Handle}, nil)
	h.call("jobs", nil, nil) // This changes nothing.
	asked.expect(t, "    cat", "typed", "touch there", "read x", fmt.Sprintf("Terminate process %d?", j.Handle))
}

// TestDecisions has a person say each thing that a host can answer with.
func TestDecisions(t *testing.T) {
	wrong := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": 5}}
	for name, test := range map[string]struct {
		answer  *mcp.ElicitResult
		allowed bool
	}{
		"once":         {&mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, true},
		"always":       {&mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "always"}}, true},
		"deny":         {&mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "deny"}}, false},
		"decline":      {&mcp.ElicitResult{Action: "decline"}, false},
		"cancel":       {&mcp.ElicitResult{Action: "cancel"}, false},
		"no decision":  {&mcp.ElicitResult{Action: "accept"}, true},
		"a wrong word": {wrong, false},
	} {
		said := decisionIn(&mcp.CallToolParamsRaw{RequestState: "x", InputResponses: mcp.InputResponseMap{confirmID: test.answer}})
		if said == nil || (said.outcome != schema.ConfirmOutcomeDeny) != test.allowed || said.digest != "x" {
			t.Errorf("%s: %+v", name, said)
		}
	}
	if said := decisionIn(&mcp.CallToolParamsRaw{}); said != nil {
		t.Errorf("nothing was said: %+v", said)
	}
}

// TestOtherQuestion brings the answer to another question: it counts for nothing.
func TestOtherQuestion(t *testing.T) {
	asked := 0
	h := startHost(t, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked++
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, nil
	}})
	_, err := h.session.CallTool(h.ctx, &mcp.CallToolParams{
		Name: "execute_bash_command", Arguments: args{"command": "true"}, RequestState: "another",
		InputResponses: mcp.InputResponseMap{confirmID: &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}},
	})
	if err != nil || asked != 1 {
		t.Errorf("%d questions, %v", asked, err)
	}
}
