package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestProgress waits for a command on behalf of a host that wants progress notifications.
func TestProgress(t *testing.T) {
	t.Parallel()
	heard := make(chan *mcp.ProgressNotificationParams, 100)
	h := startHost(t, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		heard <- req.Params
	}})
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		p := &mcp.CallToolParams{Name: "run_shell_command", Arguments: args{"command": "echo compiling; exec cat", "ai_callback_delay": 3600}}
		p.SetProgressToken("token")
		_, err := h.session.CallTool(ctx, p)
		over <- err
	}()
	last := 0.0
	for {
		p := <-heard
		if p.ProgressToken != "token" || p.Progress <= last || p.Total < 3599 || p.Total > 3601 {
			t.Errorf("%+v after %v", p, last)
		}
		last = p.Progress
		if strings.HasSuffix(p.Message, " s: compiling") {
			break
		}
	}
	cancel()
	if err := <-over; err == nil {
		t.Error("the cancelled call has a result")
	}
}

// TestVersions connects hosts of each version of MCP, and asks their persons.
func TestVersions(t *testing.T) {
	for _, version := range mcp.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			asked := &person{says: []string{"once"}}
			h := startHostOf(t, version, asked.options())
			if got := h.session.InitializeResult(); got.ProtocolVersion != version || got.Instructions == "" || got.ServerInfo.Name != "shelld-mcp" {
				t.Errorf("%+v", got)
			}
			contains(t, h.call("run_shell_command", args{"command": "echo hello"}, nil), "Output: hello")
			contains(t, h.call("execute_bash_command", args{"command": "echo asked"}, nil), "Stdout: asked")
			asked.expect(t, "echo asked")
		})
	}
}

// TestLog receives the log message about the end of a command that no call waits for.
func TestLog(t *testing.T) {
	//lint:ignore SA1019 See log.go.
	heard := make(chan *mcp.LoggingMessageParams, 100)
	//lint:ignore SA1019 See log.go.
	h := startHost(t, &mcp.ClientOptions{LoggingMessageHandler: func(_ context.Context, req *mcp.LoggingMessageRequest) {
		heard <- req.Params
	}})
	//lint:ignore SA1019 See log.go.
	if err := h.session.SetLoggingLevel(h.ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Fatal(err)
	}
	h.call("CliSession", args{"command": "read x; exit 3", "sessionId": "mine"}, nil)
	h.call("CliWrite", args{"sessionId": "mine", "input": "{enter}"}, nil)
	p := <-heard
	data, _ := p.Data.(map[string]any)
	if p.Level != "info" || p.Logger != "jobs" || data["event"] != "exited" || data["handle"] != 1.0 || data["exitCode"] != 3.0 || data["sessionId"] != "mine" {
		t.Errorf("%+v", p)
	}
}

