package jobs

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"shelld/jobs/internal/shellmark"
)

// What a shell is to run it reads from a pipe that nobody else has: a line of any length gets
// there as it is, whatever the terminal, the line editor and its history make of characters,
// and no file has it. It opens the pipe by a path (feedPipe) and reads up to a NUL byte, when
// the keys that make it do so are typed.

// shellFiles are what a shell is started with, and reads.
type shellFiles struct {
	dir   string   // of the start-up files; removed as soon as they were read
	held  *os.File // the same, locked
	read  *os.File
	write *os.File
	// scratch is memory that the shell writes to by a path.
	scratch     *os.File
	scratchPath string
	once        sync.Once
}

// forget removes the start-up files, which are read once and tell what marks look like.
func (f *shellFiles) forget() {
	f.once.Do(func() {
		_ = os.RemoveAll(f.dir) // Best effort: the next server does it (sweepPlaces).
		if f.held != nil {
			_ = f.held.Close() // Nothing was written.
		}
	})
}

func (f *shellFiles) close() {
	f.forget()
	for _, file := range []*os.File{f.read, f.write, f.scratch} {
		if file != nil {
			_ = file.Close() // Nothing is owed to anybody.
		}
	}
}

// A shellLaunch is a shell that is to have the integration.
type shellLaunch struct {
	shellmark.Launch
	watch  *shellWatch
	reader *shellmark.Reader
}

// integrate makes the files for a shell that is to have the integration. Where there is none,
// it says why, for a sentence about the job.
func (m *Manager) integrate(s *Spec, p plan) (l *shellLaunch, why string) {
	if s.Plain {
		return nil, "it was started with shellIntegration off"
	}
	kind, ok := shellmark.For(p.path, p.argv)
	switch {
	case s.Command != nil || !ok || len(ShellIntegration()) == 0:
		return nil, "it is no interactive shell that this server knows (capabilities.shellIntegration)"
	case dumb(p.env):
		// Line editors fill what they cannot erase with spaces, by how long the prompt is; those who
		// ask for such a terminal look for prompts in it.
		return nil, "its TERM says that its cursor cannot be moved"
	}
	l, err := m.shellLaunch(kind, p)
	if err != nil {
		m.log.Warn("a shell starts without integration", "shell", p.path, "error", err)
		return nil, "what it takes could not be made (" + errnoText(err) + ")"
	}
	return l, ""
}

// dumb says whether a terminal is one of those whose cursor only goes on.
func dumb(env []string) bool {
	return !slices.ContainsFunc(env, func(v string) bool {
		name, term, _ := strings.Cut(v, "=")
		return name == "TERM" && term != "" && term != "dumb" && term != "unknown"
	})
}

