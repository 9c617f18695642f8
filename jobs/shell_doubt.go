package jobs

import (
	"time"

	"shelld/jobs/internal/shellmark"
)

// A mark about a command can be lost, and so can the command itself: an interrupt key discards the data that is on its
// way through the terminal, in both directions. The shell is asked about a command if it has read the command and is
// seen to read on, or if it has written no mark for long after an interrupt. The question is a key that makes the
// shell run no code. In answer, the shell repeats the marks of the last command that it has read. Only this answer
// decides whether the command has run. A command that the shell has not read at all cannot have run; the server
// detects that by itself (reviewHanded).

// doubtRunning asks the shell whether the running command still runs. It asks only if the shell's line editor reads:
// at a prompt, or for a builtin command such as vared. The line editor takes the key in both cases.
func (p *shellPart) doubtRunning() {
	s := p.watch
	if !p.editorReads() && !p.editsSince(s.readingBy) || s.striking > 0 || len(p.j.input.queue.items) > 0 || p.j.input.to == nil || !s.idle() {
		return
	}
	s.askedAt, s.readingBy = time.Now(), 0
	s.session.Doubt(shellmark.DoubtRunning)
	p.handNext()
}

// doubtStays handles a shell that reads on and does not answer the question. read says whether the shell has read the
// question.
func (p *shellPart) doubtStays(read bool) {
	s := p.watch
	r := s.handed(s.session.InDoubt())
	if r != nil && !read && r.given.AskAgain() {
		return // Hand over the question once more.
	}
	s.session.EndDoubt()
	if r != nil {
		s.lost = r
		p.dropHanded(p.mayHaveRun)
	}
}

// mayHaveRun returns the error for a command if the shell does not report whether it has run.
func (p *shellPart) mayHaveRun(r *execReq) *Error {
	when := "the shell of job %d was given command %d"
	if s := p.watch; s.struckSince(r.handedAt) || s.struckBefore(r.handedAt) {
		when = "an interrupt arrived when the shell of job %d was about to start command %d"
	}
	e := errorf(CodeCanceled, when+", and it is unknown whether the shell ran it; check its effects before you send it again", p.j.id, r.command.ID)
	e.Handle, e.CommandID, e.Fate = p.j.id, r.command.ID, CommandUnknown
	return e
}
