package jobs

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/shellmark"
)

// A shell that is a job and has the integration (package shellmark) reports by marks in its output
// when it reads a line, when a command begins and when it has ended. The readLoop takes them out, and
// leaves them here with their offset in the stream; a turn takes them up, in order. The state of the
// shell follows from them alone (shellmark.Session). An interrupt may discard anything that is on its
// way, marks included; then the shell is asked about the command (shell_doubt.go).
//
// A command of Exec waits until the shell is ready. Then its text is written into a pipe that the
// shell reads, and the keys that make it do so are typed (shell_feed.go).

// mostHistory bounds the commands that are remembered, and mostHistoryText what they say. The
// oldest ones go.
const (
	mostHistory     = 1000
	mostHistoryText = 1 << 20
)

// A shellWatch is what is known of a shell.
type shellWatch struct {
	// Immutable:
	kind  shellmark.Shell
	files *shellFiles
	feed  chan []byte // a turn -> feedLoop; capacity 2: a text, and nil to have it taken back

	feeding atomic.Int32 // in feed, or taken from it and not done with
	awaited atomic.Bool  // a turn waits for feeding to be 0
	read    atomic.Int64 // of what was fed last, once feeding is 0: what was written, and not taken back

	mu    sync.Mutex
	marks []placedMark // readLoop -> a turn

	// Guarded by turns:
	session   shellmark.Session
	why, cure string   // why it is gone; what to do about that, "" = what is always to be done
	replaced  bool     // that is because another program has taken its place
	image     string   // what the leader executes, since the first prompt; "" = there was none yet
	front     *Process // who was in the foreground when it was looked last before the first prompt; nil: not known
	look      imageLook
	deaf      bool      // its line editor is off: no keys have it take anything (exec_interrupt.go)
	handedAt  time.Time // when it last was
	struckAt  time.Time // when an interrupt was sent last
	striking  int       // interrupts of the server's own that are being sent
	doubtAt   time.Time // when there was one last
	lost      *execReq  // of which it was told that it may have run
	askedAt   time.Time // when it was asked whether a command still runs
	readingBy int       // the first look for input that counts where it is not known to read
	ids       int64
	queue     []*execReq      // wait for the shell; the first one is handed where phase says so
	again     []*execReq      // are to be awaited once more
	running   *execReq        // whose command runs; nil: a typed one does
	current   *ShellCommand   // runs
	tasks     []*shellTask    // the first one is under way where phase says so
	secrets   map[string]bool // variables that were set as such
	past      []*ShellCommand
	text      int // bytes of past
	cwd       string
}

// A placedMark is a mark and the offset in the stream at which it stood.
type placedMark struct {
	shellmark.Mark
	at int64
}

func (s *shellWatch) put(m placedMark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks = append(s.marks, m)
}

func (s *shellWatch) take() []placedMark {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.marks
	s.marks = nil
	return all
}

// hasMarks says whether the next turn has any to take up.
func (s *shellWatch) hasMarks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.marks) > 0
}

// shellPart has the commands of a job that is a shell with integration.
type shellPart struct {
	noPart
	j *Job

	watch *shellWatch // nil: it has no integration; set once, before the first turn
	none  string      // why; "" = it has no terminal
}

// takeMarks takes up what the shell has said by now.
func (p *shellPart) takeMarks() {
	if p.watch == nil {
		return
	}
	for _, m := range p.watch.take() {
		switch m.Kind {
		case shellmark.Ready:
			p.watch.deaf = m.Deaf
			p.ready()
		case shellmark.Loaded:
			p.watch.session.OnLoaded(m.Seq)
		case shellmark.Began:
			p.began(m)
		case shellmark.Ended:
			p.ended(m)
		case shellmark.Ran:
			p.ran(m.Seq, m.Exit)
		case shellmark.Dropped:
			p.dropped(m.Seq)
		case shellmark.More:
			p.more()
		}
	}
}

// tellsDirectory says whether the shell itself tells where it is, whatever programs say.
func (s *shellWatch) tellsDirectory() bool { return s != nil && s.cwd != "" }

// ready takes it that the shell reads a line. A prompt that is drawn again says so once
// more; while a command runs, the Reader lets no such mark through.
func (p *shellPart) ready() {
	s := p.watch
	if !s.session.OnReady() {
		return
	}
	if s.image == "" {
		s.image = imageOf(p.j.info.PID)
		s.files.forget()
	}
}

// end0 is the end of the terminal's stream.
func (p *shellPart) end0() int64 { return p.j.output.streams[0].spool.End() }

// handed is the command that has a number; nil: there is none that waits for the shell to begin it.
func (s *shellWatch) handed(seq int64) *execReq {
	if seq == 0 || len(s.queue) == 0 || s.queue[0].given.Seq() != seq {
		return nil
	}
	return s.queue[0]
}

