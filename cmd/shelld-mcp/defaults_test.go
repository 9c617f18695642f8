package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestDefaultTools lists the tools of a server that was started without flags: four, without output schemas.
func TestDefaultTools(t *testing.T) {
	h := startBareHost(t, "", nil)
	list, err := h.session.ListTools(h.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.OutputSchema != nil {
			t.Errorf("%s has a schema of its results", tool.Name)
		}
	}
	slices.Sort(names)
	if want := []string{"shell", "shell_end", "shell_jobs", "shell_output"}; !slices.Equal(names, want) {
		t.Errorf("the tools are %v, not %v", names, want)
	}
}

// TestTextWithoutStructuredContent calls tools of every kind on a server without -structured: hosts that prefer structured content would
// hide the text and the picture from their models.
func TestTextWithoutStructuredContent(t *testing.T) {
	h := startBareHost(t, "", nil, "-tools", "all", "-confirm", "none")
	for _, call := range []struct {
		tool string
		args args
		want []string // in the text
	}{
		{"shell", args{"command": "printf 'a\\tb \"q\"\\n'", "wait": "exit"}, []string{"[job 1, ended, exit code 0]", `b "q"`}},
		{"shell", args{"command": "cat", "screen": "picture"}, []string{"[job 2, running, waiting for input]"}},
		{"shell_output", args{"job": "1", "find": "q"}, []string{"5> a"}},
		{"shell_jobs", nil, []string{"[job 2, running"}},
		{"shell_end", args{"job": "2"}, []string{"[job 2, ended]"}},
		{"run_shell_command", args{"command": "echo out"}, []string{"Output: out"}},
		{"execute_bash_command", args{"command": "echo out"}, []string{"Stdout: out"}},
		{"CliRun", args{"command": "echo out"}, []string{`"stdout": "out\n"`, `"exitCode": 0`}},
		{"CliGetPlatform", nil, []string{`"shell": "`}},
		{"jobs", nil, []string{"No running background processes."}},
	} {
		res, err := h.session.CallTool(h.ctx, &mcp.CallToolParams{Name: call.tool, Arguments: map[string]any(call.args)})
		if err != nil {
			t.Fatalf("%s: %v", call.tool, err)
		}
		if res.IsError || res.StructuredContent != nil {
			t.Errorf("%s: failed %v, structured content %v; text %s", call.tool, res.IsError, res.StructuredContent, text(res))
		}
		contains(t, text(res), call.want...)
		pictures := slices.DeleteFunc(slices.Clone(res.Content), func(c mcp.Content) bool {
			image, ok := c.(*mcp.ImageContent)
			return !ok || !strings.HasPrefix(string(image.Data), "\x89PNG")
		})
		if want := call.args["screen"] == "picture"; want != (len(pictures) == 1) {
			t.Errorf("%s %v: %d pictures", call.tool, call.args, len(pictures))
		}
	}
}

// TestCacheScope reads everything that MCP 2026-07-28 allows a cache to keep: a cache must not share the output of jobs
// between users.
func TestCacheScope(t *testing.T) {
	h := startHost(t, nil, "-tools", "compact")
	h.call("shell", args{"command": "echo secret", "wait": "exit"}, nil)
	scopes := map[string]string{}
	note := func(what string, c mcp.Cacheable, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		scopes[what] = c.CacheScope
	}
	tools, err := h.session.ListTools(h.ctx, nil)
	note("tools/list", tools.Cacheable, err)
	resources, err := h.session.ListResources(h.ctx, nil)
	note("resources/list", resources.Cacheable, err)
	templates, err := h.session.ListResourceTemplates(h.ctx, nil)
	note("resources/templates/list", templates.Cacheable, err)
	output, err := h.session.ReadResource(h.ctx, &mcp.ReadResourceParams{URI: "shelld://job/1/stdout"})
	note("resources/read", output.Cacheable, err)
	for what, scope := range scopes {
		if scope != "private" {
			t.Errorf("%s has the cache scope %q, not private", what, scope)
		}
	}
}
