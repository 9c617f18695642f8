package main

//lint:file-ignore SA1019 MCP 2026-07-28 has deprecated logging, without another way to tell a host of what no call has asked; every host of an older version has it.

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// capabilities returns the capabilities that the host gets. Log messages are sent after the host has set a level. The
// lists of tools and of resource templates never change; the resources depend on the jobs.
func capabilities() *mcp.ServerCapabilities {
	return &mcp.ServerCapabilities{
		Logging:   &mcp.LoggingCapabilities{},
		Tools:     &mcp.ToolCapabilities{},
		Resources: &mcp.ResourceCapabilities{},
	}
}

// tellEnd sends a log message about the end of a job's command to the host.
func (f *front) tellEnd(p *schema.JobExitedParams) {
	s := f.session.Load()
	if s == nil {
		return
	}
	data := map[string]any{"event": "exited", "handle": p.Handle, "reason": p.Exit.Reason, "exitCode": p.Exit.Code, "signal": p.Exit.Signal, "durationMs": p.DurationMs}
	if id := f.jobs.sessionOf(p.Handle); id != "" {
		data["sessionId"] = id
	}
	// Not on the client's reading goroutine: the host may read slowly. The host sets the level; before that, nothing is
	// sent.
	go func() {
		_ = s.Log(context.Background(), &mcp.LoggingMessageParams{Level: "info", Logger: "jobs", Data: data}) // This is best effort.
	}()
}
