package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// This file has the compact set: the functions of the seeds' fourteen tools in four, designed for the way models work.
// One call starts or types, waits for the given condition, and returns the new output.

func (f *front) addCompact() {
	add[shellParams, shellResult](f, tool[shellParams]{
		name:  "shell",
		title: "Shell",
		description: `Starts a command on a terminal of its own, or types into a running job, then waits, and returns the new output.

- command starts a job; job (its number, pid or name) continues one. With neither, a shell is started.
- input is typed, with Enter after it unless enter is false; keys are pressed after it (Enter, Tab, Up, Ctrl-C, F1, Alt-x …).
- wait says what to wait for. "input" (default): until the program waits for input or has ended. "exit": until it has ended. "quiet": until it has written nothing for quiet_seconds. "none": not at all. pattern and port also end the wait: when the pattern is in the new output, or when the job listens on the port.
- After timeout_seconds the answer comes in any case, and the job runs on.

If the program asks something, the first line of the answer says "waiting for input" with its question. Do not poll: call again with job to continue waiting.`,
		defaults:    map[string]any{"enter": true, "wait": "input", "quiet_seconds": 1, "timeout_seconds": 30, "max_bytes": defaultOutput, "screen": "none"},
		names:       []string{"job"},
		enums:       map[string][]string{"wait": shellWaits, "screen": shellScreens},
		destructive: true,
		check:       checkShell,
		run:         shellTool,
	})
	add[shellOutputParams, shellOutputResult](f, tool[shellOutputParams]{
		name:        "shell_output",
		title:       "Shell output",
		description: "Reads the output of a job, also after its end; shell still returns the same as new. With find it searches (an ECMAScript regular expression, line by line, or across lines if it has \\n) and returns the lines, a match with its byte offset in front; otherwise it reads from the offset from: a byte offset or, if negative, so many bytes before the end (default: the last max_bytes).",
		defaults:    map[string]any{"max_bytes": defaultOutput, "context": 2, "max_matches": 20},
		bounds:      map[string]float64{"max_bytes": 4, "max_matches": 1},
		signed:      []string{"from"},
		names:       []string{"job"},
		readOnly:    true,
		closedWorld: true,
		check: func(p shellOutputParams) string {
			if p.Find != "" && p.From != nil {
				return "find searches all output, and from reads at an offset: give one of them."
			}
			return misfitPattern("find", p.Find)
		},
		run: shellOutput,
	})
	add[shellJobsParams, shellJobsResult](f, tool[shellJobsParams]{
		name:        "shell_jobs",
		title:       "Shell jobs",
		description: "Lists the running jobs, by number and name.",
		defaults:    map[string]any{"ended": false},
		readOnly:    true,
		closedWorld: true,
		run:         shellJobs,
	})
	add[shellEndParams, shellEndResult](f, tool[shellEndParams]{
		name:        "shell_end",
		title:       "End job",
		description: "Ends a job and everything that it has started: SIGTERM, and after grace_seconds SIGKILL. Returns the new output when none of its processes is left.",
		defaults:    map[string]any{"grace_seconds": 5},
		names:       []string{"job"},
		destructive: true,
		closedWorld: true,
		run:         shellEnd,
	})
}

var (
	shellWaits   = []string{"input", "exit", "quiet", "none"}
	shellScreens = []string{"none", "text", "picture"}
)

type shellParams struct {
	Command     string            `json:"command,omitempty" jsonschema:"A command line to start."`
	Job         string            `json:"job,omitempty" jsonschema:"The job to continue: its number, pid or name."`
	Input       *string           `json:"input,omitempty" jsonschema:"Text to type."`
	Enter       bool              `json:"enter,omitempty" jsonschema:"Whether Enter follows the input (default: true)."`
	Keys        []string          `json:"keys,omitempty" jsonschema:"Keys to press after the input, in order, e.g. [\"Up\", \"Enter\"] or [\"Ctrl-C\"]."`
	Wait        string            `json:"wait,omitempty" jsonschema:"What to wait for: input, exit, quiet or none (default: input)."`
	Pattern     string            `json:"pattern,omitempty" jsonschema:"An ECMAScript regular expression that ends the wait when the new output matches it; \\n is a line end, ^ and $ match at each line."`
	Port        *int64            `json:"port,omitempty" jsonschema:"A TCP port that ends the wait when the job listens on it; 0 for any."`
	Quiet       float64           `json:"quiet_seconds,omitempty" jsonschema:"For wait quiet: how long the job must write nothing (default: 1)."`
	Timeout     float64           `json:"timeout_seconds,omitempty" jsonschema:"When to answer in any case (default: 30)."`
	MaxBytes    int64             `json:"max_bytes,omitempty" jsonschema:"Maximum size of the output; of more, head and tail are kept (default: 16384)."`
	Screen      string            `json:"screen,omitempty" jsonschema:"The terminal's screen, instead of the new output: text, picture or none (default: none)."`
	Cwd         string            `json:"cwd,omitempty" jsonschema:"Where to start the command, absolute or relative to the project root."`
	Env         map[string]string `json:"env,omitempty" jsonschema:"Variables for the command."`
	Name        string            `json:"name,omitempty" jsonschema:"A name for the job, to be used as job."`
	Description string            `json:"description,omitempty" jsonschema:"What the command is for, for the user."`
}

