package main

import (
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// BenchmarkLatency measures a tool call beside the protocol request that it consists of, on one server: screen is
// read_shell, and job/get with job/screen; write is CliWrite, and job/write with a wait for input; run is CliRun, and
// job/run.
func BenchmarkLatency(b *testing.B) {
	h := startHost(b, nil)
	h.call("CliSession", args{"command": "stty -echo; exec cat", "sessionId": "c"}, nil)
	h.until(1, onInput)
	native := func(b *testing.B, method string, params, result any) {
		b.Helper()
		if err := h.front.ask(h.ctx, method, params, result); err != nil {
			b.Fatal(err)
		}
	}
	tool := func(b *testing.B, name string, a args) {
		b.Helper()
		res, err := h.session.CallTool(h.ctx, &mcp.CallToolParams{Name: name, Arguments: a})
		if err != nil || res.IsError {
			b.Fatalf("%v, %+v", err, res)
		}
	}
	for name, pair := range map[string][2]func(*testing.B){
		"screen": {
			func(b *testing.B) { tool(b, "read_shell", args{"pid": 1}) },
			func(b *testing.B) {
				native(b, "job/get", schema.JobGetParams{Handle: handleID(1)}, &schema.JobGetResult{})
				native(b, "job/screen", schema.JobScreenParams{Handle: handleID(1)}, &schema.JobScreenResult{})
			},
		},
		"write": {
			func(b *testing.B) { tool(b, "CliWrite", args{"sessionId": "c", "input": "x{enter}"}) },
			func(b *testing.B) {
				native(b, "job/write", schema.JobWriteParams{
					Handle: handleID(1), Send: []schema.SendItem{{Text: new("x")}, {Key: new("Enter")}},
					Wait: &schema.Wait{Until: h.front.untilInput(), StripEcho: new(true)},
				}, &schema.JobWriteResult{})
			},
		},
		"run": {
			func(b *testing.B) { tool(b, "CliRun", args{"command": "true"}) },
			func(b *testing.B) {
				native(b, "job/run", schema.JobRunParams{Command: new("true")}, &schema.JobRunResult{})
			},
		},
	} {
		for i, way := range []string{"tool", "native"} {
			b.Run(name+"/"+way, func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					begun := time.Now()
					pair[i](b)
					took = append(took, time.Since(begun))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
			})
		}
	}
}
