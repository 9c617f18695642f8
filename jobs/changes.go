package jobs

import (
	"shelld/jobs/internal/keeper"
	"strings"
	"time"

	"shelld/jobs/internal/proc"
)

// A Change is one thing of a job that may change; they can be joined by or.
type Change uint

const (
	ChangeStatus      Change = 1 << iota // running, stopped
	ChangeTitle                          // of the terminal
	ChangeDirectory                      // where the program says that it is
	ChangeBell                           // it rang
	ChangeSize                           // of the terminal
	ChangeForeground                     // what runs there
	ChangeOutputFile                     // one cannot be written any more
	ChangeIntegration                    // of the shell: another program has taken its place
)

// Changed says what of a job is not as it was, and how it is now. A value counts if
// its Change is in What.
type Changed struct {
	What        Change
	Status      Status
	Signal      string // that stopped it, with SIG; "" where it runs
	Title       string
	Directory   string // "" = not known
	Bells       int64  // since the start
	Cols, Rows  int
	Foreground  *Process // nil = not known
	OutputFile  OutputFileError
	Integration string // the family of the shell; "" = it has none any more
}

// An OutputFileError says why an output file is not complete.
type OutputFileError struct{ Path, Reason string }

// Add joins a later change to c.
func (c *Changed) Add(later Changed) {
	c.What |= later.What
	has := func(w Change) bool { return later.What&w != 0 }
	if has(ChangeStatus) {
		c.Status, c.Signal = later.Status, later.Signal
	}
	if has(ChangeTitle) {
		c.Title = later.Title
	}
	if has(ChangeDirectory) {
		c.Directory = later.Directory
	}
	if has(ChangeBell) {
		c.Bells = later.Bells
	}
	if has(ChangeSize) {
		c.Cols, c.Rows = later.Cols, later.Rows
	}
	if has(ChangeForeground) {
		c.Foreground = later.Foreground
	}
	if has(ChangeOutputFile) {
		c.OutputFile = later.OutputFile
	}
	if has(ChangeIntegration) {
		c.Integration = later.Integration
	}
}

// laterBarrier waits for the output of both.
func laterBarrier(a, b map[Stream]int64) map[Stream]int64 {
	all := map[Stream]int64{}
	for _, m := range []map[Stream]int64{a, b} {
		for s, off := range m {
			all[s] = max(all[s], off)
		}
	}
	return all
}

// Join adds a later event of what has changed to this one, which then waits for the
// output of both.
func (e *Event) Join(later Event) {
	c := *e.Changed // others may hold the old one
	c.Add(*later.Changed)
	e.Changed, e.After = &c, laterBarrier(e.After, later.After)
}

// changesPart tells the client what has changed of a job, and looks at who has the foreground of its terminal.
type changesPart struct {
	noPart
	j *Job

	untold    Changed // what the client is to be told in this turn
	bells     int64   // told so far
	groups    uint64  // the display's, of which the loop knows
	lookAgain bool    // the foreground may be another one
	lookReads uint64  // how often output had come when the loop looked last
	unsettled int     // outputs that bring another look
	looking   bool    // the loop has a look under way
	looks     uint64  // begun, those for clients as well
	looked    uint64  // the last of them whose finding counts
}

// review tells, as one event, what has changed since it last looked: so a
// title that changes a million times costs as many events as the loop had turns.
func (p *changesPart) review(time.Time) {
	if p.j.display.heard != nil {
		p.takeTold()
	}
	if p.untold.What == 0 {
		return
	}
	c := p.untold
	p.untold = Changed{}
	p.j.publish()
	p.j.sink.Event(Event{After: p.j.waits.barrier(), Changed: &c})
}

// takeTold takes over what the output has told.
func (p *changesPart) takeTold() {
	told, groups, reads := p.j.display.heard.latest()
	if told.Title != p.j.info.Title {
		p.j.info.Title = told.Title
		p.untold.Add(Changed{What: ChangeTitle, Title: told.Title})
	}
	if told.Directory != p.j.info.CurrentDirectory && !p.j.shell.watch.tellsDirectory() {
		p.j.info.CurrentDirectory = told.Directory
		p.untold.Add(Changed{What: ChangeDirectory, Directory: told.Directory})
	}
	if told.Bells != p.bells {
		p.bells = told.Bells
		p.untold.Add(Changed{What: ChangeBell, Bells: told.Bells})
	}
	if !p.looking && p.j.term != nil {
		p.reviewForeground(groups, reads)
	}
}

// reviewForeground looks where the foreground may be another one.
func (p *changesPart) reviewForeground(groups, reads uint64) {
	again := p.unsettled > 0 && reads != p.lookReads
	if again {
		p.unsettled--
	}
	if again || p.lookAgain || groups != p.groups {
		p.looking, p.lookAgain, p.groups, p.lookReads = true, false, groups, reads
		p.look(foregroundMsg{review: true})
	}
}

