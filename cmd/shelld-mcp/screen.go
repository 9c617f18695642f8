package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/schema"
)

// This file has the tools of Gemini CLI's interactive shell mode: read_shell and write_to_shell.

// specialKeys are the seed's names of keys; the server encodes them for the terminal's present modes.
var specialKeys = []string{
	"Enter", "Tab", "Up", "Down", "Left", "Right", "Escape", "Backspace",
	"Ctrl-C", "Ctrl-D", "Ctrl-Z", "Space", "Delete", "Home", "End",
}

func (f *front) addScreen() {
	add[readShellParams, screenResult](f, tool[readShellParams]{
		name:        "read_shell",
		title:       "ReadShell",
		description: "Reads the current screen of a running background shell process: what its terminal shows, as text. Use it to look at TUI applications, and after write_to_shell to see how a program went on.",
		signed:      []string{"pid"},
		ids:         []string{"pid"},
		readOnly:    true,
		closedWorld: true,
		check:       func(p readShellParams) string { return checkPID(p.PID) },
		run:         readShell,
	})
	add[writeToShellParams, screenResult](f, tool[writeToShellParams]{
		name:        "write_to_shell",
		title:       "WriteToShell",
		description: "Sends input to a running background shell process. Use this to interact with TUI applications, REPLs, and interactive commands. After writing, the current screen state is returned. Works with processes that were auto-promoted to background via wait_for_output_seconds or started with is_background=true.",
		enums:       map[string][]string{"special_keys": specialKeys},
		signed:      []string{"pid"}, // The seed has its own error for a PID that is not positive.
		ids:         []string{"pid"},
		destructive: true,
		asks:        true,
		check:       checkWriteToShell,
		run:         writeToShell,
	})
}

type readShellParams struct {
	PID float64 `json:"pid" jsonschema:"The PID of the background process to read. Obtained from a previous run_shell_command call; its Handle does as well."`
}

type writeToShellParams struct {
	PID         float64  `json:"pid" jsonschema:"The PID of the background process to write to. Obtained from a previous run_shell_command call that was auto-promoted to background or started with is_background=true."`
	Input       string   `json:"input,omitempty" jsonschema:"(OPTIONAL) Text to send to the process. This is literal text typed into the terminal."`
	SpecialKeys []string `json:"special_keys,omitempty" jsonschema:"(OPTIONAL) Named special keys to send after the input text. Each key is sent in sequence. Examples: [\"Enter\"], [\"Tab\"], [\"Up\", \"Enter\"], [\"Ctrl-C\"]."`
}

type screenResult struct {
	Handle          int64  `json:"handle"`
	PID             int64  `json:"pid"`
	Screen          string `json:"screen" jsonschema:"The terminal's screen, line by line, without trailing blanks."`
	CursorRow       int64  `json:"cursorRow" jsonschema:"From 0."`
	CursorCol       int64  `json:"cursorCol" jsonschema:"From 0."`
	Running         bool   `json:"running" jsonschema:"Whether the command of its job runs; false if only processes that it started run."`
	WaitingForInput bool   `json:"waitingForInput"`
}

func checkPID(pid float64) string {
	if pid <= 0 {
		return "PID must be a positive number."
	}
	return ""
}

func checkWriteToShell(p writeToShellParams) string {
	if bad := checkPID(p.PID); bad != "" {
		return bad
	}
	if p.Input == "" && len(p.SpecialKeys) == 0 {
		return "At least one of input or special_keys must be provided."
	}
	return ""
}

// noProcess returns the seed's answer for a process that has ended, with the list of running ones. j is its job, if
// any: a process of it may be alive that cannot be typed into.
func (c *call) noProcess(ctx context.Context, pid int64, j *job) reply {
	if j != nil {
		if info, err := c.get(ctx, j.handle); err == nil && slices.Contains(pids(info.Background), pid) {
			return reply{text: "Error: " + notReading(pid, info), failed: true}
		}
	}
	return reply{text: fmt.Sprintf("Error: No active process found with PID %d. The process may have exited.\n%s", pid, c.liveText(ctx)), failed: true}
}

