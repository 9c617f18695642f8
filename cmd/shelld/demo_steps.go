package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"shelld.dev/shelld/schema"
)

// demoPrompt is the prompt of our sh. No shell has it by default.
const demoPrompt = "demo> "

// demoSteps returns the steps. Each step leaves the job quiet, so that the output after a story belongs to its step.
//
// The terminal echoes typed input, so a pattern must not match the input itself: the line printf 'Your %s? ' name is
// typed, and "Your name? " is awaited.
func demoSteps() []demoStep {
	return []demoStep{
		{"handshake", "Initialize: the server reports what it can do on this machine; no guesses.", demoHandshake},
		{"start", "Start sh on a terminal. The answer comes only after its prompt.", demoStart},
		{"calculate", "Type a command. The wait begins before the first byte, so it misses none.", demoCalculate},
		{"question", "Let the program ask a question: that ends the wait, not a guessed delay.", demoQuestion},
		{"answer", "Answer it. job/wait checks all output since the last wait: it is never late.", demoAnswer},
		{"read", "Read it all again: nothing is lost, and the bytes are the same as before.", demoRead},
		{"background", "Start a worker in the background. Killing the shell alone would leave it.", demoBackground},
		{"kill", "Kill the job: its whole tree ends, each listed; exited and closed come last.", demoKill},
		{"shutdown", "End the server. Its exit status 0 says that the client ended it properly.", demoShutdown},
		{"remains", "Ask the operating system what is still running. Nothing may be.", demoRemains},
	}
}

func demoHandshake(ctx context.Context, s *demoSession) error {
	var r schema.InitializeResult
	params := schema.InitializeParams{
		ProtocolVersion: new("1"), ClientInfo: &schema.ClientInfo{Name: new("shelld demo")},
		// The demo leaves no files behind.
		Options: &schema.Options{Persist: &schema.PersistOptions{Mode: new(schema.PersistModeMemory)}},
	}
	if _, err := os.Getwd(); err != nil { // The current directory was deleted, and jobs need one.
		params.RootDirectory = new(os.TempDir())
	}
	if err := s.call(ctx, "initialize", params, &r); err != nil {
		return err
	}
	if r.ProtocolVersion != "1" {
		return fmt.Errorf("the server speaks version %q of the protocol, not 1", r.ProtocolVersion)
	}
	if !slices.Contains(r.Capabilities.Modes, schema.ModePty) {
		return fmt.Errorf("this version of shelld cannot run programs on a terminal on %s", runtime.GOOS)
	}
	s.detects = r.Capabilities.InputDetection.Tier == schema.InputDetectionTierExact
	return s.client.Notify("initialized", schema.InitializedParams{})
}

func demoStart(ctx context.Context, s *demoSession) error {
	params := schema.JobStartParams{
		Argv: []string{"sh"},
		// ENV names a file that an interactive sh reads first, HISTFILE one that it may write: this sh must behave the
		// same everywhere, and leave no files.
		Env:   map[string]*string{"PS1": new(demoPrompt), "ENV": nil, "HISTFILE": new("")},
		Watch: []schema.Watch{{Pattern: demoPrompt + "$"}},
		Wait:  demoUntil(demoPrompt + "$"),
	}
	var r schema.JobStartResult
	if err := s.call(ctx, "job/start", params, &r); err != nil {
		return err
	}
	s.handle, s.leader = r.Job.Handle, r.Job.PID
	switch seen := s.record(); {
	case seen.started == nil:
		return fmt.Errorf("job/start was answered before job/started was sent")
	case seen.started.Job.PID != s.leader:
		return fmt.Errorf("job/started has the pid %d, but the answer to job/start has %d", seen.started.Job.PID, s.leader)
	case r.Job.Mode != schema.ModePty:
		return fmt.Errorf("the job has no terminal: its mode is %s", r.Job.Mode)
	}
	if _, err := demoMatch(r.Outcome); err != nil {
		return err
	}
	return s.prompted(ctx, 1)
}

func demoCalculate(ctx context.Context, s *demoSession) error {
	m, err := s.typed(ctx, `expr 6 \* 7`, `^(\d+)\r?\n`)
	if err != nil {
		return err
	}
	if got := demoGroup(m); got != "42" {
		return fmt.Errorf("expr says that 6 times 7 is %q", got)
	}
	return s.prompted(ctx, 2)
}

func demoQuestion(ctx context.Context, s *demoSession) error {
	const line, question = `printf 'Your %s? ' name; read -r who; echo "Hello, $who!"`, "Your name? "
	if !s.detects {
		m, err := s.typed(ctx, line, `Your name\? $`)
		if err != nil {
			return err
		}
		return s.pushed(ctx, *m.EndOffset)
	}
	var r schema.JobWriteResult
	wait := &schema.Wait{Until: []schema.Condition{{Input: json.RawMessage("true")}}}
	if err := s.call(ctx, "job/write", schema.JobWriteParams{Handle: s.job(), Input: new(line), AppendNewline: new(true), Wait: wait}, &r); err != nil {
		return err
	}
	if o := r.Outcome; o == nil || o.Reason != schema.OutcomeReasonInput || !strings.HasSuffix(demoText(o), question) {
		return fmt.Errorf("the wait for a question ended with %+v", o)
	}
	return s.pushed(ctx, r.Outcome.Output["pty"].NextOffset)
}

