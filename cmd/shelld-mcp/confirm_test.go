package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// TestHostCannotAsk makes calls that a person must allow, from a host that cannot ask.
func TestHostCannotAsk(t *testing.T) {
	h := startHost(t, nil, "-confirm", "seeds")
	contains(t, h.fail("execute_bash_command", args{"command": "touch there"}), "this host cannot ask one", "-unasked allow")
	if _, err := os.Stat(filepath.Join(h.root, "there")); err == nil {
		t.Error("it was run all the same")
	}
	h = startHost(t, nil, "-confirm", "seeds", "-unasked", "allow")
	contains(t, h.call("execute_bash_command", args{"command": "echo there"}, nil), "Stdout: there")
	h = startHost(t, nil, "-confirm", "none")
	contains(t, h.call("execute_bash_command", args{"command": "echo there"}, nil), "Stdout: there")
}

// TestConfirmAll checks that a person is asked once about each call that starts, types or ends something.
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
	// The start of a command and the input typed into it are one question.
	var r shellResult
	h.call("shell", args{"command": "read x; echo \"[$x]\"", "input": "y", "wait": "exit"}, &r)
	contains(t, r.Output, "[y]")
	h.call("kill", args{"handle": j.Handle}, nil)
	h.call("jobs", nil, nil) // This changes nothing.
	asked.expect(t, "    cat", "typed", "touch there", "read x", fmt.Sprintf("Terminate process %d?", j.Handle))
}

// TestDecisions has a person give each answer that a host can send.
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
		"no decision":  {&mcp.ElicitResult{Action: "accept"}, false},
		"no content":   {&mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, false},
		"another word": {&mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "ONCE"}}, false},
		"a wrong word": {wrong, false},
	} {
		said := decisionIn(&mcp.CallToolParamsRaw{RequestState: "x", InputResponses: mcp.InputResponseMap{confirmID: test.answer}})
		unclear := test.answer.Action == "accept" && test.answer.Content["decision"] != "deny" && !test.allowed
		if said == nil || (said.outcome != schema.ConfirmOutcomeDeny) != test.allowed || said.digest != "x" || said.unclear != unclear {
			t.Errorf("%s: %+v", name, said)
		}
	}
	if said := decisionIn(&mcp.CallToolParamsRaw{}); said != nil {
		t.Errorf("nothing was said: %+v", said)
	}
}

// TestAnswerToOtherQuestionIgnored sends the answer to another question: it is ignored.
func TestAnswerToOtherQuestionIgnored(t *testing.T) {
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

// TestAcceptedWithoutDecision has a host accept without a decision: nothing is run, and the model gets the reason.
func TestAcceptedWithoutDecision(t *testing.T) {
	h := startHost(t, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept"}, nil
	}})
	contains(t, h.fail("execute_bash_command", args{"command": "touch there"}), "neither once nor always", "-confirm none")
	if _, err := os.Stat(filepath.Join(h.root, "there")); err == nil {
		t.Error("it was run all the same")
	}
}

