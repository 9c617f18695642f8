package jobs

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/shellmark"
)

// Marks can be missing: an interrupt while a prompt is drawn discards the rest of the prompt, and pasted text contains
// line ends that do not end a line. In these cases the server detects from outside that a shell reads a line.

// needsReading reports whether a request waits for a shell that is not known to read a line.
func (s *shellWatch) needsReading() bool {
	if s == nil || len(s.queue)+len(s.tasks) == 0 {
		return false
	}
	p := s.session.Phase()
	return p == shellmark.PhaseBeginning || p == shellmark.PhaseReady && s.session.Typing()
}

// missesEnd reports whether the end of the running command may have come without a mark, while a request waits for it.
// Such a request would wait forever.
func (p *shellPart) missesEnd() bool {
	s := p.watch
	if s == nil || s.session.Phase() != shellmark.PhaseRunning || !p.losesEnd() && !p.hidesEnd() {
		return false
	}
	return len(s.queue)+len(s.tasks) > 0 || p.waits.waitsFor(UntilCommand)
}

// losesEnd reports whether an interrupt may have discarded the mark. It may have been sent before the server knew that
// the command runs.
func (p *shellPart) losesEnd() bool {
	s := p.watch
	return !s.askedAt.After(s.struckAt) && s.struckAt.After(s.current.StartedAt.Add(-interruptTime))
}

// hidesEnd reports whether the command may have removed the hooks that write the mark, as PS1='$ '; unset
// PROMPT_COMMAND does in bash: the line editor is on while the shell itself is in the foreground. Another reason is that
// the command reads a line (read -e), so the shell is asked once for each command. The other shells have more hooks,
// and zsh may read a line (vared -M) with other keys than the question's.
func (p *shellPart) hidesEnd() bool {
	s, front := p.watch, p.j.info.Foreground
	return s.kind == shellmark.Bash && !s.askedAt.After(s.current.StartedAt) && p.editsLines() && (front == nil || front.PID == p.j.info.PID)
}

