package jobs

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs/internal/roots"
	"shelld.dev/shelld/jobs/internal/shellfiles"
	"shelld.dev/shelld/jobs/internal/shellmark"
)

// A shell with integration (package shellmark) is a job that reports by marks in its output: when it reads a line,
// when a command begins and when a command has ended. The readLoop takes the marks out of the output and stores them
// here, each with its offset in the stream. A turn handles them in order. They alone determine the state of the shell
// (shellmark.Session). An interrupt may discard anything that is on its way, marks included. Then the shell is asked
// about the command (doubtRunning).
//
// A command of Exec waits until the shell is ready. Then the server writes its text into a pipe that the shell reads,
// and types the keys that make the shell read it (shell_feed.go).

// mostHistory bounds the number of commands that are remembered, and mostHistoryText the total length of their texts.
// The oldest commands are forgotten first.
const (
	mostHistory     = 1000
	mostHistoryText = 1 << 20
)

// A shellWatch is the server's knowledge about a shell with integration.
type shellWatch struct {
	// Immutable:
	kind  shellmark.Shell
	files *shellfiles.Files
	feed  chan []byte // a turn -> feedLoop; capacity 2: a text, and nil for the order to take it back

	feeding atomic.Int32 // number of orders in feed, or taken from it and not yet done
	awaited atomic.Bool  // a turn should be taken when feeding is 0
	read    atomic.Int64 // once feeding is 0: bytes of the last text that were written and not taken back

	mu    sync.Mutex
	marks []placedMark // readLoop -> a turn

	// Guarded by turns:
	session   shellmark.Session
	why, cure string   // why the shell is gone; advice about that, "" = the usual advice
	replaced  bool     // the reason is that another program has taken its place
	image     string   // the program that the leader executes since the first prompt; "" = no prompt yet
	front     *Process // the foreground process at the last probe before the first prompt; nil: not known
	look      imageLook
	deaf      bool      // its line editor is off: no keys make it read a text (exec_interrupt.go)
	handedAt  time.Time // when a text was last handed over
	struckAt  time.Time // when the last interrupt was sent
	striking  int       // the server's own interrupts that are being sent
	doubtAt   time.Time // when a command was last in doubt
	lost      *execReq  // the command whose request was answered that it may have run
	askedAt   time.Time // when the shell was asked whether a command still runs
	readingBy int       // the first input probe that counts if the shell is not known to read
	ids       int64
	queue     []*execReq      // commands that wait for the shell; the first one is handed over if the phase says so
	again     []*execReq      // commands to wait for once more
	running   *execReq        // the request whose command runs; nil: a typed one runs
	current   *ShellCommand   // runs
	tasks     []*shellTask    // the first one is in progress if the phase says so
	secrets   map[string]bool // variables that were set as secret
	past      []*ShellCommand
	text      int // length of the texts in past
	cwd       string
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

// hasMarks reports whether there are marks for the next turn.
func (s *shellWatch) hasMarks() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.marks) > 0
}

type (
	// A shellConfirmer asks a person about code for a shell.
	shellConfirmer interface {
		askAbout(m cancelable, question func() (*Question, *Error))
		question(a Action, asker Asker, handle ID, command, cwd string, found roots.Found) (*Question, *Error)
	}
	// A keyboard types the keys that make a shell read a text.
	keyboard interface {
		first() *queued
		typeTrigger(keys []byte)
		hasTrigger() bool
	}
	// An outsider detects from outside whether a shell reads.
	outsider interface {
		probed() probes
		activity() activity
		activeAt() time.Time
	}
	// A commandWaiter has the waits of commands.
	commandWaiter interface {
		origin(spec *WaitSpec, byDefault OriginKind) (map[Stream]int64, *Error)
		outcome(w *wait, reason string, index int) Outcome
		arm(w *wait)
		cancel(tok *token) bool
		waitsFor(kind ConditionKind) bool
	}
)

// shellPart handles the commands of a job that is a shell with integration.
type shellPart struct {
	noPart
	j *base

	asking  shellConfirmer
	input   keyboard
	lease   typingChecker
	waiting outsider
	waits   commandWaiter

	watch *shellWatch // nil: no integration; set once, before the first turn
	none  string      // why there is no integration; "" = the job has no terminal
}

// takeMarks handles the marks that the shell has written so far.
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

// ready handles the mark that the shell reads a line. A prompt that is drawn again has this mark once more. While a
// command runs, the Reader lets no such mark through.
func (p *shellPart) ready() {
	s := p.watch
	if !s.session.OnReady() {
		return
	}
	if s.image == "" {
		s.image = imageOf(p.j.info.PID)
		s.files.Forget()
	}
}