func demoAnswer(ctx context.Context, s *demoSession) error {
	const name = "Ada"
	var w schema.JobWriteResult
	if err := s.call(ctx, "job/write", schema.JobWriteParams{Handle: s.job(), Input: new(name), AppendNewline: new(true)}, &w); err != nil {
		return err
	}
	if want := int64(len(name) + 1); w.BytesWritten != want {
		return fmt.Errorf("%d bytes were written, not %d", w.BytesWritten, want)
	}
	var r schema.JobWaitResult
	until := demoUntil(`Hello, (\w+)!`).Until
	if err := s.call(ctx, "job/wait", schema.JobWaitParams{Handle: s.job(), Until: until}, &r); err != nil {
		return err
	}
	m, err := demoMatch(&r.Outcome)
	if err != nil {
		return err
	}
	if got := demoGroup(m); got != name {
		return fmt.Errorf("the program greets %q", got)
	}
	return s.prompted(ctx, 3)
}

func demoRead(ctx context.Context, s *demoSession) error {
	var r schema.JobReadResult
	if err := s.call(ctx, "job/read", schema.JobReadParams{Handle: s.job(), Offset: new(int64(0))}, &r); err != nil {
		return err
	}
	raw, err := demoBytes(r.Text, r.Base64)
	if err != nil {
		return err
	}
	if err := s.pushed(ctx, r.NextOffset); err != nil {
		return err
	}
	sent := s.record().pushed
	switch {
	case r.Offset != 0 || r.NextOffset != int64(len(raw)) || r.HasMore:
		return fmt.Errorf("%d bytes from 0 on were read as %d to %d", len(raw), r.Offset, r.NextOffset)
	case !bytes.Equal(raw, sent[:len(raw)]):
		return fmt.Errorf("what was read is not what was sent: %q and %q", raw, sent[:len(raw)])
	case !bytes.Contains(raw, []byte("\r42\r\n")) && !bytes.Contains(raw, []byte("\n42\r\n")), !bytes.Contains(raw, []byte("Hello, Ada!")):
		return fmt.Errorf("the output that was read is incomplete: %q", raw)
	}
	return nil
}

func demoBackground(ctx context.Context, s *demoSession) error {
	// The worker's own output of its PID proves that it runs. The shell's wait keeps the prompt out of that line.
	m, err := s.typed(ctx, `sh -c 'echo worker $$; exec sleep 300' & wait`, `worker (\d+)\r?\n`)
	if err != nil {
		return err
	}
	if s.worker, err = strconv.ParseInt(demoGroup(m), 10, 64); err != nil {
		return fmt.Errorf("the worker's pid: %w", err)
	}
	if !alive(s.leader) || !alive(s.worker) {
		return fmt.Errorf("the shell (%d) and its worker (%d) are not both alive", s.leader, s.worker)
	}
	return s.pushed(ctx, *m.EndOffset)
}

func demoKill(ctx context.Context, s *demoSession) error {
	var r schema.JobKillResult
	// An interactive sh may ignore TERM: a short grace time keeps the demo short.
	if err := s.call(ctx, "job/kill", schema.JobKillParams{Handle: s.job(), GraceMs: new(int64(300))}, &r); err != nil {
		return err
	}
	s.killed = r.Killed
	if err := demoCheckReport(&r, s.leader, s.worker); err != nil {
		return err
	}
	if err := s.await(ctx, "job/closed", func(seen *demoRecord) bool { return seen.closed != nil }); err != nil {
		return err
	}
	seen := s.record()
	exit := seen.exited.Exit
	switch {
	case exit.Reason != schema.ExitReasonKilled:
		return fmt.Errorf("job/exited gives the reason %s, not killed", exit.Reason)
	case (exit.Code == nil) == (exit.Signal == nil):
		return fmt.Errorf("job/exited has to give either a code or a signal")
	case len(seen.closed.Survivors) > 0:
		return fmt.Errorf("job/closed reports survivors: %v", seen.closed.Survivors)
	}
	return nil
}

