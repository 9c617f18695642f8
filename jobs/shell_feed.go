package jobs

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/jobs/internal/shellfiles"
	"shelld.dev/shelld/jobs/internal/shellmark"
)

// A shell with integration reads the commands that it should run from a pipe that only it and the server use. So a
// command of any length arrives unchanged: the terminal, the line editor and the editor's history do not alter its
// characters, and no file contains it. The shell opens the pipe by its path (package shellfiles). It reads up to a NUL
// byte when the server types certain trigger keys.

// A shellLaunch is the start of a shell with integration.
type shellLaunch struct {
	shellmark.Launch
	watch  *shellWatch
	reader *shellmark.Reader
}

// integrate makes the files for a shell that gets the integration. If the job gets none, integrate returns the reason,
// as part of a sentence about the job.
func (m *services) integrate(s *Spec, p plan) (l *shellLaunch, why string) {
	if s.Plain {
		return nil, "it was started with shellIntegration off"
	}
	kind, ok := shellmark.For(p.path, p.argv)
	switch {
	case s.Command != nil || !ok || len(ShellIntegration()) == 0:
		return nil, "it is not an interactive shell that this server supports (capabilities.shellIntegration)"
	case dumb(p.env):
		// On such a terminal, a line editor cannot erase text. It overwrites it with spaces, and their number depends
		// on the length of the prompt. Besides, clients that choose such a terminal search its output for prompts.
		return nil, "its TERM names a terminal without cursor movement"
	}
	l, err := m.shellLaunch(kind, p)
	if err != nil {
		m.log.Warn("a shell starts without integration", "shell", p.path, "error", err)
		return nil, "the files for shell integration could not be created (" + errnoText(err) + ")"
	}
	return l, ""
}

// dumb reports whether the cursor of the terminal can only move forward. That is so if TERM is unset, empty, "dumb" or
// "unknown".
func dumb(env []string) bool {
	return !slices.ContainsFunc(env, func(v string) bool {
		name, term, _ := strings.Cut(v, "=")
		return name == "TERM" && term != "" && term != "dumb" && term != "unknown"
	})
}

