package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"shelld.dev/shelld/schema"
)

// This file has the tools of the design for Gemini CLI: run_shell_command, send_input, jobs and kill.

// defaultOutput is the maximum output in an answer of these tools, by default.
const defaultOutput = 16384

// patternTime is the time that send_input waits for its pattern.
const patternTime = 30

func (f *front) addGemini() {
	add[runShellParams, runShellResult](f, tool[runShellParams]{
		name:  "run_shell_command",
		title: "Run shell command",
		description: "Executes a shell command on a terminal of its own. Returns when the command has ended, when ai_callback_pattern is found in its output, or after ai_callback_delay seconds; in the latter cases it runs on. " +
			"The Handle (or the PID) that is returned is for send_input, read_shell, write_to_shell, jobs and kill. " +
			"For interactive tools (ed, python, gdb, mysql) set ai_callback_pattern to their prompt, e.g. '>>> '. Interactive commands and servers are welcome: nothing that is started is lost from sight.",
		defaults:    map[string]any{"ai_callback_delay": 5, "pattern_timeout": patternTime, "max_output_size": defaultOutput, "is_background": false},
		destructive: true,
		check: func(p runShellParams) string {
			if strings.TrimSpace(p.Command) == "" {
				return "Command cannot be empty."
			}
			return misfitPattern("ai_callback_pattern", p.Pattern)
		},
		run: runShellCommand,
	})
	add[sendInputParams, sendInputResult](f, tool[sendInputParams]{
		name:        "send_input",
		title:       "Send input",
		description: "Send input to a running background process started with run_shell_command. Use for interactive tools like ed, python REPL, gdb, mysql that require user input.",
		defaults:    map[string]any{"append_newline": true, "ai_callback_delay": 3},
		bounds:      map[string]float64{"handle": 1},
		ids:         []string{"handle"},
		destructive: true,
		check:       func(p sendInputParams) string { return misfitPattern("ai_callback_pattern", p.Pattern) },
		run:         sendInput,
	})
	add[struct{}, jobsResult](f, tool[struct{}]{
		name:        "jobs",
		title:       "Jobs",
		description: "List all currently running background processes, whichever tool has started them. Shows process details, duration, and status for job management.",
		readOnly:    true,
		closedWorld: true,
		run:         listJobs,
	})
	add[killParams, killResult](f, tool[killParams]{
		name:        "kill",
		title:       "Kill",
		description: "Terminate a running background process by its handle. Attempts graceful termination (SIGTERM) first, then forceful kill (SIGKILL) if needed.",
		bounds:      map[string]float64{"handle": 1},
		ids:         []string{"handle"},
		destructive: true,
		closedWorld: true,
		asks:        true,
		run:         killJob,
	})
}

type runShellParams struct {
	Command        string   `json:"command" jsonschema:"Exact command to execute, as bash -c gets it."`
	Description    string   `json:"description,omitempty" jsonschema:"Brief description of the command for the user."`
	DirPath        string   `json:"dir_path,omitempty" jsonschema:"The directory to run the command in, absolute or relative to the project root. Default: the project root."`
	Delay          float64  `json:"ai_callback_delay,omitempty" jsonschema:"Seconds before calling back to AI while the command runs (default: 5)."`
	Pattern        string   `json:"ai_callback_pattern,omitempty" jsonschema:"Optional: Pattern (ECMAScript regular expression) in the output that triggers immediate callback, e.g. 'ED> ', '>>> ', 'mysql> '. It sees the output as it is told: \\n is a line end, ^ and $ match at each line."`
	PatternTimeout float64  `json:"pattern_timeout,omitempty" jsonschema:"Seconds to wait for ai_callback_pattern (default: 30)."`
	MaxOutput      int64    `json:"max_output_size,omitempty" jsonschema:"Output truncation limit in bytes (default: 16384); of more, head and tail are kept."`
	Background     bool     `json:"is_background,omitempty" jsonschema:"Set to true to return at once and let the command run on."`
	WaitForOutput  *float64 `json:"wait_for_output_seconds,omitempty" jsonschema:"Seconds after which to return what came by then and let the command run on in the background, if it has not ended. Takes the place of ai_callback_delay. Default: off."`
}

