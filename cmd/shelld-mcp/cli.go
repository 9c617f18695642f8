package main

import (
	"context"
	"path/filepath"
	"strings"

	"shelld.dev/shelld/schema"
)

// This file has CliGetPlatform and CliRun, of the CLI Tools Specification. Its other tools have a file each.

func (f *front) addCli() {
	add[struct{}, cliPlatform](f, tool[struct{}]{
		name:  "CliGetPlatform",
		title: "Shell environment",
		description: `Returns shell environment information. Call this first to understand:
- Which shell is available (bash, pwsh, cmd, sh)
- Platform-specific path separators
- How to chain commands
- How to reference environment variables

Use this before CliRun to write compatible commands.`,
		readOnly:    true,
		closedWorld: true,
		run:         cliGetPlatform,
	})
	add[cliRunParams, cliRunResult](f, tool[cliRunParams]{
		name:  "CliRun",
		title: "Run command",
		description: `Executes a command and returns the output. Best for quick operations.

Parameters:
- command: The shell command to run
- workingDirectory: Optional directory to run in
- timeout: Max seconds to wait (default: 30)
- captureStderr: Include error output (default: true)

Use cases:
- List files: command="ls -la"
- Run tests: command="npm test"
- Check git status: command="git status"
- Compile code: command="dotnet build"

For commands that take longer than 30 seconds, use CliSession instead.

After text edits, use this to:
1. Validate changes (linting, type checking)
2. Run tests to confirm fix
3. Format files (prettier, gofmt)`,
		defaults:    map[string]any{"timeout": 30, "captureStderr": true},
		destructive: true,
		check: func(p cliRunParams) string {
			if strings.TrimSpace(p.Command) == "" {
				return "command is empty: give a command line for the shell."
			}
			return ""
		},
		run: cliRun,
	})
	f.addCliSession()
	f.addCliEnv()
}

type cliPlatform struct {
	Platform          string               `json:"platform"`
	Shell             string               `json:"shell"`
	ShellPath         string               `json:"shellPath"`
	PathSeparator     string               `json:"pathSeparator"`
	CommandSeparator  string               `json:"commandSeparator"`
	EnvironmentPrefix string               `json:"environmentPrefix"`
	Features          schema.ShellFeatures `json:"features"`
}

func cliGetPlatform(ctx context.Context, c *call, _ struct{}) (reply, error) {
	var p schema.PlatformGetResult
	if err := c.do(ctx, "platform/get", schema.PlatformGetParams{}, &p); err != nil {
		return reply{}, err
	}
	r := cliPlatform{Platform: p.Platform, Shell: p.Shell, ShellPath: p.ShellPath, PathSeparator: p.PathSeparator}
	if p.CommandSeparator != nil {
		r.CommandSeparator = *p.CommandSeparator
	}
	if p.EnvironmentPrefix != nil {
		r.EnvironmentPrefix = *p.EnvironmentPrefix
	}
	if p.Features != nil {
		r.Features = *p.Features
	}
	return reply{value: r}, nil
}

type cliRunParams struct {
	Command          string  `json:"command" jsonschema:"The command to execute"`
	WorkingDirectory string  `json:"workingDirectory,omitempty" jsonschema:"Directory to run command in (default: current)"`
	Timeout          float64 `json:"timeout,omitempty" jsonschema:"Max seconds to wait (default: 30)"`
	CaptureStderr    bool    `json:"captureStderr,omitempty" jsonschema:"Include stderr in output (default: true)"`
}

type cliRunResult struct {
	Status           string  `json:"status" jsonschema:"success: it exited with code 0. error: it ended otherwise. timeout: it did not end in time, and was terminated."`
	ExitCode         *int64  `json:"exitCode"`
	Signal           string  `json:"signal,omitempty" jsonschema:"The signal that ended it."`
	Stdout           string  `json:"stdout"`
	Stderr           string  `json:"stderr"`
	Duration         float64 `json:"duration" jsonschema:"Seconds."`
	WorkingDirectory string  `json:"workingDirectory"`
	Suggestion       string  `json:"suggestion,omitempty" jsonschema:"What to do about it."`
	BackgroundPIDs   []int64 `json:"backgroundPIDs,omitempty" jsonschema:"Processes that it left running."`
}

// timeoutSuggestion is the seed's text.
const timeoutSuggestion = "Command did not complete. Use CliSession for long-running commands."

func cliRun(ctx context.Context, c *call, p cliRunParams) (reply, error) {
	run := schema.JobRunParams{
		Command: new(p.Command), Profile: new(c.front.cfg.profile), TimeoutMs: millis(seconds(p.Timeout)), Format: new(schema.RunFormatPlain),
		Events: runEvents,
	}
	if p.WorkingDirectory != "" {
		run.Cwd = new(p.WorkingDirectory)
	}
	if !p.CaptureStderr {
		run.Stderr = new(schema.StderrTargetDiscard)
	}
	var o schema.JobRunResult
	if err := c.do(ctx, "job/run", run, &o); err != nil {
		return reply{}, err
	}
	r := cliRunResult{Status: "success", Duration: float64(o.DurationMs) / 1000, WorkingDirectory: p.WorkingDirectory}
	if !filepath.IsAbs(p.WorkingDirectory) { // The server resolves it in the same way.
		r.WorkingDirectory = filepath.Join(c.front.root(), p.WorkingDirectory)
	}
	r.Stdout, r.Stderr = c.runStreams(ctx, &o)
	r.BackgroundPIDs = c.leftBehind(ctx, &o.Job)
	if o.Exit != nil && !o.TimedOut {
		r.ExitCode, r.Signal = o.Exit.Code, signalText(o.Exit.Signal)
	}
	switch {
	case o.TimedOut:
		r.Status, r.Suggestion = "timeout", timeoutSuggestion
		if waits, prompt := asking(o.WaitingForInput); waits {
			r.Suggestion = strings.TrimSpace("The command was waiting for input: "+prompt) + ". CliRun gives none: use CliSession, and answer with CliWrite."
		}
	case r.ExitCode == nil || *r.ExitCode != 0:
		r.Status, r.Suggestion = "error", hintText(o.Hint)
	}
	return reply{value: r}, nil
}
