package rpc

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

const defaultHistory = 100

// finishedText is the maximum number of bytes of a command's text in job/commandFinished and in an outcome.
const finishedText = 4096

func (s *Server) jobExec(r *request) error {
	var p schema.JobExecParams
	if err := r.decode(&p); err != nil {
		return oneDeadline(err)
	}
	o, err := s.execOptions(&p)
	if err != nil {
		return err
	}
	j, err := s.job(p.Handle)
	if err != nil {
		return err
	}
	o.Asker, o.Owner = r.asker(), s.attendee.name
	r.release = j.Hold()
	pending, refused := j.Exec(o)
	if refused != nil {
		return refused
	}
	tells := p.Wait != nil && (p.Wait.From != nil || p.Wait.Format != nil)
	respond(r, pending, func(res jobs.ExecResult) schema.JobExecResult { return execResult(j, res, o.Wait, tells) })
	return nil
}

// oneDeadline improves the error about a deadline in wait: a wait has its own elsewhere, but job/exec has only one,
// beside wait.
func oneDeadline(err error) error {
	var invalid *schema.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	fields := slices.Clone(invalid.Fields)
	for i, f := range fields {
		if f.Pointer == "/wait/timeoutMs" {
			fields[i] = schema.FieldError{Pointer: f.Pointer, Message: "job/exec has one deadline, timeoutMs next to wait; set that one"}
		}
	}
	return &schema.InvalidError{Fields: fields}
}

// execOptions converts the params of a request to the engine's options.
func (s *Server) execOptions(p *schema.JobExecParams) (o jobs.ExecOptions, err error) {
	w := or(p.Wait, schema.ExecWait{})
	late := or(p.OnTimeout, schema.ExecTimeoutLeave)
	o = jobs.ExecOptions{
		Command: p.Command, Interrupt: late != schema.ExecTimeoutLeave, Kill: late == schema.ExecTimeoutKill,
		FailBusy: or(p.IfBusy, schema.IfBusyQueue) == schema.IfBusyFail,
	}
	o.Wait, err = s.waitSpec(&schema.Wait{
		Until: w.Until, From: w.From, TimeoutMs: p.TimeoutMs, MaxBytes: w.MaxBytes, Format: w.Format, Mark: w.Mark, StripEcho: w.StripEcho,
	}, "/wait")
	return o, err
}

// execResult returns the result of a command. Its output is in the result once. It is also in the outcome only if the
// client asks for that.
func execResult(j *jobs.Job, res jobs.ExecResult, wait *jobs.WaitSpec, tells bool) schema.JobExecResult {
	if !tells {
		res.Outcome.Output = nil
	}
	c := &res.Command
	w := schema.JobExecResult{
		Outcome: outcome(res.Outcome), ExitCode: int64Ptr(c.ExitCode), Cwd: optional(c.Cwd), DurationMs: commandMillis(c),
		CommandID: c.ID, Finished: c.Finished, Interrupted: optional(res.Interrupt), Dropped: optional(res.Dropped), Killed: optional(res.Killed), Replaced: optional(res.Replaced), Foreground: process(res.Foreground), Hint: hint(res.Hint),
	}
	if c.StartedAt.IsZero() {
		w.Queued = optional(!c.Finished)
		return w
	}
	out := quotation{plain: true, maxBytes: wait.MaxBytes, mark: !wait.Unmarked}.quote(j, jobs.PTY, res.Output)
	w.Output, w.Truncated = or(out.text, ""), out.truncated
	if res.LineEnd && w.Output == "\n" {
		w.Output = "" // the command has written nothing
	}
	w.Range = outputRange(res.Output, true)
	return w
}

// outputRange returns the range of a command's output. It has no end if the command has not ended.
func outputRange(r jobs.Range, ended bool) *schema.OutputRange {
	w := &schema.OutputRange{From: r.From}
	if ended {
		w.To = &r.To
	}
	return w
}

// commandMillis returns how long a command has run so far, in ms.
func commandMillis(c *jobs.ShellCommand) int64 {
	switch {
	case c.StartedAt.IsZero():
		return 0
	case c.EndedAt.IsZero():
		return millis(time.Since(c.StartedAt))
	}
	return millis(c.EndedAt.Sub(c.StartedAt))
}