func (m *services) shellLaunch(kind shellmark.Shell, p plan) (*shellLaunch, error) {
	m.swept.Do(shellfiles.Sweep)
	f, err := shellfiles.Make()
	if err != nil {
		return nil, err
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // It never fails.
	nonce := hex.EncodeToString(random[:])
	l := &shellLaunch{
		Launch: shellmark.NewLaunch(kind, p.argv, p.env, shellmark.Place{Dir: f.Dir, Commands: f.CommandPath, Scratch: f.ScratchPath, Nonce: nonce}),
		watch:  &shellWatch{kind: kind, files: f, feed: make(chan []byte, 2), secrets: map[string]bool{}},
		reader: shellmark.NewReader(nonce),
	}
	for name, text := range l.Files {
		if err := os.WriteFile(filepath.Join(f.Dir, name), text, 0o600); err != nil {
			f.Close()
			return nil, err
		}
	}
	return l, nil
}

// apply returns the plan p, changed so that it starts the shell with integration.
func (l *shellLaunch) apply(p plan) plan {
	p.argv = l.Argv
	env := make([]string, 0, len(p.env)+len(l.Env))
	for _, e := range p.env {
		name, _, _ := strings.Cut(e, "=")
		if _, ours := l.Env[name]; !ours {
			env = append(env, e)
		}
	}
	for name, value := range l.Env {
		env = append(env, name+"="+value)
	}
	p.env = env
	return p
}

// feedLoop owns the blocking write into the pipe that the shell reads its commands from. It ends with the job.
func (p *shellPart) feedLoop(s *shellWatch) {
	defer p.j.output.loops.Done()
	for {
		select {
		case text := <-s.feed:
			if text == nil {
				s.read.Add(-s.files.Drain())
			} else {
				n, _ := s.files.Write.Write(text) // It fails if the text is taken back, and if the shell has ended.
				s.read.Store(int64(n))
				clear(text)
			}
			if s.feeding.Add(-1) == 0 && s.awaited.Swap(false) {
				p.j.mail.Poke()
			}
		case <-p.j.ended:
			return
		case <-p.j.done:
			return
		}
	}
}

// handNext hands a ready shell the next text that waits for it. Keys that are typed from now on are for this text.
func (p *shellPart) handNext() {
	s := p.watch
	if !s.idle() {
		return // The previous text is not yet read, or not yet taken back, to its end.
	}
	if s.deaf {
		p.refuseDeaf()
		return
	}
	switch seq := s.session.Seq() + 1; {
	case s.session.InDoubt() != 0:
		text, _ := s.kind.HiddenPayload(seq, "")
		p.hand(shellmark.PhaseAsked, text, s.kind.HiddenTrigger())
	case len(s.tasks) > 0:
		text, _ := s.kind.HiddenPayload(seq, s.tasks[0].code) // The server's own code has no NUL.
		p.hand(shellmark.PhaseHidden, text, s.kind.HiddenTrigger())
	case len(s.queue) > 0:
		r := s.queue[0]
		text, _ := s.kind.Payload(seq, r.opts.Command) // Exec has checked that the command has a payload.
		p.hand(shellmark.PhaseHanded, text, s.kind.Trigger())
		r.given.Give(seq)
		r.handedAt = s.handedAt
	}
}

// hand passes a text to feedLoop, which must be idle, and types the keys that make the shell read it.
func (p *shellPart) hand(as shellmark.Phase, text, keys []byte) {
	s := p.watch
	s.session.Hand(as)
	s.handedAt = time.Now()
	s.feeding.Add(1)
	s.feed <- text // has room
	p.input.typeTrigger(keys)
}

// idle reports whether feedLoop has nothing to do. If not, the job takes a turn as soon as feedLoop is idle.
func (s *shellWatch) idle() bool {
	if s.feeding.Load() == 0 {
		return true
	}
	s.awaited.Store(true)
	return s.feeding.Load() == 0
}

// takeBack makes feedLoop take back the part of a text that the shell has not read. This must happen before the next
// text is handed over: the shell would run that part instead of the next command.
func (s *shellWatch) takeBack() {
	s.files.StopWrite()
	s.feeding.Add(1)
	s.feed <- nil // has room: at most the previous text is in it
}

// more handles the mark for an incomplete line: the shell waits for the rest of it. If the line is a command of Exec,
// that is dropped, since the shell would wait forever.
func (p *shellPart) more() {
	s := p.watch
	if !s.session.OnMore() || len(s.queue) == 0 {
		return // The line was typed.
	}
	r := s.queue[0]
	s.queue = s.queue[1:]
	s.session.DropIncomplete()
	r.command.Finished = true
	p.input.typeTrigger(s.kind.Drop())
	r.given.Withdraw()
	r.refuse(Invalid("/command", "the command is incomplete: the shell waits for the rest; close its quotes and blocks, and do not end it with an operator"))
}

// reviewHanded gives up on a text that the shell has not begun although it reads a line again. Possible reasons: the
// line editor has interpreted the trigger keys in another way, or an interrupt has discarded some of the keys, the
// text, or the marks that the shell has written about it.
func (p *shellPart) reviewHanded() {
	s, l := p.watch, p.waiting.probed()
	if !s.handing() || p.input.hasTrigger() {
		return
	}
	if s.session.Taking() {
		if s.idle() {
			p.judgeHanded(s.read.Load() > 0)
		}
		return
	}
	since := s.session.Since()
	if since == 0 {
		s.session.CountFrom(l.begun + 1) // Most texts have begun before that probe is due.
		return
	}
	if l.looked < since || !p.waitsSince(since) && !p.editsSince(since) {
		return
	}
	s.takeBack()
	if s.session.TakeBack(); s.idle() {
		p.judgeHanded(s.read.Load() > 0)
	}
}

// judgeHanded handles a text that was handed over and that the shell has not begun although it reads a line. The text
// may be a command, hidden code or a question. read says whether the shell has read any part of it: a part that it has
// not read does not run.
func (p *shellPart) judgeHanded(read bool) {
	s := p.watch
	was := s.session.OnTaken()
	switch again := s.struckBefore(s.handedAt); {
	case was == shellmark.PhaseAsked:
		p.doubtStays(read)
	case was == shellmark.PhaseHidden && len(s.tasks) > 0 && (!again && !s.struckSince(s.handedAt) || s.tasks[0].given):
		s.files.DropScratch() // The code may have run up to the point where it writes there.
		p.popTask().answer(0, p.unlessDeaf(p.notAsked(takesNothing)))
	case was == shellmark.PhaseHidden || len(s.queue) == 0: // It is asked once more, unless the task was given up.
	case read:
		s.session.Doubt(s.queue[0].given.Seq())
		s.doubtAt = time.Now()
	default:
		p.notBegun(s.queue[0])
	}
}

// takesNothing says why a shell that reads input does not react to the trigger keys.
const takesNothing = "does not take commands: its line editor may have a search, a menu or a question open (end it with Ctrl-C), or a function named builtin is in the way (type \"unset -f builtin\" with job/write)"

// notTaken returns the error for a command that was handed to such a shell.
func (p *shellPart) notTaken(r *execReq) *Error {
	e := errorf(CodeShellBusy, "the shell of job %d %s; then send command %d again: it did not run", p.j.id, takesNothing, r.command.ID)
	e.Handle = p.j.id
	return e
}

// interruptedEarly returns the error for a command that an interrupt has discarded.
func (p *shellPart) interruptedEarly(r *execReq) *Error {
	e := errorf(CodeCanceled, "command %d of job %d was interrupted before it started and will not run; send it again if it is still wanted", r.command.ID, p.j.id)
	e.Handle, e.CommandID, e.Fate = p.j.id, r.command.ID, CommandDropped
	return e
}

// strike notes that an interrupt is being sent. It may discard the text that the shell should take, together with the
// other input of the shell.
func (s *shellWatch) strike() {
	if s != nil {
		s.struckAt = time.Now()
	}
}

// struckSince reports whether an interrupt was sent after the time at which a text was handed to the shell.
func (s *shellWatch) struckSince(handed time.Time) bool { return s.struckAt.After(handed) }

// struckBefore reports whether an interrupt for something else was sent, or was found to be late (doubtAt), shortly
// before that time. Such an interrupt may have reached the shell only after it.
func (s *shellWatch) struckBefore(handed time.Time) bool {
	return !s.struckSince(handed) && latest(s.struckAt, s.doubtAt).After(handed.Add(-interruptTime))
}

// notBegun continues with a command that was handed to the shell if it is certain that the shell has not run it and
// does not run it. If an interrupt that was meant for something else has hit the command, it is handed over once more.
func (p *shellPart) notBegun(r *execReq) {
	s := p.watch
	again, struck := r.given.Fail() && s.struckBefore(r.handedAt), s.struckSince(r.handedAt)
	switch {
	case r.stopped && !r.answered: // as for a command whose time is over while it waits in the queue
		s.queue = s.queue[1:]
		r.command.Finished = true
		p.answerLate(r)
	case r.unwanted:
		p.dropHanded(p.interruptedEarly) // Its request was answered.
	case again: // It is handed over again when the shell is ready.
	case struck:
		p.dropHanded(p.interruptedEarly)
	default:
		p.dropHanded(p.notTaken)
	}
}

// dropHanded removes and answers a command that was handed to the shell and will not run.
func (p *shellPart) dropHanded(why func(*execReq) *Error) {
	s := p.watch
	if len(s.queue) == 0 {
		return // The command was given up.
	}
	r := s.queue[0]
	s.queue = s.queue[1:]
	r.command.Finished = true
	r.refuse(why(r))
}