// began takes it that a command runs.
func (p *shellPart) began(m placedMark) {
	s := p.watch
	if s.current != nil {
		p.commandEnded(nil, "", m.at)
	}
	r := s.handed(m.Seq)
	s.session.OnBegan(r != nil)
	var c *ShellCommand
	switch {
	case r != nil:
		s.queue, s.running = s.queue[1:], r
		c = r.command
	case s.lost != nil && s.lost.given.Seq() == m.Seq:
		c = s.lost.command
		c.Finished = false
	default:
		s.ids++
		c = &ShellCommand{ID: s.ids, Text: m.Text, Typed: m.Seq == 0}
	}
	s.lost = nil // It would have begun by now.
	c.StartedAt, c.Output.From = time.Now(), m.at
	s.current = c
	if s.running != nil {
		p.execBegan(s.running)
	}
}

// dropped takes it that a command that the shell has taken will not run.
func (p *shellPart) dropped(seq int64) {
	s := p.watch
	if s.lost != nil && s.lost.given.Seq() == seq {
		s.lost = nil
	}
	r := s.handed(seq)
	if r == nil {
		return
	}
	s.session.OnDropped()
	p.notBegun(r)
}

// handing says whether something is handed to the shell that it has not begun.
func (s *shellWatch) handing() bool {
	return s != nil && s.session.Handing()
}

// ended takes it that the command has ended; there is none where an empty line was read,
// and before the first prompt.
func (p *shellPart) ended(m placedMark) {
	s := p.watch
	if m.Cwd != "" && m.Cwd != s.cwd {
		s.cwd = m.Cwd
		p.j.info.CurrentDirectory = p.j.redaction.text(m.Cwd)
		p.j.changes.untold.Add(Changed{What: ChangeDirectory, Directory: p.j.info.CurrentDirectory})
	}
	switch {
	case s.current != nil:
		if s.current.Typed && m.Text != "" {
			s.current.Text = m.Text // bash knows it only now
		}
		p.commandEnded(&m.Exit, m.Cwd, m.at)
	default:
		s.session.OnEnded()
	}
}

// commandEnded is the end of the command that runs. exit is nil where nobody knows it.
func (p *shellPart) commandEnded(exit *int, cwd string, at int64) {
	s := p.watch
	c := s.current
	s.current, s.running = nil, nil
	s.session.OnEnded()
	c.ExitCode, c.Finished, c.EndedAt, c.Cwd, c.Output.To = exit, true, time.Now(), cwd, at
	s.remember(c)
	finished := p.cleanCommand(*c)
	p.j.sink.Event(Event{After: map[Stream]int64{PTY: at}, Command: &CommandFinished{finished}})
}

// remember keeps a command that has ended.
func (s *shellWatch) remember(c *ShellCommand) {
	s.past = append(s.past, c)
	s.text += len(c.Text)
	for len(s.past) > mostHistory || s.text > mostHistoryText && len(s.past) > 1 {
		s.text -= len(s.past[0].Text)
		s.past = s.past[1:]
	}
}

// finished says whether a command has ended, or never will. Those that are not remembered have.
func (s *shellWatch) finished(id int64) bool {
	return (s.current == nil || s.current.ID != id) && !s.waits(id)
}

// command is a command that has ended, as far as it is kept.
func (p *shellPart) command(id int64) *ShellCommand {
	i := slices.IndexFunc(p.watch.past, func(c *ShellCommand) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	c := p.cleanCommand(*p.watch.past[i])
	return &c
}

// checkCommand refuses to wait for a command that there has never been.
func (p *shellPart) checkCommand(c Condition) *Error {
	if c.Kind != UntilCommand {
		return nil
	}
	if p.watch == nil {
		return p.integrated()
	}
	if c.Command > p.watch.ids {
		return Invalid(c.Watch.Pointer, "the shell of job %d has run no command %d; the last one is %d", p.j.id, c.Command, p.watch.ids)
	}
	return nil
}

// over is for a shell whose process has ended: what ran in it has, and what waits for it
// never will.
func (p *shellPart) over() {
	s := p.watch
	if s == nil || s.session.Phase() == shellmark.PhaseGone {
		return
	}
	p.left("its shell has ended", p.j.over)
}

// left is for a shell that is there no more; refusal is what answers who waits for it.
func (p *shellPart) left(why string, refusal func() *Error) {
	s := p.watch
	if s.current != nil {
		p.commandEnded(nil, "", p.end0())
	}
	s.session.Leave()
	s.why = why
	s.files.stopWrite()
	s.files.dropScratch()
	p.failExecs(refusal)
	p.failTasks(refusal)
}

// cleanCommand is a command without what is secret.
func (p *shellPart) cleanCommand(c ShellCommand) ShellCommand {
	c.Text, c.Cwd = p.j.redaction.text(c.Text), p.j.redaction.text(c.Cwd)
	return c
}
