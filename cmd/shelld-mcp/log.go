package main

//lint:file-ignore SA1019 MCP 2026-07-28 has deprecated logging, without another way to tell a host of what no call has asked; every host of an older version has it.

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld/schema"
)

// capabilities are what a host is told of the server. Log messages are sent once the host has
// set a level. The lists of tools and resource templates never change; resources are those of
// the jobs that there are.
func capabilities() *mcp.ServerCapabilities {
	return &mcp.ServerCapabilities{
		Logging:   &mcp.LoggingCapabilities{},
		Tools:     &mcp.ToolCapabilities{},
		Resources: &mcp.ResourceCapabilities{},
	}
}

// tellEnd tells the host's log of the end of a job's command.
func (f *front) tellEnd(p *schema.JobExitedParams) {
	s := f.session.Load()
	if s == nil {
		return
	}
	data := map[string]any{"event": "exited", "handle": p.Handle, "reason": p.Exit.Reason, "exitCode": p.Exit.Code, "signal": p.Exit.Signal, "durationMs": p.DurationMs}
	if id := f.jobs.sessionOf(p.Handle); id != "" {
		data["sessionId"] = id
	}
	// Not on the client's reading goroutine: the host may be slow to read, and it sets the
	// level; without one nothing is sent.
	go func() {
		_ = s.Log(context.Background(), &mcp.LoggingMessageParams{Level: "info", Logger: "jobs", Data: data}) // Best effort.
	}()
}