type shellResult struct {
	Job             int64   `json:"job"`
	PID             int64   `json:"pid"`
	Status          string  `json:"status" jsonschema:"running, stopped (by a signal), background (the command has ended, but processes that it started run on) or ended."`
	EndedBy         string  `json:"endedBy" jsonschema:"What ended the wait: input, listening (it takes input while it does other things, and was silent for a while), exit, pattern, patternFailed (matching was aborted), port, portInUse, quiet, timeout or none."`
	Output          string  `json:"output" jsonschema:"The new output."`
	Screen          string  `json:"screen,omitempty"`
	WaitingForInput bool    `json:"waitingForInput"`
	Question        string  `json:"question,omitempty" jsonschema:"The line on which the program waits for input."`
	ExitCode        *int64  `json:"exitCode"`
	Signal          *string `json:"signal"`
	Hint            string  `json:"hint,omitempty" jsonschema:"Why the command could not be run, with similar names; which process has the port."`
	BackgroundPIDs  []int64 `json:"backgroundPIDs"`
	OutputFile      string  `json:"outputFile,omitempty" jsonschema:"The file with all of the output."`
}

func checkShell(p shellParams) string {
	switch {
	case !slices.Contains(shellWaits, p.Wait):
		return fmt.Sprintf("wait is one of %s, not %q.", strings.Join(shellWaits, ", "), p.Wait)
	case !slices.Contains(shellScreens, p.Screen):
		return fmt.Sprintf("screen is one of %s, not %q.", strings.Join(shellScreens, ", "), p.Screen)
	case p.Job != "" && p.Command != "":
		return "command starts a new job, and job continues one: give one of them. To run a command in a job that is a shell, give it as input."
	case p.Job != "" && (p.Cwd != "" || p.Env != nil || p.Name != ""):
		return "cwd, env and name are only for a new command; the job is already running."
	case p.Name != "" && !jobName.MatchString(p.Name):
		return fmt.Sprintf("name %q is invalid: it must begin with a letter, and have up to 64 letters, digits, dots, dashes and underscores.", p.Name)
	}
	return misfitPattern("pattern", p.Pattern)
}

func shellTool(ctx context.Context, c *call, p shellParams) (reply, error) {
	var j *job
	var info *schema.JobInfo
	var o *schema.Outcome
	var began int64
	var listens bool
	var err error
	end := time.Now().Add(seconds(p.Timeout))
	if p.Job == "" {
		j, info, o, err = c.shellStart(ctx, &p)
	} else if j, err = c.namedJob(ctx, p.Job); err == nil {
		began = j.untold()
		o, err = c.shellWait(ctx, j, began, &p)
	}
	if err == nil {
		o, listens, err = c.settled(ctx, j, o, began, p.MaxBytes, end)
	}
	if err == nil && info == nil {
		info, err = c.get(ctx, j.handle)
	}
	if err != nil {
		return reply{}, err
	}
	r := shellResult{Job: j.handle, PID: j.pid, EndedBy: endedBy(o, &p), OutputFile: outputFile(info, schema.StreamPty), BackgroundPIDs: []int64{}}
	if listens {
		r.EndedBy = "listening"
	}
	switch {
	case p.Screen != "none":
	case p.types():
		r.Output = c.tellUntold(ctx, j, telling{maxBytes: p.MaxBytes})
	default:
		r.Output = c.tell(ctx, j, o, telling{maxBytes: p.MaxBytes})
	}
	c.describe(ctx, j, o, &r)
	if r.EndedBy == string(schema.OutcomeReasonPortInUse) {
		r.Hint = portOwner(o.Match)
	}
	return c.shellReply(ctx, j, &p, &r)
}