// settleLooks is how many outputs bring another look at a process that is unsettled.
// The next one mostly comes from what it has become.
const settleLooks = 8

// unsettled says whether a process is yet to become a command, as far as one can see:
// a shell's child looks like the shell, and one that is being loaded has no arguments.
func (p *Process) unsettled(before *Process) bool {
	return p != nil && (before != nil && before.Command == p.Command || strings.HasPrefix(p.Command, "["))
}

// noteStopped tells that the leader was stopped, and by what signal, or goes on.
func (p *changesPart) noteStopped(is bool, signal string) {
	p.j.actor.lock.Check()
	before := p.j.st.status
	if p.j.st.stopped(is); p.j.st.status != before {
		p.untold.Add(Changed{What: ChangeStatus, Status: p.j.st.status, Signal: signal})
		p.lookAgain = p.j.display.heard != nil
	}
}

// look finds out what runs in the foreground, in a goroutine of its own, since /proc
// may keep it waiting; it ends with the answer to the loop. A look that was begun
// later knows better, whichever comes back first.
func (p *changesPart) look(m foregroundMsg) {
	p.looks++
	m.number = p.looks
	term, leader := p.j.term, p.j.info.PID
	p.j.output.loops.Go(func() {
		f, err := term.Foreground(leader)
		m.foreground, m.failed = p.somebody(f), err != nil
		p.j.post(m)
	})
}

// somebody is nil where nobody was found.
func (p *changesPart) somebody(f proc.Foreground) *Process {
	if f.PID == 0 {
		return nil
	}
	return &Process{f.PID, p.j.redaction.command(f.Command)}
}

func (p *changesPart) onForeground(m foregroundMsg) {
	if m.review {
		p.looking = false
	}
	if m.number > p.looked && p.j.st.exit == nil && !m.failed { // at the end everybody goes: that is told by exited
		p.looked = m.number
		if before := p.j.info.Foreground; before == nil != (m.foreground == nil) || before != nil && *before != *m.foreground {
			p.j.info.Foreground, p.unsettled = m.foreground, 0
			if m.foreground.unsettled(before) {
				p.unsettled = settleLooks
			}
			p.untold.Add(Changed{What: ChangeForeground, Foreground: m.foreground})
		}
	}
	if m.asked != nil {
		p.j.waiting.answerLookedAt(*m.asked, m.answer(p.j.info.Foreground))
	}
}

// onInfo answers with what is known now, and with what runs in the foreground then.
func (p *changesPart) onInfo(m infoMsg) {
	info := p.j.snapshot()
	if !p.j.waits.lookPortsFor(m, info) {
		p.answerInfo(m, info)
	}
}

func (p *changesPart) answerInfo(m infoMsg, info Info) {
	if p.lookBehind(m, info) {
		return
	}
	if p.j.term == nil || p.j.told() {
		p.j.waiting.answerLookedAt(m, info)
		return
	}
	p.look(foregroundMsg{asked: &m, info: info})
}

func (m foregroundMsg) answer(foreground *Process) Info {
	m.info.Foreground = foreground
	return m.info
}

// What lives on behind the leader is told as of its end, and as of now to whoever asks
// for it then: it may have started others, or ended in part.

// A teller is a process that can say what lives of its job now. That of a platform which
// cannot see it is none.
type teller interface {
	Living() ([]keeper.Proc, bool)
}

// livingMsg is what a look at what lives has found.
type livingMsg struct {
	asked infoMsg // who waits for this
	info  Info    // what else is answered
	list  []Process
	known bool
}

func (m livingMsg) deliver(j *Job) { j.changes.onLiving(m) }

// fail answers a look that no turn will take any more.
func (m livingMsg) fail(error) { m.asked.reply.ok(m.info) }

// lookBehind answers with what lives behind the leader, in a goroutine of its own, since
// /proc may keep it waiting; it ends with the answer to the loop. It returns false where
// nobody can tell.
func (p *changesPart) lookBehind(m infoMsg, info Info) bool {
	t, ok := p.j.proc.(teller)
	if !ok || info.Status != StatusExited || p.j.st.status != StatusExited || p.j.st.empty {
		return false
	}
	p.j.output.loops.Go(func() {
		list, known := t.Living()
		p.j.post(livingMsg{m, info, p.processes(list), known})
	})
	return true
}

func (p *changesPart) processes(list []keeper.Proc) (all []Process) {
	for _, one := range list {
		all = append(all, Process{one.PID, p.j.redaction.command(one.Command)})
	}
	return all
}

// onLiving keeps what was found for job/list as well. Where the job has closed since, the
// answer is of when it was asked for: nothing was found, and nothing is said to live.
func (p *changesPart) onLiving(m livingMsg) {
	if m.known || p.j.st.empty {
		m.info.Background = m.list
	}
	if m.known && p.j.st.status == StatusExited {
		p.j.info.Background = m.list
		p.j.publish()
	}
	m.asked.reply.ok(m.info)
}
