package main

import (
	"context"

	"shelld.dev/shelld/schema"
)

// This file has CliStop, of the CLI Tools Specification.

func (f *front) addCliStop() {
	add[cliStopParams, cliStopResult](f, tool[cliStopParams]{
		name:  "CliStop",
		title: "Stop session",
		description: `Terminates a running session started with CliSession.

Parameters:
- sessionId: The session to stop
- force: Use SIGKILL if SIGTERM doesn't work (default: false)

Always stop sessions when done to free resources.`,
		defaults:    map[string]any{"force": false},
		destructive: true,
		closedWorld: true,
		run:         cliStop,
	})
}

type cliStopParams struct {
	SessionID string `json:"sessionId" jsonschema:"Session to stop"`
	Force     bool   `json:"force,omitempty" jsonschema:"Force kill (SIGKILL) if graceful fails (default: false)"`
}

type cliStopResult struct {
	SessionID   string `json:"sessionId"`
	Status      string `json:"status" jsonschema:"stopped, or running: it has not ended after SIGTERM; use force."`
	ExitCode    *int64 `json:"exitCode" jsonschema:"null if a signal ended it."`
	Signal      string `json:"signal,omitempty" jsonschema:"The signal that ended it."`
	FinalOutput string `json:"finalOutput" jsonschema:"What it wrote since the last read."`
	Suggestion  string `json:"suggestion,omitempty"`
}

// stopGrace is the time, in milliseconds, that a session has to end after SIGTERM.
const stopGrace = 3000

func cliStop(ctx context.Context, c *call, p cliStopParams) (reply, error) {
	j, missing := c.sessionJob(ctx, p.SessionID)
	if j == nil {
		return missing, nil
	}
	var k schema.JobKillResult
	err := c.do(ctx, "job/kill", schema.JobKillParams{Handle: j.id(), GraceMs: new(int64(stopGrace)), Force: new(p.Force)}, &k)
	r := cliStopResult{SessionID: p.SessionID, Status: "stopped"}
	if kindOf(err) == schema.KindJobNotFound {
		exit := j.ended()
		if exit == nil {
			return c.noSession(ctx, p.SessionID), nil
		}
		r.ExitCode, r.Signal, r.FinalOutput = exit.Code, signalText(exit.Signal), j.lostText()
		return reply{value: r}, nil
	}
	if err != nil {
		return reply{}, err
	}
	if len(k.Survivors) > 0 {
		r.Status = "running"
		r.Suggestion = "It has not ended within 3 seconds of SIGTERM: call CliStop with force=true. " + survivorsText(k.Survivors)
	}
	if k.Job != nil && k.Job.Exit != nil {
		r.ExitCode, r.Signal = k.Job.Exit.Code, signalText(k.Job.Exit.Signal)
	}
	r.FinalOutput = c.tellUntold(ctx, j, telling{maxBytes: maxSessionOutput})
	return reply{value: r}, nil
}