type runShellResult struct {
	Handle          int64   `json:"handle" jsonschema:"The handle, for send_input, jobs and kill."`
	PID             int64   `json:"pid" jsonschema:"The process id; taken wherever a handle is, and for read_shell and write_to_shell."`
	Command         string  `json:"command"`
	Directory       string  `json:"directory" jsonschema:"The absolute directory in which it was started."`
	Output          string  `json:"output"`
	Running         bool    `json:"running" jsonschema:"Whether the command runs on."`
	PatternMatched  bool    `json:"patternMatched"`
	PatternFailed   bool    `json:"patternFailed,omitempty" jsonschema:"Matching was aborted, and so was the wait: the pattern takes too long on this output."`
	WaitingForInput bool    `json:"waitingForInput" jsonschema:"Whether it is known to wait for input."`
	ExitCode        *int64  `json:"exitCode" jsonschema:"null while it runs, and if a signal ended it."`
	Signal          *string `json:"signal"`
	Hint            string  `json:"hint,omitempty" jsonschema:"Why the command could not be run, with similar names."`
	BackgroundPIDs  []int64 `json:"backgroundPIDs" jsonschema:"Processes that it left running."`
	OutputFile      string  `json:"outputFile,omitempty" jsonschema:"The file with all of the output."`
}

func runShellCommand(ctx context.Context, c *call, p runShellParams) (reply, error) {
	start := schema.JobStartParams{Command: new(p.Command), Shell: c.front.shellOf()}
	if p.DirPath != "" {
		start.Cwd = new(p.DirPath)
	}
	if p.Description != "" {
		start.Description = new(p.Description)
	}
	if !p.Background {
		start.Wait = p.wait()
	}
	j, info, o, err := c.start(ctx, start)
	if err != nil {
		return reply{}, err
	}
	r := runShellResult{Handle: j.handle, PID: j.pid, Command: p.Command, Directory: info.Cwd, Running: true, BackgroundPIDs: []int64{}, OutputFile: outputFile(info, schema.StreamPty)}
	if o == nil {
		return reply{text: r.text(&p), value: r}, nil
	}
	r.Output = c.tell(ctx, j, o, telling{maxBytes: p.MaxOutput, echo: true})
	r.PatternMatched, r.PatternFailed = o.Reason == schema.OutcomeReasonPattern, o.Reason == schema.OutcomeReasonPatternFailed
	r.Running = running(o.Job.Status)
	r.WaitingForInput, _ = asking(o.Job.WaitingForInput)
	if !r.Running && o.Job.Exit != nil {
		r.ExitCode, r.Signal = o.Job.Exit.Code, o.Job.Exit.Signal
		r.Hint = hintText(c.hint(ctx, j, o.Job.Exit))
		r.BackgroundPIDs = c.background(ctx, j.handle, o.Job.Status)
	}
	return reply{text: r.text(&p), value: r}, nil
}

// wait returns the wait of run_shell_command.
func (p *runShellParams) wait() *schema.Wait {
	w := &schema.Wait{Until: []schema.Condition{}, MaxBytes: new(p.MaxOutput)}
	limit := p.Delay
	if p.Pattern != "" {
		w.Until = append(w.Until, linePatternOf(p.Pattern).condition())
		limit = p.PatternTimeout
	}
	if p.WaitForOutput != nil {
		limit = *p.WaitForOutput
	}
	w.TimeoutMs = millis(seconds(limit))
	return w
}

// text returns the answer for models, in the seeds' words.
func (r *runShellResult) text(p *runShellParams) string {
	lines := []string{
		fmt.Sprintf("Handle: %d", r.Handle),
		fmt.Sprintf("PID: %d", r.PID),
		"Command: " + p.Command,
		"Directory: " + or(p.DirPath, "(root)"),
		"Output: " + orEmpty(r.Output),
		"Error: " + orNone(r.Hint),
		"Exit Code: " + orNone(codeText(r.ExitCode)),
		"Signal: " + orNone(signalText(r.Signal)),
		"Background PIDs: " + orNone(numbers(r.BackgroundPIDs)),
	}
	if r.PatternFailed {
		lines = append(lines, "Pattern: "+patternGivenUp("ai_callback_pattern"))
	}
	switch {
	case r.Running && r.WaitingForInput:
		lines = append(lines, "Status: running, and waiting for input (send_input answers it)")
	case r.Running:
		lines = append(lines, "Status: running (send_input types into it, jobs lists it, kill ends it)")
	case len(r.BackgroundPIDs) > 0:
		lines = append(lines, "Status: completed, with background processes that run on (kill ends them)")
	default:
		lines = append(lines, "Status: completed")
	}
	return strings.Join(lines, "\n")
}

type sendInputParams struct {
	Handle        float64 `json:"handle" jsonschema:"Process handle returned from run_shell_command"`
	Input         string  `json:"input" jsonschema:"Text to send to the process. For simplicity, use append_newline parameter instead of manual \\n escaping."`
	AppendNewline bool    `json:"append_newline,omitempty" jsonschema:"Whether to automatically append a newline (\\n) to the input (default: true). Essential for interactive tools that require newlines to execute commands."`
	Delay         float64 `json:"ai_callback_delay,omitempty" jsonschema:"Seconds to wait before calling back to AI after sending input (default: 3). Use lower values for quick interactive responses."`
	Pattern       string  `json:"ai_callback_pattern,omitempty" jsonschema:"Optional: Pattern in stdout that triggers immediate callback after input. When detected, callback happens instantly. Essential for interactive sessions. Example for ed: 'ED> '. \\n is a line end, ^ and $ match at each line."`
}

