package client_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// TestToolOnPage: the README has the tool of the example as it is tested.
func TestToolOnPage(t *testing.T) {
	source, err := os.ReadFile("example_tool_linux_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(source), "\n)\n\n")
	text, _, _ = strings.Cut(text, "\n// An agent's shell tool:")
	if text == "" || !strings.Contains(string(page), "```go\n"+text+"```\n") {
		t.Error("README.md has no such code: copy it from example_tool_linux_test.go, up to the example")
	}
}

// TestTool: the tool of the example types only what was asked, leaves passwords to the person, reports and ends what
// lives on, and keeps nothing of what has ended.
func TestTool(t *testing.T) {
	asked := make(chan string, 10)
	tool, err := newTool(t.Context(), func(_ context.Context, ask schema.ClientSecretParams) (string, error) {
		asked <- ask.Prompt
		return "hunter2", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tool.Close(); err != nil {
			t.Error(err)
		}
	})
	call := func(in toolCall) *toolResult {
		t.Helper()
		if in.Limit == 0 {
			in.Limit = watchdog
		}
		r, err := tool.call(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	gate := gated(t)

	r := call(toolCall{Command: "cd '" + gate + `'; echo begun; read x < gate; read -p 'Delete all? ' a; echo "$a"`, Terminal: true, Limit: 50 * time.Millisecond})
	equal(t, "timed out", r.TimedOut, true)
	equal(t, "ended", r.Ended, false)
	equal(t, "jobs", len(tool.jobs), 1)
	call(toolCall{Command: "echo > '" + gate + "/gate'"})
	if _, err := tool.Job(r.Job).Question(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = tool.call(t.Context(), toolCall{Job: r.Job, Input: new("yes"), Limit: watchdog})
	equal(t, "kind", client.KindOf(err), schema.KindInputNotExpected)
	equal(t, "prompt", *call(toolCall{Job: r.Job}).Prompt, "Delete all?")
	equal(t, "output", call(toolCall{Job: r.Job, Input: new("no")}).Stdout, "no\n")
	equal(t, "jobs", len(tool.jobs), 0)

	r = call(toolCall{Command: `read -s -p 'Password: ' p; echo; read -p "${#p} characters, go on? " a`, Terminal: true})
	equal(t, "prompt", *r.Prompt, "7 characters, go on?")
	equal(t, "asked", <-asked, "Password:")
	r = call(toolCall{Job: r.Job, EOF: true})
	equal(t, "exit code", *r.ExitCode, 1)

	r = call(toolCall{Command: "sleep 1000 >&- 2>&- & echo up"})
	equal(t, "background", r.Background, true)
	r = call(toolCall{Job: r.Job, Stop: true})
	equal(t, "background", r.Background, false)
	r = call(toolCall{Command: "sleep 1000", Limit: 50 * time.Millisecond})
	r = call(toolCall{Job: r.Job, Stop: true})
	equal(t, "reason", r.Reason, "killed")
	equal(t, "jobs", len(tool.jobs), 0)
	_, err = tool.call(t.Context(), toolCall{Job: r.Job})
	contains(t, "error", err.Error(), "begin a command")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err = tool.call(ctx, toolCall{Command: "sleep 1000", Limit: watchdog}); err == nil {
		t.Error("a command was waited for after the end of its context")
	}
	list, err := client.Call[schema.JobListResult](t.Context(), tool, "job/list", schema.JobListParams{Live: new(true)})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "live jobs", len(list.Jobs), 0)
}