func readShell(ctx context.Context, c *call, p readShellParams) (reply, error) {
	pid := int64(p.PID)
	j, err := c.find(ctx, pid, true)
	if err != nil {
		return reply{}, err
	}
	if j == nil {
		return c.noProcess(ctx, pid, nil), nil
	}
	info, err := c.get(ctx, j.handle)
	if kindOf(err) == schema.KindJobNotFound || err == nil && !running(info.Status) && !slices.Contains(pids(info.Background), pid) {
		return c.noProcess(ctx, pid, nil), nil
	}
	if err != nil {
		return reply{}, err
	}
	s, err := c.screen(ctx, j.handle, schema.ScreenFormatText)
	if err != nil {
		return reply{}, err
	}
	r := screenResult{Handle: j.handle, PID: j.pid, Screen: screenText(s.Lines), CursorRow: s.Cursor.Row, CursorCol: s.Cursor.Col, Running: running(info.Status)}
	r.WaitingForInput, _ = asking(info.WaitingForInput)
	return reply{text: orEmpty(r.Screen), value: r}, nil
}

// screenText joins the lines of a screen, without the empty ones at its end.
func screenText(lines []string) string {
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	return strings.Join(lines[:end], "\n")
}

const (
	// reactionQuiet is the time that the seed gives a process to react. It is counted from the last output, so that a
	// screen is not read while it is being drawn.
	reactionQuiet = 150 * time.Millisecond
	// reactionTime limits the wait for programs with output that never pauses.
	reactionTime = 2 * time.Second
)

func writeToShell(ctx context.Context, c *call, p writeToShellParams) (reply, error) {
	if bad := invalidKeys(p.SpecialKeys); bad != "" {
		return reply{text: bad, failed: true}, nil
	}
	pid := int64(p.PID)
	j, err := c.find(ctx, pid, true)
	if err != nil {
		return reply{}, err
	}
	if j == nil {
		return c.noProcess(ctx, pid, nil), nil
	}
	w := schema.JobWriteParams{Handle: j.id(), Keys: p.SpecialKeys, Wait: &schema.Wait{
		// A program that waits for input again has reacted; for others, the condition is silence.
		Until:     []schema.Condition{onInput, {QuietMs: new(reactionQuiet.Milliseconds())}},
		TimeoutMs: millis(reactionTime), Format: new(schema.WaitFormatScreen),
	}}
	if !c.front.seesInput() {
		w.Wait.Until = w.Wait.Until[1:]
	}
	if p.Input != "" {
		w.Input = new(p.Input)
	}
	o, err := c.write(ctx, w)
	switch kindOf(err) {
	case schema.KindJobExited, schema.KindJobNotFound:
		return c.noProcess(ctx, pid, j), nil
	}
	if err != nil {
		return reply{}, err
	}
	r := screenResult{Handle: j.handle, PID: j.pid, Running: running(o.Job.Status)}
	r.WaitingForInput, _ = asking(o.Job.WaitingForInput)
	if o.Screen != nil {
		r.Screen, r.CursorRow, r.CursorCol = screenText(o.Screen.Lines), o.Screen.Cursor.Row, o.Screen.Cursor.Col
	}
	if !r.Running {
		text := fmt.Sprintf("Input sent, but the process (PID %d) has exited.", pid)
		if r.Screen != "" {
			text += " " + howEnded(o.Job.Exit) + " Last screen:\n" + r.Screen
		}
		return reply{text: text, value: r}, nil
	}
	return reply{text: fmt.Sprintf("Input sent to PID %d. Current screen:\n%s", pid, orEmpty(r.Screen)), value: r}, nil
}

// invalidKeys returns the seed's error for unknown keys, or "".
func invalidKeys(keys []string) string {
	var bad []string
	for _, k := range keys {
		if !slices.Contains(specialKeys, k) {
			bad = append(bad, k)
		}
	}
	if bad == nil {
		return ""
	}
	return fmt.Sprintf("Error: Invalid special keys: %s. Valid keys are: %s", strings.Join(bad, ", "), strings.Join(specialKeys, ", "))
}

// seesInput reports whether the server can detect that a job waits for input; if it cannot, the condition would be an
// error.
func (f *front) seesInput() bool {
	switch f.engine.info.Capabilities.InputDetection.Tier {
	case schema.InputDetectionTierExact, schema.InputDetectionTierLikely:
		return slices.Contains(f.engine.info.Capabilities.Conditions, "input")
	}
	return false
}
