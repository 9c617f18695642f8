package main

import (
	"context"
	"fmt"

	"shelld.dev/shelld/schema"
)

// This file has CliRead, of the CLI Tools Specification.

func (f *front) addCliRead() {
	add[cliReadParams, cliReadResult](f, tool[cliReadParams]{
		name:  "CliRead",
		title: "Read session",
		description: `Reads output from a running session started with CliSession.

Parameters:
- sessionId: The session to read from (from CliSession response)
- timeout: Seconds to wait for output (default: 5)
- maxBytes: Max output size (default: 64KB)

Response fields:
- output: Text produced since last read
- hasMore: More output available (call again)
- isRunning: Process still running
- waitingForInput: Process waiting for user input (use CliWrite)

Best practices:
- Poll with increasing delays for long operations
- Check waitingForInput to know when to send response
- Use hasMore to read complete output`,
		defaults:    map[string]any{"timeout": 5, "maxBytes": 65536},
		bounds:      map[string]float64{"maxBytes": 4},
		closedWorld: true,
		run:         cliRead,
	})
}

type cliReadParams struct {
	SessionID string  `json:"sessionId" jsonschema:"Session to read from"`
	Timeout   float64 `json:"timeout,omitempty" jsonschema:"Seconds to wait for output (default: 5)"`
	MaxBytes  int64   `json:"maxBytes,omitempty" jsonschema:"Maximum bytes to return (default: 64KB)"`
}

type cliReadResult struct {
	SessionID       string `json:"sessionId"`
	Output          string `json:"output"`
	HasMore         bool   `json:"hasMore"`
	IsRunning       bool   `json:"isRunning" jsonschema:"Whether any of its processes runs; with exitCode, only processes that its command left."`
	WaitingForInput bool   `json:"waitingForInput"`
	ExitCode        *int64 `json:"exitCode,omitempty" jsonschema:"Set if the session has ended."`
}

func cliRead(ctx context.Context, c *call, p cliReadParams) (reply, error) {
	j, missing := c.sessionJob(ctx, p.SessionID)
	if j == nil {
		return missing, nil
	}
	state, err := c.awaitOutput(ctx, j, seconds(p.Timeout))
	if kindOf(err) == schema.KindJobNotFound {
		if exit := j.ended(); exit != nil {
			return reply{value: cliReadResult{SessionID: p.SessionID, Output: j.lostText(), ExitCode: exit.Code}}, nil
		}
		return c.noSession(ctx, p.SessionID), nil
	}
	if err != nil {
		return reply{}, err
	}
	// Two concurrent reads would return the same output twice.
	j.reading.Lock()
	defer j.reading.Unlock()
	read := schema.JobReadParams{Handle: j.id(), Offset: new(j.next), MaxBytes: new(p.MaxBytes), Format: new(schema.ReadFormatPlain)}
	var o schema.JobReadResult
	if err := c.do(ctx, "job/read", read, &o); err != nil {
		return reply{}, err
	}
	r := cliReadResult{SessionID: p.SessionID, HasMore: o.HasMore, IsRunning: c.runsStill(ctx, &o.Job)}
	r.Output = c.advance(ctx, j, o.NextOffset, &o.Job)
	if o.Gap != nil {
		r.Output += fmt.Sprintf("[... %d bytes are no longer kept ...]\n", o.Gap.To-o.Gap.From)
	}
	if o.Text != nil {
		r.Output += *o.Text
	}
	if running(o.Job.Status) && !o.HasMore {
		r.WaitingForInput, _ = asking(state.WaitingForInput)
	}
	if o.Job.Exit != nil {
		r.ExitCode = o.Job.Exit.Code
	}
	return reply{value: r}, nil
}
