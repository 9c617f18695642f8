package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"shelld/schema"
)

// The sessions of the CLI Tools Specification: CliSession, CliRead, CliWrite and CliStop. A
// session is a job with a name; what is new in it counts from what was told last.

func (f *front) addCliSession() {
	add[cliSessionParams, cliSessionResult](f, tool[cliSessionParams]{
		name:  "CliSession",
		title: "Start session",
		description: `Starts an interactive shell session for complex or long-running operations.

Use CliSession when:
- Running commands that take > 30 seconds
- Need to run multiple related commands
- Working with interactive tools (repl, debugger)
- Need to preserve working directory across commands

Workflow:
1. CliSession to start (get sessionId)
2. CliWrite to send commands
3. CliRead to get output
4. CliStop when done

Example - Run tests and debug:
1. CliSession workingDirectory="/project"
2. CliWrite input="npm test" → get sessionId
3. CliRead to see results
4. CliWrite input="npm run test:debug failed-test"
5. CliRead to see debug output
6. CliStop sessionId="..."`,
		destructive: true,
		check: func(p cliSessionParams) string {
			if n := utf8.RuneCountInString(p.SessionID); n > maxSessionID || strings.ContainsFunc(p.SessionID, unicode.IsControl) {
				return fmt.Sprintf("sessionId %s will not do: it has up to %d characters, and no control characters among them.", strconv.Quote(clip(p.SessionID, 60)), maxSessionID)
			}
			return ""
		},
		run: cliSession,
	})
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

// maxSessionID bounds what has to be told in lists.
const maxSessionID = 128

// jobName is what the server takes as a job's name.
var jobName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]{0,63}$`)

// madeName begins the names that are made for ids that the server does not take.
const madeName = "id-"

// nameOf is the name of a session's job: its id, or, where the server does not take that, one
// made of it that no other id has, in which a person who lists jobs finds it again.
func nameOf(id string) string {
	if jobName.MatchString(id) && !strings.HasPrefix(id, madeName) {
		return id
	}
	plain := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && jobName.MatchString("a"+string(r)) {
			return r
		}
		return '_'
	}, id)
	sum := sha256.Sum256([]byte(id))
	return madeName + plain[:min(len(plain), 44)] + "-" + hex.EncodeToString(sum[:8])
}

type cliSessionParams struct {
	Command          string            `json:"command,omitempty" jsonschema:"Initial command to run (default: starts shell)"`
	WorkingDirectory string            `json:"workingDirectory,omitempty" jsonschema:"Starting directory"`
	SessionID        string            `json:"sessionId,omitempty" jsonschema:"Custom session ID (auto-generated if not provided)"`
	Env              map[string]string `json:"env,omitempty" jsonschema:"Environment variables to set"`
}

type cliSessionResult struct {
	Status           string `json:"status"`
	SessionID        string `json:"sessionId"`
	PID              int64  `json:"pid"`
	Shell            string `json:"shell"`
	WorkingDirectory string `json:"workingDirectory"`
	InitialOutput    string `json:"initialOutput"`
	Hint             string `json:"hint"`
	IsRunning        bool   `json:"isRunning"`
	WaitingForInput  bool   `json:"waitingForInput"`
	ExitCode         *int64 `json:"exitCode,omitempty" jsonschema:"Where the command has ended already."`
}

// sessionHint is the seed's.
const sessionHint = "Use CliWrite to send commands, CliRead to get output, CliStop to terminate"

const (
	// initialTime is how long CliSession waits for the first prompt at most.
	initialTime = 2 * time.Second
	// settleQuiet is the silence after which output that has come is told.
	settleQuiet = 150 * time.Millisecond
	// maxSessionOutput bounds what CliSession, CliWrite and CliStop answer with; CliRead has
	// maxBytes for that.
	maxSessionOutput = 65536
)

func cliSession(ctx context.Context, c *call, p cliSessionParams) (reply, error) {
	c.session = or(p.SessionID, newSessionID())
	start := schema.JobStartParams{Name: new(nameOf(c.session))}
	if strings.TrimSpace(p.Command) != "" {
		start.Command = new(p.Command)
	}
	if p.WorkingDirectory != "" {
		start.Cwd = new(p.WorkingDirectory)
	}
	for name, value := range p.Env {
		if start.Env == nil {
			start.Env = map[string]*string{}
		}
		start.Env[name] = new(value)
	}
	j, info, _, err := c.start(ctx, start)
	if kindOf(err) == schema.KindNameInUse {
		return reply{text: fmt.Sprintf("A session %q is running. Give another sessionId, or stop that one with CliStop.\n%s", p.SessionID, c.sessionsText(ctx)), failed: true}, nil
	}
	if err != nil {
		return reply{}, err
	}
	state, err := c.awaitOutput(ctx, j, initialTime)
	if err != nil {
		c.abandon(j.handle)
		return reply{}, err
	}
	r := cliSessionResult{
		Status: "started", SessionID: j.session, PID: j.pid, WorkingDirectory: info.Cwd, InitialOutput: c.tellUntold(ctx, j, telling{maxBytes: maxSessionOutput}),
		Hint: sessionHint, IsRunning: running(state.Status),
	}
	if info.Shell != nil {
		r.Shell = path.Base(*info.Shell)
	}
	r.WaitingForInput, _ = asking(state.WaitingForInput)
	if state.Exit != nil {
		r.ExitCode = state.Exit.Code
		if hint := hintText(c.hint(ctx, j, state.Exit)); hint != "" {
			r.Hint = hint
		}
	}
	return reply{value: r}, nil
}

// newSessionID is a name as in the seed's examples.
func newSessionID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // Never fails; see crypto/rand.
	return "session-" + hex.EncodeToString(id[:])
}

// untilSettled are the conditions under which there is nothing more to wait for: the program
// waits for input, or it has written and then paused.
func (f *front) untilSettled() []schema.Condition {
	quiet := schema.Condition{QuietMs: new(settleQuiet.Milliseconds())}
	if !f.seesInput() {
		return []schema.Condition{quiet}
	}
	return []schema.Condition{onInput, quiet}
}

// untilInput are the conditions under which a program takes input again: it waits for that,
// or it takes some while it does other things. Where nobody can tell, a pause has to do.
func (f *front) untilInput() []schema.Condition {
	if f.seesInput() {
		return []schema.Condition{onInput, {Input: json.RawMessage(`{"listening":true}`)}}
	}
	return []schema.Condition{{QuietMs: new(int64(1000))}}
}

// listeningQuiet is the silence after which a program that takes input while it does other
// things, such as a debugger with its program, has said what it had to say.
const listeningQuiet = 500 * time.Millisecond

// settled goes on with a wait for untilInput that has ended because the program listens:
// that says nothing of whether it is done. It returns the outcome of all of it, which began
// at began.
func (c *call) settled(ctx context.Context, j *job, o *schema.Outcome, began, maxBytes int64, end time.Time) (_ *schema.Outcome, listens bool, err error) {
	if w := o.Job.WaitingForInput; o.Reason != schema.OutcomeReasonInput || w == nil || w.State == nil || *w.State != schema.InputStateListening {
		return o, false, nil
	}
	o, err = c.wait(ctx, schema.JobWaitParams{
		Handle: j.id(), From: from(began), MaxBytes: new(maxBytes), StripEcho: new(true),
		Until: []schema.Condition{onInput, {QuietMs: new(listeningQuiet.Milliseconds())}}, TimeoutMs: millis(max(time.Until(end), 0)),
	})
	return o, err == nil && o.Reason == schema.OutcomeReasonQuietMs, err
}

// sessionJob finds a session; nil: the reply says which there are.
func (c *call) sessionJob(ctx context.Context, id string) (*job, reply) {
	if j := c.front.jobs.bySession(id); j != nil {
		return j, reply{}
	}
	return nil, c.noSession(ctx, id)
}

func (c *call) noSession(ctx context.Context, id string) reply {
	return reply{text: fmt.Sprintf("There is no session %q.\n%s", id, c.sessionsText(ctx)), failed: true}
}

// sessionsText lists the sessions that there are.
func (c *call) sessionsText(ctx context.Context) string {
	var lines []string
	if live, err := c.live(ctx); err == nil {
		for _, j := range live {
			if id := c.front.jobs.sessionOf(j.Handle); id != "" {
				lines = append(lines, fmt.Sprintf("- %s (pid %d, %s)", id, j.PID, commandOf(&j)))
			}
		}
	}
	if lines == nil {
		return "No session is running; CliSession starts one."
	}
	return "Running sessions:\n" + strings.Join(lines, "\n")
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
	IsRunning       bool   `json:"isRunning"`
	WaitingForInput bool   `json:"waitingForInput"`
	ExitCode        *int64 `json:"exitCode,omitempty" jsonschema:"Where the session has ended."`
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
	// Two that read at a time would tell the same twice.
	j.reading.Lock()
	defer j.reading.Unlock()
	read := schema.JobReadParams{Handle: j.id(), Offset: new(j.next), MaxBytes: new(p.MaxBytes), Format: new(schema.ReadFormatPlain)}
	var o schema.JobReadResult
	if err := c.do(ctx, "job/read", read, &o); err != nil {
		return reply{}, err
	}
	r := cliReadResult{SessionID: p.SessionID, HasMore: o.HasMore, IsRunning: running(o.Job.Status)}
	r.Output = c.advance(ctx, j, o.NextOffset, &o.Job)
	if o.Gap != nil {
		r.Output += fmt.Sprintf("[... %d bytes are not kept any more ...]\n", o.Gap.To-o.Gap.From)
	}
	if o.Text != nil {
		r.Output += *o.Text
	}
	if r.IsRunning && !o.HasMore {
		r.WaitingForInput, _ = asking(state.WaitingForInput)
	}
	if o.Job.Exit != nil {
		r.ExitCode = o.Job.Exit.Code
	}
	return reply{value: r}, nil
}

// awaitOutput waits until there is output that was not told yet and it pauses, or until the
// program waits for input, has ended, or the time is over.
func (c *call) awaitOutput(ctx context.Context, j *job, limit time.Duration) (*schema.JobState, error) {
	end := time.Now().Add(limit)
	w := schema.JobWaitParams{
		Handle: j.id(), From: from(j.untold()), MaxBytes: new(int64(0)), TimeoutMs: millis(limit),
		Until: []schema.Condition{{Bytes: new(int64(1))}},
	}
	if c.front.seesInput() {
		w.Until = append([]schema.Condition{onInput}, w.Until...)
	}
	o, err := c.wait(ctx, w)
	if err != nil || o.Reason != schema.OutcomeReasonBytes {
		return stateOf(o), err
	}
	w.Until, w.TimeoutMs = c.front.untilSettled(), millis(max(time.Until(end), 0))
	o, err = c.wait(ctx, w)
	return stateOf(o), err
}

func stateOf(o *schema.Outcome) *schema.JobState {
	if o == nil {
		return nil
	}
	return &o.Job
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
	IsRunning       bool   `json:"isRunning"`
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
	r := cliWriteResult{SessionID: p.SessionID, Status: "sent", ResponseOutput: c.tell(ctx, j, o, telling{maxBytes: maxSessionOutput}), IsRunning: running(o.Job.Status)}
	r.WaitingForInput, _ = asking(o.Job.WaitingForInput)
	if o.Job.Exit != nil {
		r.ExitCode = o.Job.Exit.Code
	}
	return reply{value: r}, nil
}

// sessionEnded is the answer where a session has ended and therefore does not do what was asked.
func (c *call) sessionEnded(ctx context.Context, j *job, not string) reply {
	text := fmt.Sprintf("The session %q has ended, and %s.", j.session, not)
	info, err := c.get(ctx, j.handle)
	switch {
	case err == nil:
		text += " " + howEnded(info.Exit) + " CliRead has its last output."
	case j.ended() != nil:
		text += " " + howEnded(j.ended()) + " Its output is not kept any more."
	case kindOf(err) == schema.KindJobNotFound:
		return c.noSession(ctx, j.session)
	}
	return reply{text: text + "\n" + c.sessionsText(ctx), failed: true}
}

// lostText stands for what was not told of a session that the server has forgotten.
func (j *job) lostText() string {
	j.reading.Lock()
	defer j.reading.Unlock()
	if j.toldAll && j.missed == 0 {
		return ""
	}
	return fmt.Sprintf("[... %d bytes of its output were told; if it wrote more, that is not kept any more ...]\n", j.next-j.missed)
}

type cliStopParams struct {
	SessionID string `json:"sessionId" jsonschema:"Session to stop"`
	Force     bool   `json:"force,omitempty" jsonschema:"Force kill (SIGKILL) if graceful fails (default: false)"`
}

type cliStopResult struct {
	SessionID   string `json:"sessionId"`
	Status      string `json:"status" jsonschema:"stopped, or running: it has not ended when it was asked to; use force."`
	ExitCode    *int64 `json:"exitCode" jsonschema:"null where a signal has ended it."`
	Signal      string `json:"signal,omitempty" jsonschema:"The signal that has ended it."`
	FinalOutput string `json:"finalOutput" jsonschema:"What it wrote since the last read."`
	Suggestion  string `json:"suggestion,omitempty"`
}

// stopGrace is what a session gets to end after SIGTERM.
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