func (m *Manager) shellLaunch(kind shellmark.Shell, p plan) (*shellLaunch, error) {
	m.versions.swept.Do(func() { sweepPlaces(os.TempDir(), time.Now().Add(-placeTime)) })
	f := &shellFiles{}
	if err := f.makePlace(); err != nil {
		return nil, err
	}
	path, err := f.open()
	if err != nil {
		f.close()
		return nil, err
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // It never fails.
	nonce := hex.EncodeToString(random[:])
	l := &shellLaunch{
		Launch: shellmark.NewLaunch(kind, p.argv, p.env, shellmark.Place{Dir: f.dir, Commands: path, Scratch: f.scratchPath, Nonce: nonce}),
		watch:  &shellWatch{kind: kind, files: f, feed: make(chan []byte, 2), secrets: map[string]bool{}},
		reader: shellmark.NewReader(nonce),
	}
	for name, text := range l.Files {
		if err := os.WriteFile(filepath.Join(f.dir, name), text, 0o600); err != nil {
			f.close()
			return nil, err
		}
	}
	return l, nil
}

// apply is the plan of such a shell.
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

// feedLoop owns the blocking write of what the shell is to run. It ends with the job.
func (p *shellPart) feedLoop(s *shellWatch) {
	defer p.j.output.loops.Done()
	for {
		select {
		case text := <-s.feed:
			if text == nil {
				s.read.Add(-s.files.drain())
			} else {
				n, _ := s.files.write.Write(text) // It fails when it is taken back, and when the shell has ended.
				s.read.Store(int64(n))
				clear(text)
			}
			if s.feeding.Add(-1) == 0 && s.awaited.Swap(false) {
				p.j.actor.mail.Poke()
			}
		case <-p.j.ended:
			return
		case <-p.j.done:
			return
		}
	}
}

// handNext gives a shell that is ready what waits for it. What is typed from now on is for
// that.
func (p *shellPart) handNext() {
	s := p.watch
	if !s.idle() {
		return // What was handed before is not read, or not taken back, to its end.
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
		text, _ := s.kind.HiddenPayload(seq, s.tasks[0].code) // Code of ours has no NUL.
		p.hand(shellmark.PhaseHidden, text, s.kind.HiddenTrigger())
	case len(s.queue) > 0:
		r := s.queue[0]
		text, _ := s.kind.Payload(seq, r.opts.Command) // Exec has seen that there is one.
		p.hand(shellmark.PhaseHanded, text, s.kind.Trigger())
		r.given.Give(seq)
		r.handedAt = s.handedAt
	}
}

// hand has the shell given a text, for which feedLoop is idle, and the keys typed that make it read that.
func (p *shellPart) hand(as shellmark.Phase, text, keys []byte) {
	s := p.watch
	s.session.Hand(as)
	s.handedAt = time.Now()
	s.feeding.Add(1)
	s.feed <- text // has room
	p.typeTrigger(keys)
}

// idle says whether feedLoop has nothing to do; else a turn is taken when it has not.
func (s *shellWatch) idle() bool {
	if s.feeding.Load() == 0 {
		return true
	}
	s.awaited.Store(true)
	return s.feeding.Load() == 0
}

// takeBack has what the shell has not read of a text taken back, before anything else is
// handed to it: it would run that in place of the next command.
func (s *shellWatch) takeBack() {
	s.files.stopWrite()
	s.feeding.Add(1)
	s.feed <- nil // has room: there is at most the text before it
}

// typeTrigger types keys that are the server's own, before whatever else waits to be typed.
func (p *shellPart) typeTrigger(keys []byte) {
	q := &queued{data: keys, trigger: true, reply: newReply[WriteResult]()}
	p.j.input.queue.insert(p.j.input.queue.afterFirst(), q)
	p.j.input.queue.bytes.Add(int64(len(q.data)))
}

// more takes it that the shell wants the rest of a line. One that was handed to it is
// dropped: it would wait for ever.
func (p *shellPart) more() {
	s := p.watch
	if !s.session.OnMore() || len(s.queue) == 0 {
		return // The line is one that was typed.
	}
	r := s.queue[0]
	s.queue = s.queue[1:]
	s.session.DropIncomplete()
	r.command.Finished = true
	p.typeTrigger(s.kind.Drop())
	r.given.Withdraw()
	r.refuse(Invalid("/command", "the shell waits for the rest of this command; complete it: close what it opens, and end it with no operator"))
}

// reviewHanded gives up on what the shell has not begun although it reads on: its line editor
// has made something else of the keys, or an interrupt has thrown away some of them, or the line, or
// what the shell has said of it.
func (p *shellPart) reviewHanded() {
	s, l := p.watch, &p.j.waiting.watch
	if !s.handing() || slices.ContainsFunc(p.j.input.queue.items, func(q *queued) bool { return q.trigger }) {
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
		s.session.CountFrom(p.j.waiting.watch.begun + 1) // Most have begun before it is time for that one.
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

// judgeHanded takes it that the shell has not begun what was handed to it, and reads a line, whatever
// that is. read says whether it has read any of it: what it has not read does not run.
func (p *shellPart) judgeHanded(read bool) {
	s := p.watch
	was := s.session.OnTaken()
	switch again := s.struckBefore(s.handedAt); {
	case was == shellmark.PhaseAsked:
		p.doubtStays(read)
	case was == shellmark.PhaseHidden && len(s.tasks) > 0 && (!again && !s.struckSince(s.handedAt) || s.tasks[0].given):
		s.files.dropScratch() // It may have got that far.
		p.popTask().answer(0, p.unlessDeaf(p.notAsked(takesNothing)))
	case was == shellmark.PhaseHidden || len(s.queue) == 0: // It is asked once more, where it was not given up.
	case read:
		s.session.Doubt(s.queue[0].given.Seq())
		s.doubtAt = time.Now()
	default:
		p.notBegun(s.queue[0])
	}
}

// takesNothing says why a shell that reads does not do as it is told.
const takesNothing = "does not take commands: a search, a menu or a question of its line editor may be open, which Ctrl-C ends; or a function named builtin is in the way, which the line \"unset -f builtin\" takes away (job/write)"

// notTaken answers as to a command that was given to such a shell.
func (p *shellPart) notTaken(r *execReq) *Error {
	e := errorf(CodeShellBusy, "the shell of job %d %s; then send command %d again, which has not run", p.j.id, takesNothing, r.command.ID)
	e.Handle = p.j.id
	return e
}

// interruptedEarly answers as to input that an interrupt has dropped.
func (p *shellPart) interruptedEarly(r *execReq) *Error {
	e := errorf(CodeCanceled, "command %d of job %d was interrupted before it began, and never runs; send it again if it is still wanted", r.command.ID, p.j.id)
	e.Handle, e.CommandID, e.Fate = p.j.id, r.command.ID, CommandDropped
	return e
}

// strike takes it that an interrupt is sent: what the shell is to take may be lost with what it
// reads.
func (s *shellWatch) strike() {
	if s != nil {
		s.struckAt = time.Now()
	}
}

// struckSince says whether an interrupt was sent behind what was handed to the shell at a time.
func (s *shellWatch) struckSince(handed time.Time) bool { return s.struckAt.After(handed) }

// struckBefore says whether one was sent shortly before that, for something else, or was seen to be late
// (doubtAt): it may have come to the shell only then.
func (s *shellWatch) struckBefore(handed time.Time) bool {
	return !s.struckSince(handed) && latest(s.struckAt, s.doubtAt).After(handed.Add(-interruptTime))
}

// notBegun goes on with the command that was handed to the shell where it is certain that it has not run,
// and does not: it is handed once more where an interrupt has hit it that was for something else.
func (p *shellPart) notBegun(r *execReq) {
	s := p.watch
	again, struck := r.given.Fail() && s.struckBefore(r.handedAt), s.struckSince(r.handedAt)
	switch {
	case r.stopped && !r.answered: // as one that waits in line when its time is over
		s.queue = s.queue[1:]
		r.command.Finished = true
		p.answerLate(r)
	case r.unwanted:
		p.dropHanded(p.interruptedEarly) // It was answered.
	case again: // when the shell is ready
	case struck:
		p.dropHanded(p.interruptedEarly)
	default:
		p.dropHanded(p.notTaken)
	}
}

// dropHanded answers a command that was handed to the shell and will not run.
func (p *shellPart) dropHanded(why func(*execReq) *Error) {
	s := p.watch
	if len(s.queue) == 0 {
		return // It was given up.
	}
	r := s.queue[0]
	s.queue = s.queue[1:]
	r.command.Finished = true
	r.refuse(why(r))
}

// dropScratch forgets what the shell has written and nobody has read.
func (f *shellFiles) dropScratch() {
	_ = f.scratch.Truncate(0) // It fails where it is closed, and nothing is kept either.
}

// stopWrite has a write into the pipe fail, one that is to come too, until drain.
func (f *shellFiles) stopWrite() {
	_ = f.write.SetWriteDeadline(time.Unix(1, 0)) // It fails where it is closed, and so does the write.
}

// drain takes back what the shell has not read, and says how much that is. Nobody writes meanwhile: it
// is feedLoop's.
func (f *shellFiles) drain() (all int64) {
	b := make([]byte, 64<<10)
	for {
		n, err := readNow(f.read, b)
		if n <= 0 || err != nil {
			break
		}
		all += int64(n)
	}
	clear(b)
	_ = f.write.SetWriteDeadline(time.Time{}) // As in stopWrite.
	return all
}
