package jobs

import (
	"strings"

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

// reviewChanges tells, as one event, what has changed since it last looked: so a
// title that changes a million times costs as many events as the loop had turns.
func (j *Job) reviewChanges() {
	if j.display != nil {
		j.takeTold()
	}
	if j.changed.What == 0 {
		return
	}
	c := j.changed
	j.changed = Changed{}
	j.publish()
	j.sink.Event(Event{After: j.barrier(), Changed: &c})
}

// takeTold takes over what the output has told.
func (j *Job) takeTold() {
	told, groups, reads := j.display.latest()
	if told.Title != j.info.Title {
		j.info.Title = told.Title
		j.changed.Add(Changed{What: ChangeTitle, Title: told.Title})
	}
	if told.Directory != j.info.CurrentDirectory && !j.shell.tellsDirectory() {
		j.info.CurrentDirectory = told.Directory
		j.changed.Add(Changed{What: ChangeDirectory, Directory: told.Directory})
	}
	if told.Bells != j.bells {
		j.bells = told.Bells
		j.changed.Add(Changed{What: ChangeBell, Bells: told.Bells})
	}
	if !j.looking && j.term != nil {
		j.reviewForeground(groups, reads)
	}
}

// reviewForeground looks where the foreground may be another one.
func (j *Job) reviewForeground(groups, reads uint64) {
	again := j.unsettled > 0 && reads != j.lookReads
	if again {
		j.unsettled--
	}
	if again || j.lookAgain || groups != j.groups {
		j.looking, j.lookAgain, j.groups, j.lookReads = true, false, groups, reads
		j.look(foregroundMsg{review: true})
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
func (j *Job) noteStopped(is bool, signal string) {
	before := j.st.status
	if j.st.stopped(is); j.st.status != before {
		j.changed.Add(Changed{What: ChangeStatus, Status: j.st.status, Signal: signal})
		j.lookAgain = j.display != nil
	}
}

// look finds out what runs in the foreground, in a goroutine of its own, since /proc
// may keep it waiting; it ends with the answer to the loop. A look that was begun
// later knows better, whichever comes back first.
func (j *Job) look(m foregroundMsg) {
	j.looks++
	m.number = j.looks
	term, leader := j.term, j.info.PID
	j.loops.Go(func() {
		f, err := term.Foreground(leader)
		m.foreground, m.failed = j.somebody(f), err != nil
		j.post(m)
	})
}

// somebody is nil where nobody was found.
func (j *Job) somebody(f proc.Foreground) *Process {
	if f.PID == 0 {
		return nil
	}
	return &Process{f.PID, j.redaction.command(f.Command)}
}

func (j *Job) onForeground(m foregroundMsg) {
	if m.review {
		j.looking = false
	}
	if m.number > j.looked && j.st.exit == nil && !m.failed { // at the end everybody goes: that is told by exited
		j.looked = m.number
		if before := j.info.Foreground; before == nil != (m.foreground == nil) || before != nil && *before != *m.foreground {
			j.info.Foreground, j.unsettled = m.foreground, 0
			if m.foreground.unsettled(before) {
				j.unsettled = settleLooks
			}
			j.changed.Add(Changed{What: ChangeForeground, Foreground: m.foreground})
		}
	}
	if m.asked != nil {
		j.answerLookedAt(*m.asked, m.answer(j.info.Foreground))
	}
}

// onInfo answers with what is known now, and with what runs in the foreground then.
func (j *Job) onInfo(m infoMsg) {
	info := j.snapshot()
	if !j.lookPortsFor(m, info) {
		j.answerInfo(m, info)
	}
}

func (j *Job) answerInfo(m infoMsg, info Info) {
	if j.lookBehind(m, info) {
		return
	}
	if j.term == nil || j.told() {
		j.answerLookedAt(m, info)
		return
	}
	j.look(foregroundMsg{asked: &m, info: info})
}

func (m foregroundMsg) answer(foreground *Process) Info {
	m.info.Foreground = foreground
	return m.info
}