type sendInputResult struct {
	Handle          int64   `json:"handle"`
	PID             int64   `json:"pid"`
	Output          string  `json:"output" jsonschema:"The new output: what the process wrote since its output was last returned, by any tool."`
	Running         bool    `json:"running"`
	PatternMatched  bool    `json:"patternMatched"`
	PatternFailed   bool    `json:"patternFailed,omitempty" jsonschema:"Matching was aborted, and so was the wait: the pattern takes too long on this output."`
	WaitingForInput bool    `json:"waitingForInput"`
	ExitCode        *int64  `json:"exitCode"`
	Signal          *string `json:"signal"`
}

func sendInput(ctx context.Context, c *call, p sendInputParams) (reply, error) {
	j, err := c.find(ctx, int64(p.Handle), false)
	if err != nil {
		return reply{}, err
	}
	if j == nil {
		return c.notRunning(ctx, int64(p.Handle), nil), nil
	}
	w := &schema.Wait{Until: []schema.Condition{}, MaxBytes: new(int64(defaultOutput)), TimeoutMs: millis(seconds(p.Delay))}
	if p.Pattern != "" {
		w.Until = append(w.Until, linePatternOf(p.Pattern).condition())
		w.TimeoutMs = millis(seconds(patternTime))
	}
	o, err := c.write(ctx, schema.JobWriteParams{Handle: j.id(), Input: new(p.Input), AppendNewline: new(p.AppendNewline), Wait: w})
	switch kindOf(err) {
	case "":
	case schema.KindJobExited, schema.KindJobNotFound:
		return c.notRunning(ctx, int64(p.Handle), j), nil
	}
	if err != nil {
		return reply{}, err
	}
	r := sendInputResult{
		Handle: j.handle, PID: j.pid, Running: running(o.Job.Status),
		Output:         c.tell(ctx, j, o, telling{maxBytes: defaultOutput, echo: true}),
		PatternMatched: o.Reason == schema.OutcomeReasonPattern, PatternFailed: o.Reason == schema.OutcomeReasonPatternFailed,
	}
	r.WaitingForInput, _ = asking(o.Job.WaitingForInput)
	text := r.Output
	if r.PatternFailed {
		text = strings.TrimRight(text, "\n") + "\n\n" + patternGivenUp("ai_callback_pattern")
	}
	if o.Job.Exit != nil {
		r.ExitCode, r.Signal = o.Job.Exit.Code, o.Job.Exit.Signal
		text = strings.TrimRight(text, "\n") + "\n\n" + howEnded(o.Job.Exit)
	}
	return reply{text: orEmpty(strings.TrimLeft(text, "\n")), value: r}, nil
}

// patternGivenUp returns the text for a wait that has ended early because its pattern was given up: the pattern was not
// found, and the command has not ended. param is the tool's name for the pattern.
func patternGivenUp(param string) string {
	return "the wait has ended early: matching " + param + " was aborted, because it takes too long on this output (like a nested repetition, such as (a+)+$), or the output cannot be read. " +
		"Nothing was found, and the command was not ended. Give a simpler pattern to the next call: plain text, or fewer * and +."
}

type jobsResult struct {
	Jobs []jobsEntry `json:"jobs"`
}

type jobsEntry struct {
	Handle         int64   `json:"handle"`
	PID            int64   `json:"pid"`
	SessionID      string  `json:"sessionId,omitempty" jsonschema:"Set if CliSession started it."`
	Command        string  `json:"command"`
	Description    string  `json:"description,omitempty"`
	Directory      string  `json:"directory"`
	Duration       int64   `json:"duration" jsonschema:"Seconds since its start."`
	Status         string  `json:"status" jsonschema:"running, stopped, or background: the command has ended, but processes that it started run on."`
	BackgroundPIDs []int64 `json:"backgroundPIDs"`
}

func listJobs(ctx context.Context, c *call, _ struct{}) (reply, error) {
	r, err := c.jobs(ctx)
	if err != nil {
		return reply{}, err
	}
	if len(r.Jobs) == 0 {
		return reply{text: "No running background processes.", value: r}, nil
	}
	blocks := []string{"Running Processes:"}
	for _, e := range r.Jobs {
		blocks = append(blocks, e.text())
	}
	return reply{text: strings.Join(blocks, "\n\n"), value: r}, nil
}