// TestSignalKeysAsked presses keys that end a program, in each way that the tools offer: a person is asked once about
// each, and keys that were denied are not pressed.
func TestSignalKeysAsked(t *testing.T) {
	for name, test := range map[string]struct {
		confirm string
		tool    string
		args    func(job int64) args
		shown   string
	}{
		"special_keys": {"seeds", "write_to_shell", func(job int64) args { return args{"pid": job, "special_keys": []string{"Ctrl-C"}} }, "<Ctrl-C>"},
		"several keys": {"seeds", "write_to_shell", func(job int64) args { return args{"pid": job, "special_keys": []string{"Ctrl-C", "Ctrl-C"}} }, "<Ctrl-C><Ctrl-C>"},
		"text":         {"seeds", "write_to_shell", func(job int64) args { return args{"pid": job, "input": "\x03"} }, "␃"},
		"send_input": {"all", "send_input", func(job int64) args {
			return args{"handle": job, "input": "\x03", "append_newline": false, "ai_callback_delay": 0}
		}, "␃"},
		"CliWrite": {"all", "CliWrite", func(int64) args { return args{"sessionId": "mine", "input": "{ctrl+c}"} }, "<Ctrl-C>"},
		"shell":    {"all", "shell", func(job int64) args { return args{"job": fmt.Sprint(job), "keys": []string{"Ctrl-C"}, "wait": "none"} }, "<Ctrl-C>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := &person{says: []string{"deny", "once"}}
			if test.confirm == "all" {
				asked.says = []string{"once", "deny", "once"} // The start is asked about, too.
			}
			h := startHost(t, asked.options(), "-confirm", test.confirm, "-tools", "all")
			const command = "trap 'echo hurt' INT; echo up; while :; do read x; done"
			h.call("CliSession", args{"command": command, "sessionId": "mine"}, nil)
			var j jobsResult
			h.call("jobs", nil, &j)
			job := j.Jobs[0].Handle
			h.until(job, schema.Condition{Pattern: new("up")})
			h.until(job, onInput)
			contains(t, h.fail(test.tool, test.args(job)), "not allow")
			h.call(test.tool, test.args(job), nil)
			h.until(job, schema.Condition{Pattern: new("hurt")})
			want := fmt.Sprintf("Confirm Shell Input\n\nType this into process %d?\n\n    %s\n\nThe process is this, in %s:\n\n    %s\n\ntest has called the tool %s of shelld-mcp.",
				job, test.shown, h.root, command, test.tool)
			if len(asked.says) > 0 {
				t.Errorf("%d answers are left", len(asked.says))
			}
			asked.asked = asked.asked[len(asked.asked)-2:] // The question about the start comes first.
			asked.expect(t, want, want)
		})
	}
}

// TestSignalKeysUnasked presses them if no person can be asked, and if none must be asked.
func TestSignalKeysUnasked(t *testing.T) {
	press := args{"pid": 1, "special_keys": []string{"Ctrl-C"}}
	h := startHost(t, nil, "-confirm", "seeds")
	h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
	contains(t, h.fail("write_to_shell", press), "this host cannot ask one")
	contains(t, h.call("jobs", nil, nil), "Status: running")
	for _, flags := range [][]string{{"-unasked", "allow"}, {"-confirm", "none"}} {
		h := startHost(t, nil, flags...)
		h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
		h.call("write_to_shell", press, nil)
		h.until(1, schema.Condition{Closed: new(true)})
		contains(t, h.fail("write_to_shell", press), "No active process found") // There is no question about that.
	}
}

// TestQuestionText shows a person text with control characters that a terminal, and a host, would interpret.
func TestQuestionText(t *testing.T) {
	nasty := "rm -rf x\x1b[2K\x1b[1Gecho hi\r \u202e\u0085 abc"
	const shown = "rm -rf x␛[2K␛[1Gecho hi␍ <U+202E><U+0085> abc"
	for _, action := range []schema.ConfirmAction{schema.ConfirmActionStart, schema.ConfirmActionWrite, schema.ConfirmActionKill} {
		q := &question{action: action, command: nasty + "\nTerminate process 1?", cwd: "/a\x1bb\n\n    true", handle: 7, into: nasty, asker: "x has called the tool y of shelld-mcp."}
		got := q.text()
		contains(t, got, "    "+shown+"\n    Terminate process 1?", "/a␛b␊␊    true", "\n\nx has called the tool y of shelld-mcp.")
		if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
			t.Errorf("%s: %q", action, got)
		}
		if n := strings.Count(got, shown); n != 1 && action != schema.ConfirmActionWrite || n != 2 && action == schema.ConfirmActionWrite {
			t.Errorf("%s has it %d times: %q", action, n, got)
		}
	}
	asked := &person{says: []string{"deny"}}
	h := startHost(t, asked.options())
	h.fail("execute_bash_command", args{"command": "echo \x1b[2K\u202e"})
	asked.expect(t, "Run this in "+h.root+"?\n\n    echo ␛[2K<U+202E>\n\n"+mayRunMore+"\n\ntest has called the tool execute_bash_command of shelld-mcp.")
}
