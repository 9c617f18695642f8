package rpc

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"shelld/jobs"
	"shelld/schema"
)

const defaultHistory = 100

// finishedText is how much of a command's text job/commandFinished and an outcome have.
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
	o.Asker = r.asker()
	r.release = j.Hold()
	pending, refused := j.Exec(o)
	if refused != nil {
		return refused
	}
	tells := p.Wait != nil && (p.Wait.From != nil || p.Wait.Format != nil)
	respond(r, pending, func(res jobs.ExecResult) schema.JobExecResult { return execResult(j, res, o.Wait, tells) })
	return nil
}

// oneDeadline says of a deadline in wait where it belongs: job/exec has one, and a wait has
// its own elsewhere.
func oneDeadline(err error) error {
	var invalid *schema.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	fields := slices.Clone(invalid.Fields)
	for i, f := range fields {
		if f.Pointer == "/wait/timeoutMs" {
			fields[i] = schema.FieldError{Pointer: f.Pointer, Message: "job/exec has one deadline, the timeoutMs beside wait; put it there"}
		}
	}
	return &schema.InvalidError{Fields: fields}
}

// execOptions is a request's params as the engine takes them.
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

// execResult tells what has come of a command. Its output is told once: in the outcome as well
// only where the client asks for it there.
func execResult(j *jobs.Job, res jobs.ExecResult, wait *jobs.WaitSpec, tells bool) schema.JobExecResult {
	if !tells {
		res.Outcome.Output = nil
	}
	c := &res.Command
	w := schema.JobExecResult{
		Outcome: outcome(res.Outcome), ExitCode: int64Ptr(c.ExitCode), Cwd: optional(c.Cwd), DurationMs: commandMillis(c),
		CommandID: c.ID, Finished: c.Finished, Interrupted: optional(res.Interrupt), Killed: optional(res.Killed), Replaced: optional(res.Replaced), Hint: hint(res.Hint),
	}
	if c.StartedAt.IsZero() {
		w.Queued = optional(!c.Finished)
		return w
	}
	out := quotation{plain: true, maxBytes: wait.MaxBytes, mark: !wait.Unmarked}.quote(j, jobs.PTY, res.Output)
	w.Output, w.Truncated = or(out.text, ""), out.truncated
	w.Range = outputRange(res.Output, true)
	return w
}

// outputRange is where a command's output stands. Of one that has not ended the end is not
// told.
func outputRange(r jobs.Range, ended bool) *schema.OutputRange {
	w := &schema.OutputRange{From: r.From}
	if ended {
		w.To = &r.To
	}
	return w
}

// commandMillis is how long a command has run by now.
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
	room := s.settings.maxMessage / escapedBytes / 2 // the other half is for what is not text
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

// historyPage is what is told of a shell's commands: the first ones behind since, or the last
// ones of all, at most limit of them, and as many as have room, but one in any case.
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

// behind are the commands that a shell began after one of them. Where it is not listed, any
// more or at all, its number says which are newer.
func behind(all []jobs.ShellCommand, id int64) []jobs.ShellCommand {
	if i := slices.IndexFunc(all, func(c jobs.ShellCommand) bool { return c.ID == id }); i >= 0 {
		return all[i+1:]
	}
	return slices.DeleteFunc(slices.Clone(all), func(c jobs.ShellCommand) bool { return c.ID < id })
}

// listedBytes is about what a command takes in an answer, before it is escaped.
func listedBytes(c *jobs.ShellCommand) int { return len(c.Text) + len(c.Cwd) + 64 }

// shellCommand is a command in a list, its text cut to what has room.
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

// commandText is a text of at most so many bytes, and whether it is cut; nil where there is
// none. What a shell told need not be UTF-8.
func commandText(text string, most int) (cut *string, truncated *bool) {
	if text == "" {
		return nil, nil
	}
	short := jobs.ValidUTF8(head(text, most))
	return &short, optional(len(text) > most)
}

// commandFinished is the end of a command as its notification.
func commandFinished(c *jobs.ShellCommand, handle, seq, suppressed int64) schema.JobCommandFinishedParams {
	p := schema.JobCommandFinishedParams{
		Handle: handle, Seq: seq, CommandID: c.ID, Origin: commandOrigin(c), ExitCode: int64Ptr(c.ExitCode),
		StartedAt: timestamp(c.StartedAt), EndedAt: timestamp(c.EndedAt), DurationMs: commandMillis(c), Cwd: optional(c.Cwd),
		Output: *outputRange(c.Output, true), Suppressed: optional(suppressed),
	}
	p.Command, p.Truncated = commandText(c.Text, finishedText)
	return p
}

// briefly is the end of a command without more of its text than is sent, for as long as it
// waits to be: the engine forgets old commands, and a client that does not read must not keep
// them.
func briefly(c *jobs.CommandFinished) *jobs.CommandFinished {
	const most = finishedText + utf8.UTFMax // which is seen to be too long, and cut where it is sent
	if len(c.Text) <= most {
		return c
	}
	short := *c
	short.Text = strings.Clone(head(c.Text, most))
	return &short
}
