package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// beforeCallingAgain is the last version of MCP whose hosts get questions while a call waits.
const beforeCallingAgain = "2025-11-25"

// onceAfter returns the options of a host whose person allows the action once, after happens was called. It counts the
// questions in asked.
func onceAfter(asked *int, happens func()) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		*asked++
		happens()
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, nil
	}}
}

// TestSameQuestionAfterEchoOff has a program turn its echo off while a person decides: the input is then shown differently, but
// it is the same question.
func TestSameQuestionAfterEchoOff(t *testing.T) {
	for _, version := range []string{beforeCallingAgain, asksItself} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			asked := 0
			var h *host
			h = startHostOf(t, version, onceAfter(&asked, func() {
				if err := os.WriteFile(filepath.Join(h.root, "go"), nil, 0o644); err != nil {
					t.Error(err)
				}
				h.until(1, onInput)
			}))
			h.call("run_shell_command", args{"command": "until [ -e go ]; do sleep 0.05; done; read -s -p 'Password: ' p; echo; echo got $p; exec cat", "is_background": true}, nil)
			h.call("write_to_shell", args{"pid": 1, "input": "hunter2", "special_keys": []string{"Enter"}}, nil)
			h.until(1, schema.Condition{Pattern: new("got hunter2")})
			if asked != 1 {
				t.Errorf("%d questions", asked)
			}
		})
	}
}

// TestChangedMeanwhile replaces a directory while its person decides: for a host that is not asked again this is an
// error, and nothing is run in either directory.
func TestChangedMeanwhile(t *testing.T) {
	asked := 0
	var h *host
	link := func(to string) {
		if err := os.Symlink(to, filepath.Join(h.root, "next")); err != nil {
			t.Error(err)
		}
		if err := os.Rename(filepath.Join(h.root, "next"), filepath.Join(h.root, "link")); err != nil {
			t.Error(err)
		}
	}
	h = startHostOf(t, beforeCallingAgain, onceAfter(&asked, func() { link("b") }))
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(h.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link("a")
	contains(t, h.fail("execute_bash_command", args{"command": "touch there", "directory": "link"}), "has changed. Nothing was done")
	if found, err := filepath.Glob(filepath.Join(h.root, "*", "there")); err != nil || found != nil || asked != 1 {
		t.Errorf("%q, %v, %d questions", found, err, asked)
	}
}

// TestHostFailsToAsk has a host that claims to ask but cannot, and hosts with invalid answers: the model gets an error,
// and nothing is run.
func TestHostFailsToAsk(t *testing.T) {
	for name, test := range map[string]struct {
		answer *mcp.ElicitResult
		err    error
	}{
		"error":      {nil, errors.New("no window is open")},
		"wrong type": {&mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": true}}, nil},
		"no member":  {&mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil},
		"other word": {&mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "yes"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHostOf(t, beforeCallingAgain, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return test.answer, test.err
			}})
			said := h.fail("execute_bash_command", args{"command": "touch there"})
			contains(t, said, "the host failed to ask one", "nothing was done", "-confirm none")
			if test.err != nil {
				contains(t, said, test.err.Error())
			}
			if _, err := os.Stat(filepath.Join(h.root, "there")); err == nil {
				t.Error("it was run all the same")
			}
		})
	}
}

// TestAlwaysAllows checks the text that describes what an answer of always allows.
func TestAlwaysAllows(t *testing.T) {
	many := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	const after = ", with any arguments, from now on: there are no more questions about it until this server ends."
	for _, test := range []struct {
		action schema.ConfirmAction
		roots  []string
		want   string
	}{
		{schema.ConfirmActionStart, []string{"rm"}, "every rm"},
		{schema.ConfirmActionStart, []string{"git", "rm"}, "every line that runs git and rm, and nothing else"},
		{schema.ConfirmActionStart, []string{"cd", "git", "rm"}, "every line that runs cd, git and rm, and nothing else"},
		{schema.ConfirmActionStart, []string{"/usr/bin/make"}, "every /usr/bin/make"},
		{schema.ConfirmActionStart, []string{"./build.sh"}, "every ./build.sh, in this directory"},
		{schema.ConfirmActionKill, []string{"npm"}, "ending every npm"},
		{schema.ConfirmActionStart, many[:9], "every line that runs a, b, c, d, e, f, g, h and i, and nothing else"},
		{schema.ConfirmActionStart, many, "every line that runs a, b, c, d, e, f, g, h and 2 more, and nothing else"},
		{schema.ConfirmActionStart, []string{"\x1b[2Krm"}, "every ␛[2Krm"},
	} {
		q := &question{action: test.action, roots: test.roots}
		if got := q.always(); got != test.want+after {
			t.Errorf("%q: %s", test.roots, got)
		}
		if !strings.Contains(q.text(), "\n\nalways allows "+test.want+after+"\n\n") {
			t.Errorf("%q: %s", test.roots, q.text())
		}
	}
	if q := questionOf(&schema.ClientConfirmParams{Action: schema.ConfirmActionStart, Roots: []string{"rm"}, Unknown: true}); q.keeps() || strings.Contains(q.text(), "always") {
		t.Errorf("%s", q.text())
	}
}

// TestAnswersOffered checks the answers that a person can choose from: always is offered only if it is kept.
func TestAnswersOffered(t *testing.T) {
	var offered, asked string
	h := startHost(t, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		var form struct {
			Properties map[string]struct {
				Enum        []string
				Description string
			}
		}
		if err := json.Unmarshal(encode(req.Params.RequestedSchema), &form); err != nil {
			return nil, err
		}
		asked = req.Params.Message
		offered = strings.Join(form.Properties["decision"].Enum, " ")
		if strings.Contains(form.Properties["decision"].Description, "always") != strings.Contains(offered, "always") {
			t.Errorf("%+v", form)
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, nil
	}})
	h.call("run_shell_command", args{"command": "cat", "is_background": true}, nil)
	for _, test := range []struct {
		tool string
		args args
		want string
	}{
		{"write_to_shell", args{"pid": 1, "input": "x"}, "once deny"},
		{"write_to_shell", args{"pid": 1, "special_keys": []string{"Ctrl-Z"}}, "once deny"},
		{"execute_bash_command", args{"command": "$(echo true)"}, "once deny"},
		{"execute_bash_command", args{"command": "true; ls"}, "once always deny"},
		{"execute_bash_command", args{"command": "true one"}, "once always deny"},
		{"execute_bash_command", args{"command": "echo one >file"}, "once deny"},
		{"execute_bash_command", args{"command": "cd . && ./file || true"}, "once deny"},
		{"kill", args{"handle": 1}, "once always deny"},
	} {
		offered = ""
		if h.call(test.tool, test.args, nil); offered != test.want {
			t.Errorf("%s %v: %q is offered, not %q", test.tool, test.args, offered, test.want)
		}
		if strings.Contains(asked, "\n\nalways allows ") != strings.Contains(offered, "always") {
			t.Errorf("%s %v: %s", test.tool, test.args, asked)
		}
	}
}
