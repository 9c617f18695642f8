package main

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// startShell starts a shell as the session sh, and waits until it takes input.
func (h *host) startShell() {
	h.t.Helper()
	h.call("CliSession", args{"sessionId": "sh", "env": map[string]string{"PS1": "$ "}}, nil)
	var j jobsResult
	h.call("jobs", nil, &j) // A start with a question uses one more handle.
	h.until(j.Jobs[0].Handle, onInput)
}

// TestCliEnvSecretNotPrinted sets a secret in a shell: neither the next answer nor the output of the shell contains it, or the
// line that sets it.
func TestCliEnvSecretNotPrinted(t *testing.T) {
	for _, flags := range [][]string{nil, {"-confirm", "none"}, {"-confirm", "all", "-unasked", "allow"}} {
		h := startHost(t, nil, flags...)
		h.startShell()
		h.call("CliEnv", args{"action": "set", "name": "API_TOKEN", "value": "s3cr3tvalue", "sessionId": "sh"}, nil)
		var w cliWriteResult
		h.call("CliWrite", args{"sessionId": "sh", "input": "echo ${{#API_TOKEN}{enter}", "timeout": 50}, &w)
		contains(t, w.ResponseOutput, "11\n")
		h.call("CliEnv", args{"action": "unset", "name": "API_TOKEN", "sessionId": "sh"}, nil)
		all, err := h.session.ReadResource(h.ctx, &mcp.ReadResourceParams{URI: "shelld://job/1/stdout"})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{w.ResponseOutput, all.Contents[0].Text} {
			if strings.Contains(text, "s3cr3t") || strings.Contains(text, "export") || strings.Contains(text, "unset") {
				t.Errorf("%v: %q", flags, text)
			}
		}
	}
}

// TestCliEnvSecretSet sets secrets, with and without a session: no answer repeats them.
func TestCliEnvSecretSet(t *testing.T) {
	h := startHost(t, nil)
	h.startShell()
	for _, a := range []args{{}, {"sessionId": "sh"}} {
		for _, action := range []string{"set", "get", "list"} {
			call := args{"action": action, "name": "API_TOKEN", "value": "s3cr3tvalue"}
			for name, value := range a {
				call[name] = value
			}
			var r cliEnvResult
			if got := h.call("CliEnv", call, &r); strings.Contains(got, "s3cr3t") || action != "list" && (!r.Secret || r.Value != nil) {
				t.Errorf("%v: %s", call, got)
			}
		}
	}
}

// TestCliEnvAsked asks a person about a variable of a shell: a secret is not shown.
func TestCliEnvAsked(t *testing.T) {
	asked := &person{says: []string{"once", "deny", "once", "once"}}
	h := startHost(t, asked.options(), "-confirm", "all")
	h.startShell()
	set := args{"action": "set", "name": "PROMPT_COMMAND", "value": "date", "sessionId": "sh"}
	contains(t, h.fail("CliEnv", set), "did not allow")
	var r cliEnvResult
	if h.call("CliEnv", args{"action": "get", "name": "PROMPT_COMMAND", "sessionId": "sh"}, &r); r.Value != nil && *r.Value == "date" {
		t.Error("it was set all the same")
	}
	h.call("CliEnv", set, nil)
	h.call("CliEnv", args{"action": "set", "name": "API_TOKEN", "value": "s3cr3tvalue", "sessionId": "sh"}, nil)
	asked.expect(t, "Run this in", "PROMPT_COMMAND='date'", "PROMPT_COMMAND='date'", "API_TOKEN='***'")
}
