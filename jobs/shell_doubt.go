package jobs

import (
	"time"

	"shelld/jobs/internal/shellmark"
)

// What the shell says of a command can be lost, as can the command: an interrupt key throws away
// what is on its way through the terminal, in both directions. Where the shell has read a command and is
// seen to read on, or has said nothing for long after an interrupt, it is asked: by a key that has it run
// no code, for which it tells once more what has become of the last command that it has read. Its answer alone
// decides whether that has run. What it does not read at all cannot have run, which the server sees by itself
// (reviewHanded).

// doubtRunning asks whether what runs does so. It is the shell's line editor that reads, at a prompt or
// for a command of the shell's own such as vared, and takes the key in either case.
func (p *shellPart) doubtRunning() {
	s := p.watch
	if !p.editorReads() && !p.editsSince(s.readingBy) || s.striking > 0 || len(p.j.input.queue.items) > 0 || p.j.input.to == nil || !s.idle() {
		return
	}
	s.askedAt, s.readingBy = time.Now(), 0
	s.session.Doubt(shellmark.DoubtRunning)
	p.handNext()
}

// doubtStays takes it that the shell reads on and does not answer. read says whether it has read the
// question.
func (p *shellPart) doubtStays(read bool) {
	s := p.watch
	r := s.handed(s.session.InDoubt())
	if r != nil && !read && r.given.AskAgain() {
		return // The question is handed over once more.
	}
	s.session.EndDoubt()
	if r != nil {
		s.lost = r
		p.dropHanded(p.mayHaveRun)
	}
}

// mayHaveRun answers as to a command of which the shell does not tell whether it has run.
func (p *shellPart) mayHaveRun(r *execReq) *Error {
	when := "the shell of job %d was given command %d"
	if s := p.watch; s.struckSince(r.handedAt) || s.struckBefore(r.handedAt) {
		when = "an interrupt came as the shell of job %d was to begin command %d"
	}
	e := errorf(CodeCanceled, when+", and the shell, which reads on, does not tell whether it has run; look at what it would have done before it is sent again", p.j.id, r.command.ID)
	e.Handle, e.CommandID, e.Fate = p.j.id, r.command.ID, CommandUnknown
	return e
}
