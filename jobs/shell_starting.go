package jobs

import (
	"fmt"
	"slices"

	"shelld/jobs/internal/inputwait"
	"shelld/jobs/internal/shellmark"
)

// Until its first prompt a shell reads its start-up files, and says nothing. They may do anything: run a
// program that somebody has to leave, ask for something themselves, or have another program take the shell's
// place (shell_replaced.go). What they do is seen from outside, as that of any job.

// starts says whether the shell has not come to its first prompt, as far as it has told.
func (s *shellWatch) starts() bool {
	return s != nil && s.image == "" && s.session.Phase() != shellmark.PhaseGone
}

// startAsks is the wait for input that keeps a shell from its first prompt; nil: none is known. A shell
// that reads its first line is seen to wait as well, so all must have been taken up that it has said before.
func (p *shellPart) startAsks() *WaitingForInput {
	w := p.j.waiting.watch.now
	switch {
	case !p.watch.starts() || w == nil || p.j.waiting.watch.of != p.j.waiting.activity():
		return nil
	case rank(w.Confidence) < rank(inputwait.Likely) || w.State != inputwait.Reading && !(w.PID == p.j.info.PID && p.editorReads()):
		return nil
	case !p.j.output.streams[0].src.Idle() || p.watch.hasMarks():
		return nil
	}
	return w
}

// startKeeps is what keeps a shell from its first prompt, and what to do about it, for a sentence.
func (p *shellPart) startKeeps() (why, cure string) {
	other := ""
	if f := p.watch.front; f != nil && f.PID != p.j.info.PID {
		other = fmt.Sprintf("%q (process %d)", shortened(f.Command), f.PID)
	}
	switch w := p.startAsks(); {
	case w != nil && w.PID == p.j.info.PID:
		return "has told of no prompt yet, and waits for input: its start-up files ask for something, or keep it from telling",
			"answer them with job/write, and send this again (job/screen shows what is there)"
	case w != nil && other != "":
		return "is still reading its start-up files, in which " + other + " waits for input",
			"answer or leave that with job/write, and send this again (job/screen shows what it asks)"
	case w != nil:
		return "is still reading its start-up files, in which a program waits for input",
			"answer or leave that with job/write, and send this again (job/screen shows what it asks)"
	case other != "":
		return "is still reading its start-up files, in which " + other + " runs",
			"send this again when that has ended, or end it with job/signal INT, which may end the reading of these files as well"
	}
	return "is still reading its start-up files",
		"send this again when it has, or interrupt that with job/signal INT"
}

// busyStarting refuses a command that is not to wait for a shell that somebody keeps from its first prompt.
func (p *shellPart) busyStarting() *Error {
	why, cure := p.startKeeps()
	e := errorf(CodeShellBusy, "the shell of job %d %s; %s, or leave ifBusy out to have this command wait", p.j.id, why, cure)
	e.Handle = p.j.id
	return e
}

// reviewStart answers commands that are not to wait once it is known that somebody keeps the shell from
// its first prompt. While it simply reads its files nobody can know, and they wait.
func (p *shellPart) reviewStart() {
	s := p.watch
	fails := func(r *execReq) bool { return r.opts.FailBusy && !r.answered && r.given.Seq() == 0 }
	if !s.starts() || !slices.ContainsFunc(s.queue, fails) || p.startAsks() == nil {
		return
	}
	s.queue = slices.DeleteFunc(s.queue, func(r *execReq) bool {
		if !fails(r) {
			return false
		}
		r.command.Finished = true
		r.refuse(p.busyStarting())
		return true
	})
}