// jobs returns the jobs of which a process is running.
func (c *call) jobs(ctx context.Context) (jobsResult, error) {
	r := jobsResult{Jobs: []jobsEntry{}}
	alive, err := c.alive(ctx)
	if err != nil {
		return r, err
	}
	for _, j := range alive {
		e := jobsEntry{
			Handle: j.Handle, PID: j.PID, SessionID: c.front.jobs.sessionOf(j.Handle), Command: commandOf(&j), Directory: j.Cwd,
			Duration: j.DurationMs / 1000, Status: string(j.Status), BackgroundPIDs: []int64{},
		}
		if j.Description != nil {
			e.Description = *j.Description
		}
		if !running(j.Status) {
			e.Status, e.Duration, e.BackgroundPIDs = "background", secondsSince(j.StartedAt, e.Duration), pids(j.Background)
		}
		r.Jobs = append(r.Jobs, e)
	}
	return r, nil
}

// secondsSince returns the seconds since the start of a job that has left processes after the end of its command: the
// server counts only to the end of the command. ended is that count, returned if startedAt cannot be parsed.
func secondsSince(startedAt string, ended int64) int64 {
	started, err := time.Parse(time.RFC3339Nano, startedAt)
	if err != nil {
		return ended
	}
	return max(int64(time.Since(started)/time.Second), ended)
}

func (e *jobsEntry) text() string {
	lines := []string{
		fmt.Sprintf("Handle: %d", e.Handle),
		fmt.Sprintf("PID: %d", e.PID),
		"Command: " + e.Command,
		fmt.Sprintf("Duration: %ds", e.Duration),
	}
	if e.Status == "background" {
		return strings.Join(append(lines, "Status: running", "Background PIDs: "+orNone(numbers(e.BackgroundPIDs))), "\n")
	}
	return strings.Join(append(lines, "Status: "+e.Status), "\n")
}

type killParams struct {
	Handle float64 `json:"handle" jsonschema:"Handle of the running process to terminate (obtained from run_shell_command or jobs)"`
}

type killResult struct {
	Handle     int64  `json:"handle"`
	Terminated bool   `json:"terminated" jsonschema:"Whether none of its processes is alive."`
	Was        string `json:"was" jsonschema:"running, or ended: there was nothing to terminate."`
	Killed     int    `json:"killed" jsonschema:"How many processes were ended."`
}

// killGrace is the time, in milliseconds, between SIGTERM and SIGKILL, as in the seed.
const killGrace = 200

func killJob(ctx context.Context, c *call, p killParams) (reply, error) {
	n := int64(p.Handle)
	j, err := c.find(ctx, n, false)
	if err != nil {
		return reply{}, err
	}
	switch {
	case j != nil || c.front.jobs.given(n):
	case livesElsewhere(n):
		return reply{text: fmt.Sprintf("Process %d does not belong to this server, which only ends what it has started: nothing was done.\n%s", n, c.liveText(ctx)), failed: true}, nil
	case !c.front.jobs.named(n):
		return reply{text: fmt.Sprintf("There is and was no process with the handle or PID %d: nothing was done.\n%s", n, c.liveText(ctx)), failed: true}, nil
	}
	ended := reply{text: fmt.Sprintf("Process %d is not running (already terminated).", n), value: killResult{Handle: n, Terminated: true, Was: "ended"}}
	if j == nil {
		return ended, nil
	}
	var r schema.JobKillResult
	err = c.do(ctx, "job/kill", schema.JobKillParams{Handle: j.id(), GraceMs: new(int64(killGrace))}, &r)
	switch {
	case kindOf(err) == schema.KindJobNotFound || err == nil && r.AlreadyClosed != nil && *r.AlreadyClosed:
		return ended, nil
	case err != nil && c.unanswered() == nil:
		return reply{text: fmt.Sprintf("Failed to terminate process %d: %s", n, c.explain(err)), failed: true}, nil
	case err != nil:
		return reply{}, err
	case len(r.Survivors) > 0:
		return reply{text: fmt.Sprintf("Failed to terminate process %d: %s", n, survivorsText(r.Survivors)), failed: true}, nil
	}
	j.reading.Lock()
	c.tellsEnd(j)
	j.reading.Unlock()
	text := fmt.Sprintf("Process %d terminated successfully.", n)
	if n != j.handle && n != j.pid {
		text += fmt.Sprintf(" It belonged to job %d, which was ended as a whole.", j.handle)
	}
	return reply{
		text:  text,
		value: killResult{Handle: j.handle, Terminated: true, Was: "running", Killed: len(r.Killed)},
	}, nil
}

func survivorsText(survivors []schema.Survivor) string {
	words := make([]string, len(survivors))
	for i, s := range survivors {
		words[i] = fmt.Sprintf("%d (%s) is alive: %s", s.PID, s.Command, s.Why)
	}
	return strings.Join(words, "; ")
}
