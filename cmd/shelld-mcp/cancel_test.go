package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// closes waits until a job is closed.
func closes(t *testing.T, f *front, handle int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	defer cancel()
	var r schema.JobWaitResult
	err := f.ask(ctx, "job/wait", schema.JobWaitParams{Handle: handleID(handle), Until: []schema.Condition{{Closed: new(true)}}, TimeoutMs: schema.ValueOf((watchdog / 4).Milliseconds())}, &r)
	if err != nil || r.Outcome.Reason != schema.OutcomeReasonClosed {
		t.Errorf("job %d runs on: %v, %s", handle, err, r.Outcome.Reason)
	}
}

// A lateContext is done after it was asked once: the request is sent, and its answer arrives.
type lateContext struct {
	context.Context
	asked bool
}

func (c *lateContext) Err() error {
	if c.asked {
		return context.Canceled
	}
	c.asked = true
	return nil
}

// TestCancelledByTheAnswer cancels a call that starts a job after the server has answered the start.
func TestCancelledByTheAnswer(t *testing.T) {
	h := startHost(t, nil)
	c := h.front.newCall(&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}, Session: h.front.session.Load()}, "run_shell_command", false)
	_, err := runShellCommand(&lateContext{Context: h.ctx}, c, runShellParams{Command: "exec sleep 1000", Background: true})
	if err != context.Canceled {
		t.Errorf("%v", err)
	}
	closes(t, h.front, 1)
}

// TestDroppedAnswer drops the answer to a call that has started a job, because the call was cancelled meanwhile.
func TestDroppedAnswer(t *testing.T) {
	t.Parallel()
	h := startHost(t, nil, "-tools", "all")
	starts := []func(*call) error{
		func(c *call) error {
			_, err := runShellCommand(h.ctx, c, runShellParams{Command: "exec sleep 1000", Background: true})
			return err
		},
		func(c *call) error {
			_, err := cliSession(h.ctx, c, cliSessionParams{Command: "echo there; exec sleep 1000"})
			return err
		},
		func(c *call) error {
			_, err := cliRun(h.ctx, c, cliRunParams{Command: "sleep 1000 & true", Timeout: 3600})
			return err
		},
		func(c *call) error {
			_, err := shellTool(h.ctx, c, shellParams{Command: "exec sleep 1000", Wait: "none", Screen: "none"})
			return err
		},
	}
	for i, start := range starts {
		tag := &mcp.RequestExtra{}
		c := h.front.newCall(&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}, Session: h.front.session.Load(), Extra: tag}, "", false)
		h.front.owed.await(c)
		if err := start(c); err != nil {
			t.Fatal(err)
		}
		h.front.owed.settled(tag, true)
		closes(t, h.front, int64(i+1))
	}
	// The effects of an answer that was sent stay.
	var r runShellResult
	h.call("run_shell_command", args{"command": "exec sleep 1000", "is_background": true}, &r)
	contains(t, h.call("jobs", nil, nil), fmt.Sprintf("Handle: %d\n", r.Handle))
	if n := len(h.front.owed.calls); n != 0 {
		t.Errorf("%d calls are remembered", n)
	}
}

// TestSettle cancels one of two requests: settle reports that its answer was dropped.
func TestSettle(t *testing.T) {
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	c := newConn(theirIn, theirOut, func() error { return nil }, slog.New(slog.DiscardHandler))
	told := map[*mcp.RequestExtra]bool{}
	c.settle = func(request *mcp.RequestExtra, dropped bool) func() { told[request] = dropped; return nil }
	go func() {
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		} {
			_, _ = io.WriteString(in, line+"\n")
		}
	}()
	var requests []*jsonrpc.Request
	for range 3 {
		msg, err := c.Read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, msg.(*jsonrpc.Request))
	}
	sent := make(chan string, 1)
	go func() {
		var b strings.Builder
		_, _ = io.Copy(&b, out)
		sent <- b.String()
	}()
	for _, req := range requests[:2] {
		if err := c.Write(context.Background(), &jsonrpc.Response{ID: req.ID, Result: json.RawMessage(`{}`)}); err != nil {
			t.Error(err)
		}
	}
	_ = c.Close()
	_ = in.Close()
	_ = theirOut.Close()
	if got := <-sent; strings.Contains(got, `"id":1`) || !strings.Contains(got, `"id":2`) {
		t.Errorf("%q", got)
	}
	first, _ := requests[0].Extra.(*mcp.RequestExtra)
	second, _ := requests[1].Extra.(*mcp.RequestExtra)
	if dropped, there := told[first]; !there || !dropped {
		t.Error("the call is not notified that its answer was dropped")
	}
	if dropped, there := told[second]; !there || dropped {
		t.Error("the call is not notified that its answer is being sent")
	}
}

// TestCancelledAtAnyMoment cancels calls that start a job after more and more other messages. The test ends the jobs of
// calls that were answered before; the others must end by themselves.
func TestCancelledAtAnyMoment(t *testing.T) {
	for name, line := range map[string]func(int) string{
		"run_shell_command": func(id int) string {
			return callLine(id, "run_shell_command", `{"command":"exec sleep 1000","ai_callback_delay":3600}`)
		},
		"background": func(id int) string {
			return callLine(id, "run_shell_command", `{"command":"exec sleep 1000","is_background":true}`)
		},
		"CliRun": func(id int) string {
			return callLine(id, "CliRun", `{"command":"sleep 1000 & exec sleep 1000","timeout":3600}`)
		},
		"shell": func(id int) string {
			return callLine(id, "shell", `{"command":"exec sleep 1000","input":"x","wait":"none"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWire(t, "-confirm", "none", "-tools", "all")
			w.initialize()
			ping := func() {
				w.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
				for {
					a := w.receive()
					if string(a.ID) == `"ping"` {
						return
					}
					var r struct{ StructuredContent struct{ PID int64 } }
					if err := json.Unmarshal(a.Result, &r); err != nil {
						t.Fatal(err)
					}
					_, j, _ := w.front.jobs.byNumber(r.StructuredContent.PID)
					if err := w.front.ask(context.Background(), "job/kill", schema.JobKillParams{Handle: j.id()}, nil); err != nil {
						t.Error(err)
					}
				}
			}
			const tries = 20
			for i := range tries {
				w.send(line(i + 1))
				for range i {
					ping()
				}
				w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i+1))
			}
			for n := tries; n > 0; {
				ping()
				w.front.owed.mu.Lock()
				n = len(w.front.owed.calls)
				w.front.owed.mu.Unlock()
			}
			var live schema.JobListResult
			if err := w.front.ask(context.Background(), "job/list", schema.JobListParams{Live: new(true)}, &live); err != nil {
				t.Fatal(err)
			}
			for _, j := range live.Jobs {
				closes(t, w.front, j.Handle)
			}
			_ = w.in.Close()
			w.ended()
		})
	}
}