// shellStart starts a job, types the input, and waits.
func (c *call) shellStart(ctx context.Context, p *shellParams) (*job, *schema.JobInfo, *schema.Outcome, error) {
	start := schema.JobStartParams{Shell: c.front.shellOf()}
	for to, value := range map[**string]string{&start.Command: p.Command, &start.Cwd: p.Cwd, &start.Name: p.Name, &start.Description: p.Description} {
		if value != "" {
			*to = new(value)
		}
	}
	for name, value := range p.Env {
		if start.Env == nil {
			start.Env = map[string]*string{}
		}
		start.Env[name] = new(value)
	}
	if !p.types() {
		start.Wait = &schema.Wait{Until: c.front.shellUntil(p), TimeoutMs: p.limit(), MaxBytes: new(p.MaxBytes)}
		return c.start(ctx, start)
	}
	j, info, _, err := c.start(ctx, start)
	if err != nil {
		return nil, nil, nil, err
	}
	o, err := c.shellWait(ctx, j, 0, p)
	if err != nil {
		c.takeBack(j.handle) // The model does not learn of this job.
	}
	return j, info, o, err
}

// types reports whether the call types something.
func (p *shellParams) types() bool { return p.Input != nil || len(p.Keys) > 0 }

// limit returns the maximum time of the wait.
func (p *shellParams) limit() schema.Nullable[int64] {
	if p.Wait == "none" && p.Pattern == "" && p.Port == nil {
		return schema.ValueOf(int64(0))
	}
	return millis(seconds(p.Timeout))
}

// shellWait types the input, if there is any, and waits.
func (c *call) shellWait(ctx context.Context, j *job, began int64, p *shellParams) (*schema.Outcome, error) {
	until := c.front.shellUntil(p)
	if !p.types() {
		return c.wait(ctx, schema.JobWaitParams{Handle: j.id(), From: from(began), Until: until, TimeoutMs: p.limit(), MaxBytes: new(p.MaxBytes)})
	}
	// The wait counts from the write: a pattern is for the response, not for earlier output, even if that is unread.
	w := schema.JobWriteParams{Handle: j.id(), Wait: &schema.Wait{Until: until, TimeoutMs: p.limit(), MaxBytes: new(int64(0))}}
	if p.Input != nil {
		w.Send = append(w.Send, schema.SendItem{Text: p.Input})
		if p.Enter {
			w.Send = append(w.Send, schema.SendItem{Key: new("Enter")})
		}
	}
	for _, key := range p.Keys {
		w.Send = append(w.Send, schema.SendItem{Key: new(key)})
	}
	return c.write(ctx, w)
}

// shellUntil returns the conditions of a wait. The end of the command also ends every wait.
func (f *front) shellUntil(p *shellParams) []schema.Condition {
	until := []schema.Condition{}
	if p.Pattern != "" {
		until = append(until, linePatternOf(p.Pattern).condition())
	}
	if p.Port != nil {
		until = append(until, schema.Condition{Port: p.Port})
	}
	switch p.Wait {
	case "input":
		until = append(until, f.untilInput()...)
	case "quiet":
		until = append(until, schema.Condition{QuietMs: new(seconds(p.Quiet).Milliseconds())})
	}
	return until
}

// portOwner returns a sentence about the process that occupies the awaited port, or "" if it is unknown.
func portOwner(m *schema.Match) string {
	if m == nil || m.Port == nil || m.PID == nil {
		return ""
	}
	text := fmt.Sprintf("Port %d is taken by process %d", *m.Port, *m.PID)
	if m.Command != nil {
		text += ": " + *m.Command
	}
	return text
}

// endedBy returns the reason why a wait has ended, in the words of the parameters.
func endedBy(o *schema.Outcome, p *shellParams) string {
	switch {
	case o.Reason == schema.OutcomeReasonQuietMs:
		return "quiet"
	case o.Reason == schema.OutcomeReasonTimeout && p.Wait == "none":
		return "none"
	}
	return string(o.Reason)
}

// describe sets the state of the job at the end of the wait.
func (c *call) describe(ctx context.Context, j *job, o *schema.Outcome, r *shellResult) {
	r.WaitingForInput, r.Question = asking(o.Job.WaitingForInput)
	r.Status = string(o.Job.Status)
	if o.Job.Exit == nil {
		return
	}
	r.Status = "ended"
	r.ExitCode, r.Signal = o.Job.Exit.Code, o.Job.Exit.Signal
	r.Hint = hintText(c.hint(ctx, j, o.Job.Exit))
	if r.BackgroundPIDs = c.background(ctx, j.handle, o.Job.Status); len(r.BackgroundPIDs) > 0 {
		r.Status = "background"
	}
}

