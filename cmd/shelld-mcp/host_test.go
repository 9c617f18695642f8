package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// watchdog limits steps that normally take a second.
const watchdog = 60 * time.Second

// A host is an MCP client and the server that it has started: in this process, over pipes, with the bytes that would go
// over stdin and stdout.
type host struct {
	t       testing.TB
	ctx     context.Context
	front   *front
	session *mcp.ClientSession
	schemas map[string]*jsonschema.Resolved // of the results, by tool
	root    string                          // directory in which commands start
	// structured means that results have structured content beside their text.
	structured bool
}

// startHost starts a server with these flags, and connects to it. The server starts commands in a temporary directory,
// and the test fails if anything of it remains.
func startHost(t testing.TB, o *mcp.ClientOptions, flags ...string) *host {
	t.Helper()
	return startHostOf(t, "", o, flags...)
}

// seedFlags are the flags that most tests start a server with: these tests call the seeds' tools, and compare the
// structured content. Later flags take precedence.
var seedFlags = []string{"-tools", "seeds", "-structured"}

// startHostOf is startHost for a host of one version of MCP; "": the newest.
func startHostOf(t testing.TB, version string, o *mcp.ClientOptions, flags ...string) *host {
	t.Helper()
	return startBareHost(t, version, o, slices.Concat(seedFlags, flags)...)
}

// startBareHost is startHostOf without seedFlags.
func startBareHost(t testing.TB, version string, o *mcp.ClientOptions, flags ...string) *host {
	t.Helper()
	needJobs(t)
	h := &host{t: t, schemas: map[string]*jsonschema.Resolved{}, root: t.TempDir()}
	cfg, err := parseFlags(append([]string{"-root", h.root}, flags...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	h.structured = cfg.structured
	var log bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	h.ctx = ctx
	f, err := newFront(context.Background(), cfg, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		t.Fatal(err)
	}
	h.front = f
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	over := make(chan error, 1)
	go func() {
		err := f.serve(context.Background(), newConn(theirIn, theirOut, f.engine.end, f.log))
		_ = theirOut.Close() // The end of the process does the same.
		_ = theirIn.Close()
		over <- err
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	h.session, err = client.Connect(ctx, &mcp.IOTransport{Reader: out, Writer: in}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		if err := h.session.Close(); err != nil {
			t.Errorf("the session ends with %v", err)
		}
		_ = in.Close()
		select {
		case err := <-over:
			if err != nil {
				t.Errorf("the server ends with %v", err)
			}
		case <-ctx.Done():
			t.Error("the server does not end")
		}
		if log.Len() > 0 {
			t.Errorf("the server has logged:\n%s", log.String())
		}
	})
	return h
}

// args are the arguments of a call.
type args map[string]any

// try calls a tool, and validates its result against the tool's schema.
func (h *host) try(tool string, a args) *mcp.CallToolResult {
	h.t.Helper()
	res, err := h.session.CallTool(h.ctx, &mcp.CallToolParams{Name: tool, Arguments: map[string]any(a)})
	if err != nil {
		h.t.Fatalf("%s %v: %v", tool, a, err)
	}
	if res.StructuredContent == nil {
		if h.structured && !res.IsError {
			h.t.Errorf("%s %v: there is no structured content", tool, a)
		}
		return res
	}
	if err := h.schemaOf(tool).Validate(res.StructuredContent); err != nil {
		h.t.Errorf("%s %v: the result does not fit its schema: %v\n%v", tool, a, err, res.StructuredContent)
	}
	return res
}

func (h *host) schemaOf(tool string) *jsonschema.Resolved {
	h.t.Helper()
	if len(h.schemas) == 0 {
		for tool, err := range h.session.Tools(h.ctx, nil) {
			if err != nil {
				h.t.Fatal(err)
			}
			var s jsonschema.Schema
			if err := json.Unmarshal(encode(tool.OutputSchema), &s); err != nil {
				h.t.Fatal(err)
			}
			if h.schemas[tool.Name], err = s.Resolve(nil); err != nil {
				h.t.Fatalf("%s: %v", tool.Name, err)
			}
		}
	}
	if h.schemas[tool] == nil {
		h.t.Fatalf("there is no tool %s", tool)
	}
	return h.schemas[tool]
}

// text returns the text of a result, as a model sees it.
func text(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// call calls a tool that must succeed, and decodes its structured content into out, which may be nil.
func (h *host) call(tool string, a args, out any) string {
	h.t.Helper()
	res := h.try(tool, a)
	if res.IsError {
		h.t.Fatalf("%s %v failed: %s", tool, a, text(res))
	}
	if out != nil {
		if err := json.Unmarshal(encode(res.StructuredContent), out); err != nil {
			h.t.Fatalf("%s: %v", tool, err)
		}
	}
	return text(res)
}

// fail calls a tool that must fail, and returns the text of its error.
func (h *host) fail(tool string, a args) string {
	h.t.Helper()
	res := h.try(tool, a)
	if !res.IsError {
		h.t.Fatalf("%s %v did not fail: %s", tool, a, text(res))
	}
	return text(res)
}

// raw calls a tool with arguments in raw JSON, and returns the text of its result.
func (h *host) raw(tool, args string) string {
	h.t.Helper()
	res, err := h.session.CallTool(h.ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		h.t.Fatalf("%s %s: %v", tool, args, err)
	}
	return text(res)
}

// until waits for a job through the protocol, for conditions that no tool can wait for.
func (h *host) until(handle int64, c schema.Condition) {
	h.t.Helper()
	var r schema.JobWaitResult
	err := h.front.ask(h.ctx, "job/wait", schema.JobWaitParams{Handle: handleID(handle), From: fromStart, Until: []schema.Condition{c}, TimeoutMs: schema.NullOf[int64]()}, &r)
	if err != nil {
		h.t.Fatal(err)
	}
	if r.Outcome.Index == nil {
		h.t.Fatalf("job %d: %s in place of the condition", handle, r.Outcome.Reason)
	}
}

// typed types a line into a job through the protocol: no tool returns the response.
func (h *host) typed(handle int64, line string) {
	h.t.Helper()
	p := schema.JobWriteParams{Handle: handleID(handle), Input: new(line), AppendNewline: new(true)}
	if err := h.front.ask(h.ctx, "job/write", p, nil); err != nil {
		h.t.Fatal(err)
	}
}

// contains fails unless the text contains each of these.
func contains(t testing.TB, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("there is no %q in:\n%s", w, text)
		}
	}
}

// lacks fails if the text contains one of these.
func lacks(t testing.TB, text string, not ...string) {
	t.Helper()
	for _, n := range not {
		if strings.Contains(text, n) {
			t.Errorf("there is %q in:\n%s", n, text)
		}
	}
}

func lines(ss ...string) string { return strings.Join(ss, "\n") }