// reviewReading sets the shell to ready if a probe shows that it reads a line, and that this is not the rest of an
// incomplete line. This does not apply before the first prompt: then the start-up files may read.
func (p *shellPart) reviewReading() {
	s, l := p.watch, p.waiting.probed()
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

// waitsSince reports whether the probe with this number, or a later one, has seen the job wait for input, and there
// was no activity since.
func (p *shellPart) waitsSince(look int) bool {
	l := p.waiting.probed()
	return p.j.waitingFor != nil && l.ofTaken >= look && l.of == p.waiting.activity()
}

// editsSince reports whether the probe with this number, or a later one, has seen the shell's line editor read, and
// there was no activity since. Then the shell is idle until it gets input, whatever else runs in the job.
func (p *shellPart) editsSince(look int) bool {
	r := p.waiting.probed().reader
	return r.pid == p.j.info.PID && r.look >= look && r.of == p.waiting.activity() && p.editsLines()
}

// leaderReads reports whether the last probe has seen that the shell itself reads, and there was no activity since.
// fish waits for more than its input, so the system does not report it exactly while anything else runs in the job.
// Then the probe must have seen its line editor.
func (p *shellPart) leaderReads() bool {
	l := p.waiting.probed()
	return p.j.waitingFor != nil && l.of == p.waiting.activity() && p.j.waitingFor.PID == p.j.info.PID && (p.j.waitingFor.Confidence == inputwait.Exact || p.editorReads())
}

// editorReads reports whether, by the state of the terminal, the process that reads it is the line editor of a shell.
func (p *shellPart) editorReads() bool {
	w := p.j.waitingFor
	return w != nil && rank(w.Confidence) >= rank(inputwait.Likely) && w.Kind == InputRaw && p.editsLines()
}

// editsLines reports whether a shell that reads the terminal does so with its line editor. bash and zsh turn on
// bracketed paste while the line editor reads, and at no other time. fish reads only with its line editor; this
// includes its builtin read. fish may not have turned on bracketed paste: a handler of its prompt does that, and an
// interrupt ends the handler.
func (p *shellPart) editsLines() bool {
	return p.watch.kind == shellmark.Fish || p.j.heard != nil && p.j.modes().BracketedPaste
}

// blocksWrite reports whether an item waits until the shell has begun a command that came before it: input that is
// sent after a command is for that command. If a start-up file asks for input, the item does not wait.
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

// waits reports whether a command waits in the queue, not yet begun.
func (s *shellWatch) waits(id int64) bool {
	for _, r := range s.queue {
		if r.command.ID == id {
			return true
		}
	}
	return false
}

// lastQueued returns the ID of the last queued command that has not begun, or 0 if there is none.
func (p *shellPart) lastQueued() int64 {
	s := p.watch
	if s == nil || len(s.queue) == 0 {
		return 0
	}
	return s.queue[len(s.queue)-1].command.ID
}

// noteTyped notes that data was typed into the shell.
func (p *shellPart) noteTyped(data []byte) {
	if p.watch != nil && bytes.ContainsAny(data, "\r\n") {
		p.watch.session.OnTyped()
	}
}

// Until its first prompt a shell reads its start-up files, and writes no marks. The start-up files may do anything:
// run a program that the user must leave, ask for input themselves, or have another program take the shell's place
// (shell_replaced.go). The server observes them from outside, like any other job.

// starts reports whether the shell has not come to its first prompt, as far as its marks tell.
func (s *shellWatch) starts() bool {
	return s != nil && s.image == "" && s.session.Phase() != shellmark.PhaseGone
}

// startAsks returns the wait for input that keeps a shell from its first prompt, or nil if none is known. A shell that
// reads its first line also waits for input. So the wait counts only after all marks that the shell has written before
// are handled.
func (p *shellPart) startAsks() *WaitingForInput {
	w := p.j.waitingFor
	switch {
	case !p.watch.starts() || w == nil || p.waiting.probed().of != p.waiting.activity():
		return nil
	case rank(w.Confidence) < rank(inputwait.Likely) || w.State != inputwait.Reading && !(w.PID == p.j.info.PID && p.editorReads()):
		return nil
	case !p.j.output.streams[0].src.Idle() || p.watch.hasMarks():
		return nil
	}
	return w
}

// startKeeps returns what keeps a shell from its first prompt, and advice about it, as parts of a sentence.
func (p *shellPart) startKeeps() (why, cure string) {
	other := ""
	if f := p.watch.front; f != nil && f.PID != p.j.info.PID {
		other = fmt.Sprintf("%q (process %d)", shortened(f.Command), f.PID)
	}
	switch w := p.startAsks(); {
	case w != nil && w.PID == p.j.info.PID:
		return "has not reported a prompt yet and waits for input: its start-up files ask for something, or prevent that report",
			"answer them with job/write, then send this again (job/screen shows what is there)"
	case w != nil && other != "":
		return "is still reading its start-up files, in which " + other + " waits for input",
			"answer or leave that with job/write, and send this again (job/screen shows what it asks)"
	case w != nil:
		return "is still reading its start-up files, in which a program waits for input",
			"answer or leave that with job/write, and send this again (job/screen shows what it asks)"
	case other != "":
		return "is still reading its start-up files, in which " + other + " runs",
			"send this again when that has ended, or end it with job/signal INT, which may also stop the shell from reading these files"
	}
	return "is still reading its start-up files",
		"send this again when it is done, or interrupt it with job/signal INT"
}

// busyStarting returns the error for a command that must not wait, if something keeps the shell from its first prompt.
func (p *shellPart) busyStarting() *Error {
	why, cure := p.startKeeps()
	e := errorf(CodeShellBusy, "the shell of job %d %s; %s, or leave ifBusy out to queue this command", p.j.id, why, cure)
	e.Handle = p.j.id
	return e
}

// reviewStart answers the commands that must not wait, as soon as it is known that a program or a start-up file keeps
// the shell from its first prompt by waiting for input. While the shell only reads its files, this cannot be known,
// and the commands wait.
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

func (p *shellPart) starts() bool { return p.watch.starts() }

func (p *shellPart) needsReading() bool { return p.watch.needsReading() }

// noteFront notes the foreground process before the first prompt.
func (p *shellPart) noteFront(front *Process) { p.watch.front = front }

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
	if !p.editorReads() && !p.editsSince(s.readingBy) || s.striking > 0 || p.input.first() != nil || p.j.stdin == nil || !s.idle() {
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