// TestResources reads the output of jobs as resources, and checks the lists.
func TestResources(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	h.call("run_shell_command", args{"command": "echo one; echo two >&2"}, nil)
	h.call("CliSession", args{"command": "echo three; exec cat", "sessionId": "mine"}, nil)
	h.call("run_shell_command", args{"command": "seq 1000000", "ai_callback_delay": 3600}, nil)
	list, err := h.session.ListResources(h.ctx, nil)
	if err != nil || len(list.Resources) != 3 || list.Resources[0].URI != "shelld://job/1/stdout" || !strings.Contains(list.Resources[0].Description, "echo one") {
		t.Errorf("%+v, %v", list, err)
	}
	templates, err := h.session.ListResourceTemplates(h.ctx, nil)
	if err != nil || len(templates.ResourceTemplates) != len(resourceParts) {
		t.Errorf("%+v, %v", templates, err)
	}
	for uri, want := range map[string]string{
		"shelld://job/1/stdout":    "one\ntwo\n",
		"shelld://job/2/stdout":    "three\n",
		"shelld://job/mine/stdout": "three\n",
		"shelld://job/mine/screen": "three",
		"shelld://job/3/stdout":    "bytes, ", // from the mark in the middle
	} {
		r, err := h.session.ReadResource(h.ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(r.Contents) != 1 || !strings.Contains(r.Contents[0].Text, want) || r.Contents[0].MIMEType != "text/plain" || len(r.Contents[0].Text) > maxResource+200 {
			t.Errorf("%s: %v, %.200v", uri, err, r)
		}
	}
	r, err := h.session.ReadResource(h.ctx, &mcp.ReadResourceParams{URI: "shelld://job/2/screen.png"})
	if err != nil || len(r.Contents) != 1 || !strings.HasPrefix(string(r.Contents[0].Blob), "\x89PNG") || r.Contents[0].MIMEType != "image/png" {
		t.Errorf("%v", err)
	}
	r, err = h.session.ReadResource(h.ctx, &mcp.ReadResourceParams{URI: "shelld://job/2/info"})
	var info struct {
		Handle int64
		Name   string
	}
	if err != nil || json.Unmarshal([]byte(r.Contents[0].Text), &info) != nil || info.Handle != 2 || info.Name != "mine" {
		t.Errorf("%v, %+v", err, info)
	}
	h.call("CliRun", args{"command": "true"}, nil)
	for uri, why := range map[string]string{
		"shelld://job/9/stdout": "", "shelld://job/no/stdout": "", "shelld://job/1/no": "", "file:///etc/passwd": "",
		"shelld://job/1/stderr": ": the job has no stderr of its own", "shelld://job/4/screen": ": job 4 has no terminal", "shelld://job/4/screen.png": ": job 4 has no terminal",
	} {
		_, err := h.session.ReadResource(h.ctx, &mcp.ReadResourceParams{URI: uri})
		missing, ok := errors.AsType[*jsonrpc.Error](err)
		if !ok || missing.Code != jsonrpc.CodeInvalidParams || !strings.Contains(string(missing.Data), uri) {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		contains(t, missing.Message, "Resource not found"+why, "The known jobs are 1, 2, 3, 4. Each has shelld://job/HANDLE/stdout")
	}
}

// TestEmptyResource reads empty resources: MCP requires a text or a blob.
func TestEmptyResource(t *testing.T) {
	w := startWire(t)
	w.initialize()
	w.send(callLine(1, "run_shell_command", `{"command":"exec cat","is_background":true}`))
	w.receive()
	w.send(callLine(3, "CliRun", `{"command":"true"}`))
	w.receive()
	for _, part := range []string{"1/stdout", "1/screen", "2/stdout", "2/stderr"} {
		w.send(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"shelld://job/` + part + `"}}`)
		a := w.receive()
		var r struct {
			Contents []struct{ URI, MIMEType, Text, Blob *string }
		}
		if err := json.Unmarshal(a.Result, &r); err != nil || len(r.Contents) != 1 {
			t.Fatalf("%s: %s, %v", part, a.Result, err)
		}
		if c := r.Contents[0]; c.Text == nil || *c.Text != "" || c.Blob != nil || c.URI == nil || *c.URI != "shelld://job/"+part || c.MIMEType == nil || *c.MIMEType != "text/plain" {
			t.Errorf("%s: %s", part, a.Result)
		}
	}
	_ = w.in.Close()
	w.ended()
}

// TestConcurrent makes many calls to one server at a time.
func TestConcurrent(t *testing.T) {
	h := startHost(t, nil, "-tools", "all")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			id := fmt.Sprintf("s%d", i)
			for _, c := range []struct {
				tool string
				args args
			}{
				{"CliSession", args{"command": "cat", "sessionId": id}},
				{"CliWrite", args{"sessionId": id, "input": "hello " + id + "{enter}"}},
				{"CliRun", args{"command": "echo " + id}},
				{"shell", args{"command": "echo " + id}},
				{"CliStop", args{"sessionId": id}},
			} {
				res, err := h.session.CallTool(h.ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
				if err != nil || res.IsError {
					t.Errorf("%s %v: %v, %+v", c.tool, c.args, err, res)
					return
				}
				if c.tool != "CliSession" && c.tool != "CliStop" && !strings.Contains(text(res), id) {
					t.Errorf("%s %v: %s", c.tool, c.args, text(res))
				}
			}
		})
	}
	wg.Wait()
	contains(t, h.call("jobs", nil, nil), "No running background processes.")
}

// TestSharedSession reads one session from several calls: each byte is returned once.
func TestSharedSession(t *testing.T) {
	h := startHost(t, nil)
	h.call("CliSession", args{"command": "read x; seq 100000 120000; echo; echo over; exec cat", "sessionId": "s"}, nil)
	var mu sync.Mutex
	told := map[string]int{}
	note := func(output string) {
		mu.Lock()
		defer mu.Unlock()
		for line := range strings.SplitSeq(output, "\n") {
			if len(line) == 6 {
				told[line]++
			}
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for over := false; !over; {
				res, err := h.session.CallTool(h.ctx, &mcp.CallToolParams{Name: "CliRead", Arguments: args{"sessionId": "s", "maxBytes": 7000, "timeout": 0.2}})
				if err != nil || res.IsError {
					t.Errorf("%v, %+v", err, res)
					return
				}
				var r cliReadResult
				if err := json.Unmarshal(encode(res.StructuredContent), &r); err != nil {
					t.Error(err)
					return
				}
				note(r.Output)
				over = r.WaitingForInput && !r.HasMore && r.Output == ""
				mu.Lock()
				over = over && len(told) > 0
				mu.Unlock()
			}
		})
	}
	var w cliWriteResult
	h.typed(1, "") // A tool that returns new output would be one more reader.
	wg.Wait()
	h.call("CliWrite", args{"sessionId": "s", "input": "end{enter}"}, &w)
	twice := 0
	for _, n := range told {
		if n > 1 {
			twice++
		}
	}
	// A read may end within a line; such a line is returned in two parts.
	if twice > 0 || len(told) < 19000 {
		t.Errorf("%d lines were returned, %d of them more than once", len(told), twice)
	}
}