// shellReply adds the screen and the text.
func (c *call) shellReply(ctx context.Context, j *job, p *shellParams, r *shellResult) (reply, error) {
	out := reply{value: r}
	if p.Screen != "none" {
		s, err := c.screen(ctx, j.handle, schema.ScreenFormatText)
		if err != nil {
			return reply{}, err
		}
		r.Screen = screenText(s.Lines)
	}
	if p.Screen == "picture" {
		s, err := c.screen(ctx, j.handle, schema.ScreenFormatPng)
		if err != nil {
			return reply{}, err
		}
		if s.Png == nil {
			return reply{}, errors.New("the server sent no picture: ask for the screen as text")
		}
		png, err := base64.StdEncoding.DecodeString(*s.Png)
		if err != nil {
			return reply{}, fmt.Errorf("the picture cannot be read: %w", err)
		}
		out.more = []mcp.Content{&mcp.ImageContent{Data: png, MIMEType: "image/png"}}
	}
	out.text = r.text(p)
	return out, nil
}

// text returns the answer for models: one line with the state, and the output.
func (r *shellResult) text(p *shellParams) string {
	words := []string{fmt.Sprintf("job %d", r.Job), r.Status}
	switch {
	case r.ExitCode != nil:
		words = append(words, fmt.Sprintf("exit code %d", *r.ExitCode))
	case r.Signal != nil:
		words = append(words, *r.Signal)
	case r.WaitingForInput && r.Question != "":
		words = append(words, "waiting for input: "+r.Question)
	case r.WaitingForInput:
		words = append(words, "waiting for input")
	case r.EndedBy == "timeout":
		words = append(words, fmt.Sprintf("still running after %v", time.Duration(p.Timeout*float64(time.Second))))
	default:
		words = append(words, r.EndedBy)
	}
	if len(r.BackgroundPIDs) > 0 {
		words = append(words, "background pids "+numbers(r.BackgroundPIDs))
	}
	head := "[" + strings.Join(words, ", ") + "]"
	if r.EndedBy == string(schema.OutcomeReasonPatternFailed) {
		head += "\n" + patternGivenUp("pattern")
	}
	if r.Hint != "" {
		head += "\n" + r.Hint
	}
	switch {
	case p.Screen != "none":
		return head + "\n" + orEmpty(r.Screen)
	case r.Output == "":
		return head + "\n(no new output)"
	}
	return head + "\n" + r.Output
}

type shellOutputParams struct {
	Job        string `json:"job" jsonschema:"The job: its number, pid or name."`
	From       *int64 `json:"from,omitempty" jsonschema:"Where to begin: a byte offset or, if negative, so many bytes before the end. Default: the last max_bytes."`
	MaxBytes   int64  `json:"max_bytes,omitempty" jsonschema:"Maximum size of the output (default: 16384)."`
	Find       string `json:"find,omitempty" jsonschema:"Search for this ECMAScript regular expression instead of reading."`
	Context    int64  `json:"context,omitempty" jsonschema:"For find: how many lines before and after (default: 2)."`
	MaxMatches int64  `json:"max_matches,omitempty" jsonschema:"For find: how many matches (default: 20)."`
}

type shellOutputResult struct {
	Job        int64       `json:"job"`
	Output     string      `json:"output,omitempty"`
	Offset     int64       `json:"offset,omitempty" jsonschema:"Offset of the output."`
	NextOffset int64       `json:"nextOffset,omitempty" jsonschema:"The from of the next read."`
	HasMore    bool        `json:"hasMore,omitempty"`
	Matches    []lineMatch `json:"matches,omitempty"`
	Truncated  bool        `json:"truncated,omitempty" jsonschema:"There may be more matches."`
}