func (s *Server) jobHistory(r *request) error {
	var p schema.JobHistoryParams
	j, err := s.target(r, &p, &p.Handle)
	if err != nil {
		return err
	}
	room := s.settings.maxMessage / escapedBytes / 2 // The other half is for everything except text.
	respond(r, j.History(), func(all []jobs.ShellCommand) schema.JobHistoryResult {
		some, more := historyPage(all, p.Since, int(or(p.Limit, defaultHistory)), room)
		res := schema.JobHistoryResult{Commands: []schema.ShellCommand{}, HasMore: more}
		for i := range some {
			res.Commands = append(res.Commands, shellCommand(&some[i], room))
		}
		return res
	})
	return nil
}

// historyPage returns a page of a shell's commands: the first ones after since, or, without since, the last ones of
// all. There are at most limit of them, and only as many as fit into room, but at least one.
func historyPage(all []jobs.ShellCommand, since *int64, limit, room int) (some []jobs.ShellCommand, more bool) {
	if since == nil {
		n := 0
		for ; n < min(len(all), limit); n++ {
			if room -= listedBytes(&all[len(all)-1-n]); room < 0 && n > 0 {
				break
			}
		}
		return all[len(all)-n:], n < len(all)
	}
	all = behind(all, *since)
	n := 0
	for ; n < min(len(all), limit); n++ {
		if room -= listedBytes(&all[n]); room < 0 && n > 0 {
			break
		}
	}
	return all[:n], n < len(all)
}

// behind returns the commands that a shell began after the one with this id. If that one is not listed, the newer ones
// are found by their numbers.
func behind(all []jobs.ShellCommand, id int64) []jobs.ShellCommand {
	if i := slices.IndexFunc(all, func(c jobs.ShellCommand) bool { return c.ID == id }); i >= 0 {
		return all[i+1:]
	}
	return slices.DeleteFunc(slices.Clone(all), func(c jobs.ShellCommand) bool { return c.ID < id })
}

// listedBytes returns roughly the size of a command in an answer, before escaping.
func listedBytes(c *jobs.ShellCommand) int { return len(c.Text) + len(c.Cwd) + 64 }

// shellCommand returns a command for a list, with its text cut to fit into room.
func shellCommand(c *jobs.ShellCommand, room int) schema.ShellCommand {
	w := schema.ShellCommand{
		CommandID: c.ID, Origin: commandOrigin(c), ExitCode: int64Ptr(c.ExitCode), StartedAt: timestamp(c.StartedAt),
		DurationMs: commandMillis(c), Cwd: optional(c.Cwd), Output: *outputRange(c.Output, c.Finished), Finished: c.Finished,
	}
	w.Command, w.Truncated = commandText(c.Text, max(room-len(c.Cwd), 0))
	if !c.EndedAt.IsZero() {
		w.EndedAt = optional(timestamp(c.EndedAt))
	}
	return w
}

func commandOrigin(c *jobs.ShellCommand) schema.CommandOrigin {
	if c.Typed {
		return schema.CommandOriginTyped
	}
	return schema.CommandOriginExec
}

// commandText returns at most so many bytes of a text, and whether it was cut; nil if the text is empty. The text that
// a shell reports need not be UTF-8.
func commandText(text string, most int) (cut *string, truncated *bool) {
	if text == "" {
		return nil, nil
	}
	short := jobs.ValidUTF8(head(text, most))
	return &short, optional(len(text) > most)
}

// commandFinished returns the notification for the end of a command.
func commandFinished(c *jobs.ShellCommand, handle, seq int64, n *int64, suppressed int64) schema.JobCommandFinishedParams {
	p := schema.JobCommandFinishedParams{
		Handle: handle, Seq: seq, N: n, CommandID: c.ID, Origin: commandOrigin(c), ExitCode: int64Ptr(c.ExitCode),
		StartedAt: timestamp(c.StartedAt), EndedAt: timestamp(c.EndedAt), DurationMs: commandMillis(c), Cwd: optional(c.Cwd),
		Output: *outputRange(c.Output, true), Suppressed: optional(suppressed),
	}
	p.Command, p.Truncated = commandText(c.Text, finishedText)
	return p
}

// briefly returns the end of a command with only as much of the text as is sent. It is used while the event is queued:
// the engine forgets old commands, and a client that does not read must not keep them in memory.
func briefly(c *jobs.CommandFinished) *jobs.CommandFinished {
	const most = finishedText + utf8.UTFMax // still too long when it is sent, so that it is cut and marked there
	if len(c.Text) <= most {
		return c
	}
	short := *c
	short.Text = strings.Clone(head(c.Text, most))
	return &short
}