// end0 returns the end offset of the terminal's stream.
func (p *shellPart) end0() int64 { return p.j.output.streams[0].spool.End() }

// handed returns the command with this number, or nil if no command with this number waits for the shell to begin it.
func (s *shellWatch) handed(seq int64) *execReq {
	if seq == 0 || len(s.queue) == 0 || s.queue[0].given.Seq() != seq {
		return nil
	}
	return s.queue[0]
}

// began handles the mark that a command has begun.
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
	s.lost = nil // It would have begun before this command.
	c.StartedAt, c.Output.From = time.Now(), m.at
	s.current = c
	if s.running != nil {
		p.execBegan(s.running)
	}
}

// dropped handles the mark that the shell has read a command and will not run it.
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

// handing reports whether a text is handed to the shell that it has not begun.
func (s *shellWatch) handing() bool {
	return s != nil && s.session.Handing()
}

// ended handles the mark that the command has ended. No command was running if the shell has read an empty line, and
// before the first prompt.
func (p *shellPart) ended(m placedMark) {
	s := p.watch
	if m.Cwd != "" && m.Cwd != s.cwd {
		s.cwd, p.j.shellTells = m.Cwd, true
		p.j.info.CurrentDirectory = p.j.redaction.text(m.Cwd)
		p.j.untold.Add(Changed{What: ChangeDirectory, Directory: p.j.info.CurrentDirectory})
	}
	switch {
	case s.current != nil:
		if s.current.Typed && m.Text != "" {
			s.current.Text = m.Text // bash reports the text only now
		}
		p.commandEnded(&m.Exit, m.Cwd, m.at)
	default:
		s.session.OnEnded()
	}
}

// commandEnded notes the end of the command that runs. exit is nil if the exit code is not known.
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

// remember adds a command that has ended to the history.
func (s *shellWatch) remember(c *ShellCommand) {
	s.past = append(s.past, c)
	s.text += len(c.Text)
	for len(s.past) > mostHistory || s.text > mostHistoryText && len(s.past) > 1 {
		s.text -= len(s.past[0].Text)
		s.past = s.past[1:]
	}
}

// finished reports whether a command has ended, or will never run. Commands that are not in the history any more have
// ended.
func (s *shellWatch) finished(id int64) bool {
	return (s.current == nil || s.current.ID != id) && !s.waits(id)
}

// command returns a command that has ended, or nil if it is not in the history any more.
func (p *shellPart) command(id int64) *ShellCommand {
	i := slices.IndexFunc(p.watch.past, func(c *ShellCommand) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	c := p.cleanCommand(*p.watch.past[i])
	return &c
}

// checkCommand returns an error for a wait for a command that never existed.
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

// over handles the end of the shell's process: the command that ran in it has ended, and the commands that wait for it
// will never run.
func (p *shellPart) over() {
	s := p.watch
	if s == nil || s.session.Phase() == shellmark.PhaseGone {
		return
	}
	p.left("its shell has ended", p.j.over)
}

// left handles the loss of the shell. refusal returns the error for the requests that wait for it.
func (p *shellPart) left(why string, refusal func() *Error) {
	s := p.watch
	if s.current != nil {
		p.commandEnded(nil, "", p.end0())
	}
	s.session.Leave()
	s.why = why
	s.files.StopWrite()
	s.files.DropScratch()
	p.failExecs(refusal)
	p.failTasks(refusal)
}

// cleanCommand returns a command without secret values.
func (p *shellPart) cleanCommand(c ShellCommand) ShellCommand {
	c.Text, c.Cwd = p.j.redaction.text(c.Text), p.j.redaction.text(c.Cwd)
	return c
}

// strike notes that an interrupt is being sent.
func (p *shellPart) strike() { p.watch.strike() }

func (p *shellPart) handing() bool { return p.watch.handing() }

func (p *shellPart) finished(id int64) bool { return p.watch.finished(id) }

// dropOthers drops the commands and changes of variables of others that the shell was not given.
func (p *shellPart) dropOthers(holder string, why func() *Error) {
	s := p.watch
	if s == nil {
		return
	}
	s.queue = slices.DeleteFunc(s.queue, func(r *execReq) bool {
		if !isOthers(r.opts.Owner, holder) || r.given.Seq() != 0 {
			return false
		}
		e := why()
		e.CommandID, e.Fate = r.command.ID, CommandDropped
		r.command.Finished = true
		r.refuse(e)
		return true
	})
	for i, t := range slices.Clone(s.tasks) {
		if isOthers(t.owner, holder) && !(i == 0 && s.session.Has(shellmark.PhaseHidden)) {
			p.giveUpTask(t, why())
		}
	}
}