type lineMatch struct {
	Offset int64    `json:"offset" jsonschema:"Offset of the match, for from."`
	Line   string   `json:"line"`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

func shellOutput(ctx context.Context, c *call, p shellOutputParams) (reply, error) {
	j, err := c.namedJob(ctx, p.Job)
	if err != nil {
		return reply{}, err
	}
	if p.Find != "" {
		return c.searchOutput(ctx, j, &p)
	}
	read := schema.JobReadParams{Handle: j.id(), Offset: new(-p.MaxBytes), MaxBytes: new(p.MaxBytes), Format: new(schema.ReadFormatPlain)}
	if p.From != nil {
		read.Offset = p.From
	}
	var o schema.JobReadResult
	if err = c.do(ctx, "job/read", read, &o); err != nil {
		return reply{}, err
	}
	r := shellOutputResult{Job: j.handle, Offset: o.Offset, NextOffset: o.NextOffset, HasMore: o.HasMore}
	if o.Gap != nil {
		r.Output = fmt.Sprintf("[... %d bytes are no longer kept ...]\n", o.Gap.To-o.Gap.From)
	}
	if o.Text != nil {
		r.Output += *o.Text
	}
	text := r.Output
	if r.HasMore {
		text += fmt.Sprintf("\n[there is more: continue with from=%d]", r.NextOffset)
	}
	return reply{text: orEmpty(text), value: r}, nil
}

func (c *call) searchOutput(ctx context.Context, j *job, p *shellOutputParams) (reply, error) {
	var o schema.JobSearchResult
	search := schema.JobSearchParams{Handle: j.id(), Pattern: new(p.Find), Context: new(p.Context), MaxMatches: new(p.MaxMatches), MaxBytes: new(p.MaxBytes)}
	overLines := func() {
		search.Pattern, search.Flags, search.Multiline = new(linePatternOf(p.Find).text), new(perLine), new(true)
	}
	if linePatternOf(p.Find).breaks {
		overLines()
	}
	err := c.do(ctx, "job/search", search, &o)
	if kindOf(err) == schema.KindInvalidParams && search.Multiline == nil {
		// Other patterns, such as [^], may match across lines too, and only the server knows which. If another
		// parameter is wrong, the second request returns the same error again.
		overLines()
		err = c.do(ctx, "job/search", search, &o)
	}
	if err != nil {
		return reply{}, err
	}
	r := shellOutputResult{Job: j.handle, Truncated: o.Truncated, Matches: []lineMatch{}}
	var b strings.Builder
	for i, m := range o.Matches {
		r.Matches = append(r.Matches, lineMatch{Offset: m.Offset, Line: m.Line, Before: m.Before, After: m.After})
		if i > 0 && p.Context > 0 {
			b.WriteString("--\n")
		}
		for _, line := range m.Before {
			b.WriteString("  " + line + "\n")
		}
		fmt.Fprintf(&b, "%d> %s\n", m.Offset, m.Line)
		for _, line := range m.After {
			b.WriteString("  " + line + "\n")
		}
	}
	if len(r.Matches) == 0 {
		b.WriteString("Nothing was found.")
	}
	if r.Truncated {
		b.WriteString("[there may be more matches: ask for more with max_matches and max_bytes]")
	}
	return reply{text: b.String(), value: r}, nil
}

type shellEndParams struct {
	Job   string  `json:"job" jsonschema:"The job: its number, pid or name."`
	Grace float64 `json:"grace_seconds,omitempty" jsonschema:"Seconds between SIGTERM and SIGKILL (default: 5)."`
}

type shellEndResult struct {
	Job      int64   `json:"job"`
	Ended    bool    `json:"ended" jsonschema:"Whether none of its processes is alive."`
	ExitCode *int64  `json:"exitCode"`
	Signal   *string `json:"signal"`
	Killed   int     `json:"killed" jsonschema:"How many processes were ended; 0: it had already ended."`
	Output   string  `json:"output" jsonschema:"The new output."`
}

func shellEnd(ctx context.Context, c *call, p shellEndParams) (reply, error) {
	j, err := c.namedJob(ctx, p.Job)
	if err != nil {
		return reply{}, err
	}
	var k schema.JobKillResult
	err = c.do(ctx, "job/kill", schema.JobKillParams{Handle: j.id(), GraceMs: new(seconds(p.Grace).Milliseconds())}, &k)
	if err != nil {
		return reply{}, err
	}
	r := shellEndResult{Job: j.handle, Ended: len(k.Survivors) == 0, Killed: len(k.Killed), Output: c.tellUntold(ctx, j, telling{maxBytes: maxSessionOutput})}
	text := fmt.Sprintf("[job %d, ended]", j.handle)
	if k.Job != nil && k.Job.Exit != nil {
		r.ExitCode, r.Signal = k.Job.Exit.Code, k.Job.Exit.Signal
		text = fmt.Sprintf("[job %d, ended] %s", j.handle, howEnded(k.Job.Exit))
	}
	if !r.Ended {
		return reply{text: fmt.Sprintf("Job %d could not be ended: %s", j.handle, survivorsText(k.Survivors)), value: r, failed: true}, nil
	}
	return reply{text: strings.TrimSpace(text + "\n" + r.Output), value: r}, nil
}