// demoCheckReport compares the answer to job/kill with the known processes of the job.
func demoCheckReport(r *schema.JobKillResult, leader, worker int64) error {
	find := func(pid int64) string {
		for _, k := range r.Killed {
			if k.PID == pid {
				return k.Command
			}
		}
		return ""
	}
	switch {
	case r.AlreadyClosed == nil || *r.AlreadyClosed:
		return fmt.Errorf("the report says that there was nothing left to kill")
	case len(r.Survivors) > 0:
		return fmt.Errorf("the report lists survivors: %v", r.Survivors)
	case !slices.ContainsFunc(r.Signals, func(sent schema.SentSignal) bool { return sent.Signal == "SIGTERM" }):
		return fmt.Errorf("the report does not mention SIGTERM: %v", r.Signals)
	case find(leader) == "":
		return fmt.Errorf("the report does not name the shell, pid %d: %v", leader, r.Killed)
	case !demoIsWorker(find(worker)):
		return fmt.Errorf("the report does not name the worker's sleep, pid %d: %v", worker, r.Killed)
	case r.Job == nil || r.Job.Status != schema.StatusClosed:
		return fmt.Errorf("the job is not closed after the kill")
	}
	return nil
}

// demoIsWorker reports whether a command line is that of sleep 300. For a process that was already dead, only the name
// is known, in brackets, as in ps.
func demoIsWorker(command string) bool {
	return strings.Contains(command, "sleep 300") || strings.HasPrefix(command, "[")
}

func demoShutdown(ctx context.Context, s *demoSession) error {
	if err := s.call(ctx, "shutdown", schema.ShutdownParams{}, nil); err != nil {
		return err
	}
	if err := s.client.Notify("exit", schema.ExitParams{}); err != nil {
		return fmt.Errorf("exit: %w", err)
	}
	if err := s.serverEnded(); err != nil {
		return err
	}
	// An event after job/closed would by now have caused an error.
	return s.await(ctx, "job/closed", func(seen *demoRecord) bool { return seen.closed != nil })
}

func demoRemains(_ context.Context, s *demoSession) error {
	for _, k := range s.killed {
		if alive(k.PID) {
			return fmt.Errorf("process %d (%s) is still alive", k.PID, k.Command)
		}
		s.print.fact("process %d (%s) is gone", k.PID, k.Command)
	}
	if server := int64(s.server.Process.Pid); alive(server) {
		return fmt.Errorf("the server (%d) is still alive", server)
	}
	s.print.fact("process %d (the server) is gone; it ended with status 0", s.server.Process.Pid)
	return nil
}

// job returns the handle as a parameter.
func (s *demoSession) job() json.RawMessage { return strconv.AppendInt(nil, s.handle, 10) }

// typed types a line and returns the match that it waits for.
func (s *demoSession) typed(ctx context.Context, line, pattern string) (*schema.Match, error) {
	params := schema.JobWriteParams{Handle: s.job(), Input: new(line), AppendNewline: new(true), Wait: demoUntil(pattern)}
	var r schema.JobWriteResult
	if err := s.call(ctx, "job/write", params, &r); err != nil {
		return nil, err
	}
	return demoMatch(r.Outcome)
}

// prompted waits for the event of the nth prompt.
func (s *demoSession) prompted(ctx context.Context, n int) error {
	err := s.await(ctx, fmt.Sprintf("prompt number %d", n), func(seen *demoRecord) bool { return len(seen.prompts) >= n })
	if err != nil {
		return err
	}
	if got := s.record().prompts[n-1].Match; got != demoPrompt {
		return fmt.Errorf("the watch for the prompt matched %q", got)
	}
	return nil
}

// pushed waits for the events with the output up to an offset.
func (s *demoSession) pushed(ctx context.Context, offset int64) error {
	return s.await(ctx, fmt.Sprintf("the output up to offset %d", offset), func(seen *demoRecord) bool { return int64(len(seen.pushed)) >= offset })
}

// demoUntil returns a wait for a pattern.
func demoUntil(pattern string) *schema.Wait {
	c := schema.Condition{Pattern: new(pattern)}
	if strings.HasPrefix(pattern, "^") {
		c.Flags = new("m")
	}
	return &schema.Wait{Until: []schema.Condition{c}}
}

// demoMatch returns the match that ended a wait, or an error if it ended otherwise.
func demoMatch(o *schema.Outcome) (*schema.Match, error) {
	switch {
	case o == nil:
		return nil, fmt.Errorf("the answer does not say how the wait ended")
	case o.Reason != schema.OutcomeReasonPattern:
		return nil, fmt.Errorf("the wait ended with %s, not with its pattern; the output was %q", o.Reason, demoText(o))
	case o.Match == nil || o.Match.Text == nil || o.Match.EndOffset == nil:
		return nil, fmt.Errorf("the answer does not say what matched")
	}
	return o.Match, nil
}

func demoText(o *schema.Outcome) string {
	if text := o.Output["pty"].Text; text != nil {
		return *text
	}
	return ""
}

// demoGroup returns the first capture group of a match.
func demoGroup(m *schema.Match) string {
	if len(m.Groups) == 0 || m.Groups[0] == nil {
		return ""
	}
	return *m.Groups[0]
}
