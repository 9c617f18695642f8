package main

import (
	"context"
	"strings"
	"time"
	"unicode"

	"shelld.dev/shelld/schema"
)

// This file has CliWrite, of the CLI Tools Specification. Its keys are in cli_keys.go.

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
	IsRunning       bool   `json:"isRunning" jsonschema:"Whether any of its processes runs; with exitCode, only processes that its command left."`
	WaitingForInput bool   `json:"waitingForInput"`
	ExitCode        *int64 `json:"exitCode,omitempty" jsonschema:"Set if the session has ended."`
	Hint            string `json:"hint,omitempty" jsonschema:"Set if the typed text is on the line, but was not entered."`
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
	if c.standsUnentered(ctx, j, items, o.Job.WaitingForInput) {
		r.Hint = unenteredHint
	}
	return reply{value: r}, nil
}

// unenteredHint is for a model that has left out {enter}: nothing else would explain the missing response.
const unenteredHint = `The typed text is on the line, but was not entered: CliWrite adds no Enter. input="{enter}" enters it now; end the next input with {enter}.`

// standsUnentered reports whether the typed text waits on the line for Enter: the input ends in text and not in a key,
// the cursor is behind that text, and the reading process takes whole lines, either through the kernel's line
// discipline or, like a shell at its prompt, with its own line editor. If the process reads single keys, or the line is
// not shown, this cannot be known, and the result is false.
func (c *call) standsUnentered(ctx context.Context, j *job, items []schema.SendItem, w *schema.WaitingForInput) bool {
	waits, line := asking(w)
	if !waits || len(items) == 0 || items[len(items)-1].Text == nil || w.Kind == nil {
		return false
	}
	typed := lastRunes(strings.TrimRight(*items[len(items)-1].Text, " "), 16) // A long line continues on a row of its own.
	if typed == "" || strings.ContainsFunc(typed, unicode.IsControl) || !strings.HasSuffix(line, typed) {
		return false
	}
	switch *w.Kind {
	case schema.InputKindLine:
		return true
	case schema.InputKindRaw:
		info, err := c.get(ctx, j.handle)
		return err == nil && info.ShellIntegration != nil && w.PID != nil && *w.PID == info.PID
	}
	return false
}

func lastRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[len(r)-n:])
	}
	return s
}
