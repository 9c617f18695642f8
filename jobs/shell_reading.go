package jobs

import (
	"bytes"
	"fmt"
	"slices"

	"shelld/jobs/internal/inputwait"
	"shelld/jobs/internal/shellmark"
)

// Marks can be missing: an interrupt while a prompt is drawn takes the rest of it away, and what
// is pasted has line ends that end no line. That a shell reads is then seen from outside.

// needsReading says whether somebody waits for a shell that is not known to read.
func (s *shellWatch) needsReading() bool {
	if s == nil || len(s.queue)+len(s.tasks) == 0 {
		return false
	}
	p := s.session.Phase()
	return p == shellmark.PhaseBeginning || p == shellmark.PhaseReady && s.session.Typing()
}

// missesEnd says whether the end of what runs may have been told, and taken away by an interrupt, so
// that somebody waits for it who would do so for ever. The interrupt may have been sent before the command was
// known to run.
func (p *shellPart) missesEnd() bool {
	s := p.watch
	if s == nil || s.session.Phase() != shellmark.PhaseRunning || s.askedAt.After(s.struckAt) || !s.struckAt.After(s.current.StartedAt.Add(-interruptTime)) {
		return false
	}
	waits := func(w *wait) bool {
		return slices.ContainsFunc(w.spec.Until, func(c Condition) bool { return c.Kind == UntilCommand })
	}
	return len(s.queue)+len(s.tasks) > 0 || slices.ContainsFunc(p.j.waits.armed, waits)
}

// reviewReading takes it that a shell reads a line where it is seen to do so, and where what it
// reads is not the rest of one. Before its first prompt it is its start-up files that read.
func (p *shellPart) reviewReading() {
	s, l := p.watch, &p.j.waiting.watch
	ends := p.missesEnd()
	if !s.needsReading() && !ends {
		s.readingBy = 0
		return
	}
	if s.readingBy == 0 {
		s.readingBy = l.begun + 1
		return
	}
	if s.image == "" || s.session.More() || l.looked < s.readingBy || !(l.ofTaken >= s.readingBy && p.leaderReads()) && !p.editsSince(s.readingBy) {
		return
	}
	if ends {
		p.doubtRunning()
		return
	}
	s.readingBy = 0
	s.session.OnReady()
}

// waitsSince says whether a look, or a later one, has seen the job wait for input, and nothing has happened since.
func (p *shellPart) waitsSince(look int) bool {
	l := &p.j.waiting.watch
	return l.now != nil && l.ofTaken >= look && l.of == p.j.waiting.activity()
}

// editsSince says whether a look, or a later one, has seen the shell's line editor read, and nothing has happened
// since. Whatever else runs in the job, the shell has nothing to do then but what it is told.
func (p *shellPart) editsSince(look int) bool {
	r := p.j.waiting.watch.reader
	return r.pid == p.j.info.PID && r.look >= look && r.of == p.j.waiting.activity() && p.editsLines()
}

// leaderReads says whether the last look has seen that the shell itself reads, and nothing has
// happened since. fish waits for more than its input, so that the system does not tell it exactly while
// anything else runs in the job; then its line editor has to be seen.
func (p *shellPart) leaderReads() bool {
	l := &p.j.waiting.watch
	return l.now != nil && l.of == p.j.waiting.activity() && l.now.PID == p.j.info.PID && (l.now.Confidence == inputwait.Exact || p.editorReads())
}

// editorReads says whether what reads is, by the looks of the terminal, the line editor of a shell.
func (p *shellPart) editorReads() bool {
	w := p.j.waiting.watch.now
	return w != nil && rank(w.Confidence) >= rank(inputwait.Likely) && w.Kind == InputRaw && p.editsLines()
}

// editsLines says whether a shell that reads the terminal does so by its line editor. bash and zsh ask for pasted
// text in brackets while it reads, and at no other time. fish reads by nothing else, its read among it, and may
// not have asked for that: a handler of its prompt does, which an interrupt ends.
func (p *shellPart) editsLines() bool {
	return p.watch.kind == shellmark.Fish || p.j.display.heard != nil && p.j.display.modes().BracketedPaste
}

// blocksWrite says whether an item waits until the shell has begun a command that came before
// it: what is typed behind a command is for that command. What a start-up file asks for is
// answered all the same.
func (p *shellPart) blocksWrite(q *queued) bool {
	s := p.watch
	if s == nil || q.trigger || q.overtakes {
		return false
	}
	if s.handing() {
		return true
	}
	if phase := s.session.Phase(); phase == shellmark.PhaseRunning || phase == shellmark.PhaseGone || !s.waits(q.behind) {
		return false
	}
	return !s.starts() || p.startAsks() == nil
}

// waits says whether a command has not begun.
func (s *shellWatch) waits(id int64) bool {
	for _, r := range s.queue {
		if r.command.ID == id {
			return true
		}
	}
	return false
}

// lastQueued is the command that came last of those that have not begun; 0: there is none.
func (s *shellWatch) lastQueued() int64 {
	if s == nil || len(s.queue) == 0 {
		return 0
	}
	return s.queue[len(s.queue)-1].command.ID
}

// noteTyped takes it that something was typed into the shell.
func (s *shellWatch) noteTyped(p []byte) {
	if bytes.ContainsAny(p, "\r\n") {
		s.session.OnTyped()
	}
}

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
