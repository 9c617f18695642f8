package main

import (
	"context"
	"time"

	"shelld/schema"
)

// CliWrite, of the CLI Tools Specification. Its keys are in cli_keys.go.

func (f *front) addCliWrite() {
	add[cliWriteParams, cliWriteResult](f, tool[cliWriteParams]{
		name:  "CliWrite",
		title: "Write to session",
		description: `Sends input to an interactive session.

Parameters:
- sessionId: The session to write to
- input: Text and/or special keys to send
- timeout: Seconds to wait for response after sending

Special key sequences:
- {enter} - Press Enter
- {up}/{down}/{left}/{right} - Arrow keys
- {tab} - Tab key
- {backspace} - Backspace
- {escape} - Escape key
- {ctrl+c} - Interrupt (SIGINT)
- {ctrl+d} - End of input (EOF)
- {{ - A brace

Examples:
- Run command: input="npm test{enter}"
- Answer prompt: input="y{enter}"
- Navigate menu: input="{down}{down}{enter}"
- Cancel operation: input="{ctrl+c}"`,
		defaults:    map[string]any{"timeout": 5},
		destructive: true,
		run:         cliWrite,
	})
}

type cliWriteParams struct {
	SessionID string  `json:"sessionId" jsonschema:"Session to write to"`
	Input     string  `json:"input" jsonschema:"Text or special keys to send"`
	Timeout   float64 `json:"timeout,omitempty" jsonschema:"Seconds to wait for response (default: 5)"`
}

type cliWriteResult struct {
	SessionID       string `json:"sessionId"`
	Status          string `json:"status"`
	ResponseOutput  string `json:"responseOutput"`
	IsRunning       bool   `json:"isRunning" jsonschema:"Whether anything of it runs: with exitCode, what its command has left."`
	WaitingForInput bool   `json:"waitingForInput"`
	ExitCode        *int64 `json:"exitCode,omitempty" jsonschema:"Where the session has ended."`
}

func cliWrite(ctx context.Context, c *call, p cliWriteParams) (reply, error) {
	items, err := parseInput(p.Input)
	if err != nil {
		return reply{}, err
	}
	j, missing := c.sessionJob(ctx, p.SessionID)
	if j == nil {
		return missing, nil
	}
	began, end := j.untold(), time.Now().Add(seconds(p.Timeout))
	o, err := c.write(ctx, schema.JobWriteParams{Handle: j.id(), Send: items, Wait: &schema.Wait{
		From: from(began), Until: c.front.untilInput(), TimeoutMs: millis(seconds(p.Timeout)),
		MaxBytes: new(int64(maxSessionOutput)), StripEcho: new(true),
	}})
	switch kindOf(err) {
	case schema.KindJobNotFound, schema.KindJobExited:
		return c.sessionEnded(ctx, j, "takes no input"), nil
	}
	if err == nil {
		o, _, err = c.settled(ctx, j, o, began, maxSessionOutput, end)
	}
	if err != nil {
		return reply{}, err
	}
	r := cliWriteResult{SessionID: p.SessionID, Status: "sent", ResponseOutput: c.tell(ctx, j, o, telling{maxBytes: maxSessionOutput}), IsRunning: c.runsStill(ctx, &o.Job)}
	r.WaitingForInput, _ = asking(o.Job.WaitingForInput)
	if o.Job.Exit != nil {
		r.ExitCode = o.Job.Exit.Code
	}
	return reply{value: r}, nil
}
