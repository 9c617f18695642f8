package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/schema"
)

// orEmpty and orNone return the seeds' words for an empty text.
func orEmpty(s string) string { return or(s, "(empty)") }

func orNone(s string) string { return or(s, "(none)") }

// legible makes a text safe for a host and its model, which may show it on a terminal: it replaces control characters,
// except line ends and tabs, with names. Output contains none any more, but commands, names and titles may.
func legible(text string) string { return base.VisibleControls(text, "\n\t") }

func or(s, nothing string) string {
	if s == "" {
		return nothing
	}
	return s
}

func codeText(code *int64) string {
	if code == nil {
		return ""
	}
	return strconv.FormatInt(*code, 10)
}

func signalText(signal *string) string {
	if signal == nil {
		return ""
	}
	return *signal
}

func numbers(ns []int64) string {
	words := make([]string, len(ns))
	for i, n := range ns {
		words[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(words, ", ")
}

func pids(ps []schema.Process) []int64 {
	out := make([]int64, len(ps))
	for i, p := range ps {
		out[i] = p.PID
	}
	return out
}

// howEnded describes how a command has ended.
func howEnded(e *schema.Exit) string {
	switch {
	case e == nil:
		return ""
	case e.Code != nil && e.Reason == schema.ExitReasonKilled:
		return fmt.Sprintf("It was ended, and exited with code %d.", *e.Code)
	case e.Code != nil:
		return fmt.Sprintf("It has exited with code %d.", *e.Code)
	case e.Signal != nil && e.Reason == schema.ExitReasonKilled:
		return fmt.Sprintf("It was ended, with %s.", *e.Signal)
	case e.Signal != nil:
		return fmt.Sprintf("It has ended with %s.", *e.Signal)
	}
	return "How it ended is not known."
}

// hintText explains why a shell could not run a command, and suggests a remedy.
func hintText(h *schema.Hint) string {
	if h == nil {
		return ""
	}
	name := "the command"
	if h.Command != nil {
		name = *h.Command
	}
	switch {
	case h.Kind == schema.HintKindPermissionDenied && h.Path != nil:
		return fmt.Sprintf("%s cannot be executed: check its permissions and its file type.", *h.Path)
	case h.Kind == schema.HintKindPermissionDenied:
		return fmt.Sprintf("%s cannot be executed: check its permissions and its file type.", name)
	case len(h.Suggestions) > 0:
		return fmt.Sprintf("%s was not found. Similar names: %s.", name, strings.Join(h.Suggestions, ", "))
	}
	return fmt.Sprintf("%s was not found, and no similar name either.", name)
}

// hint returns the reason if a shell could not run a job's command, by its exit code (126 or 127).
func (c *call) hint(ctx context.Context, j *job, e *schema.Exit) *schema.Hint {
	if !couldNotRun(e) {
		return nil
	}
	// The event follows the output that it belongs to, so it may come after the answer.
	select {
	case <-j.exited:
		return j.hint
	case <-c.gone():
	case <-ctx.Done():
	}
	return nil
}

// couldNotRun reports whether an exit, which may be nil, has a code with which a shell says that it could not run a command.
func couldNotRun(e *schema.Exit) bool {
	return e != nil && e.Code != nil && (*e.Code == 126 || *e.Code == 127)
}

// gone returns a channel that is closed when the connection of a call that has made a request is lost.
func (c *call) gone() <-chan struct{} {
	return c.connection().client.Done()
}

// asking reports whether a job does nothing but wait for input, and returns the prompt that it shows.
func asking(w *schema.WaitingForInput) (bool, string) {
	if w == nil || !w.Waiting || w.State == nil || *w.State != schema.InputStateReading {
		return false, ""
	}
	if w.Prompt == nil {
		return true, ""
	}
	return true, *w.Prompt
}

func running(s schema.Status) bool {
	return s == schema.StatusRunning || s == schema.StatusStopped
}

// from returns the from parameter of a wait.
func from(offset int64) json.RawMessage { return strconv.AppendInt(nil, offset, 10) }

var fromStart = json.RawMessage(`"start"`)

// onInput is the condition that a job waits for input.
var onInput = schema.Condition{Input: json.RawMessage("true")}
