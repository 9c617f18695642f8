package jobs

import (
	"strings"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
)

type (
	// A portProber probes the ports on which a job listens.
	portProber interface {
		// lookPortsFor makes a request for the info wait for a probe. It returns false if no ports can be determined.
		lookPortsFor(m infoMsg, info Info) bool
	}
	// A waitProber probes whether a job waits for input.
	waitProber interface{ answerLookedAt(m infoMsg, info Info) }
)

// changesPart reports changes of a job to the client, and probes the foreground of its terminal.
type changesPart struct {
	noPart
	j *base

	waits   portProber
	waiting waitProber

	bells     int64  // reported so far
	groups    uint64 // display.groups as the loop last saw it
	lookAgain bool   // the foreground may have changed
	lookReads uint64 // display.reads at the loop's last foreground probe
	unsettled int    // number of outputs that still cause another probe
	looking   bool   // a probe for the loop is under way
	looks     uint64 // number of the last probe that has begun, those for clients included
	looked    uint64 // number of the last probe whose result counts
}

// review reports all changes since the last review as one event: so a title that changes a million times costs at most
// one event per turn.
func (p *changesPart) review(time.Time) {
	if p.j.heard != nil {
		p.takeTold()
	}
	if p.j.untold.What == 0 {
		return
	}
	c := p.j.untold
	p.j.untold = Changed{}
	p.j.publish()
	p.j.sink.Event(Event{After: p.j.barrier(), Changed: &c})
}

// takeTold takes over the properties that programs have set in the output.
func (p *changesPart) takeTold() {
	told, groups, reads := p.j.heard.latest()
	if told.Title != p.j.info.Title {
		p.j.info.Title = told.Title
		p.j.untold.Add(Changed{What: ChangeTitle, Title: told.Title})
	}
	if told.Directory != p.j.info.CurrentDirectory && !p.j.shellTells {
		p.j.info.CurrentDirectory = told.Directory
		p.j.untold.Add(Changed{What: ChangeDirectory, Directory: told.Directory})
	}
	if told.Bells != p.bells {
		p.bells = told.Bells
		p.j.untold.Add(Changed{What: ChangeBell, Bells: told.Bells})
	}
	if !p.looking && p.j.term != nil {
		p.reviewForeground(groups, reads)
	}
}

// reviewForeground begins a foreground probe if the foreground may have changed.
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

// settleLooks is how many outputs cause another probe of a process that is unsettled. The next output usually comes
// from the command that the process has become.
const settleLooks = 8

// unsettled reports whether a process is probably about to become another command: a shell's child looks like the
// shell, and a process that is being loaded has no arguments.
func (p *Process) unsettled(before *Process) bool {
	return p != nil && (before != nil && before.Command == p.Command || strings.HasPrefix(p.Command, "["))
}

// noteStopped reports that the leader was stopped, and by which signal, or that it continues.
func (p *changesPart) noteStopped(is bool, signal string) {
	p.j.lock.Check()
	before := p.j.st.status
	if p.j.st.stopped(is); p.j.st.status != before {
		p.j.untold.Add(Changed{What: ChangeStatus, Status: p.j.st.status, Signal: signal})
		p.lookAgain = p.j.heard != nil
	}
}

// look probes the foreground, in a goroutine of its own, since reading /proc may block. The goroutine ends with the
// answer to the loop. The result of the probe that began last counts, whichever returns first.
func (p *changesPart) look(m foregroundMsg) {
	p.looks++
	m.number = p.looks
	term, leader := p.j.term, p.j.info.PID
	p.j.background(func() {
		f, err := term.Foreground(leader)
		m.foreground, m.failed = p.j.redaction.foreground(f), err != nil
		p.j.post(m)
	})
}

func (p *changesPart) onForeground(m foregroundMsg) {
	if m.review {
		p.looking = false
	}
	if m.number > p.looked && p.j.st.exit == nil && !m.failed { // at the end all processes go away: that is reported by exited
		p.looked = m.number
		if before := p.j.info.Foreground; before == nil != (m.foreground == nil) || before != nil && *before != *m.foreground {
			p.j.info.Foreground, p.unsettled = m.foreground, 0
			if m.foreground.unsettled(before) {
				p.unsettled = settleLooks
			}
			p.j.untold.Add(Changed{What: ChangeForeground, Foreground: m.foreground})
		}
	}
	if m.asked != nil {
		p.waiting.answerLookedAt(*m.asked, m.answer(p.j.info.Foreground))
	}
}

// onInfo answers with the info of the job as it is now, and with a new probe of its foreground.
func (p *changesPart) onInfo(m infoMsg) {
	info := p.j.snapshot()
	if !p.waits.lookPortsFor(m, info) {
		p.answerInfo(m, info)
	}
}

func (p *changesPart) answerInfo(m infoMsg, info Info) {
	if p.lookBehind(m, info) {
		return
	}
	if p.j.term == nil || p.j.told() {
		p.waiting.answerLookedAt(m, info)
		return
	}
	p.look(foregroundMsg{asked: &m, info: info})
}

func (m foregroundMsg) answer(foreground *Process) Info {
	m.info.Foreground = foreground
	return m.info
}

// The processes that outlive the leader are reported as they were at its end. A request for the info gets them as they
// are at its own time, since they may have started others or ended since.

// A teller is a process handle that can list the living processes of its job. On a platform without such a list, the
// handle is no teller.
type teller interface {
	Living() ([]keeper.Proc, bool)
}

// livingMsg is the result of a probe for living processes.
type livingMsg struct {
	asked infoMsg // the request that waits for this
	info  Info    // the rest of the answer
	list  []Process
	known bool
}

func (livingMsg) message() {}

// fail answers the request of a probe that no turn will handle any more.
func (m livingMsg) fail(error) { m.asked.reply.ok(m.info) }

// lookBehind answers with the processes that outlive the leader. It probes in a goroutine of its own, since reading
// /proc may block; the goroutine ends with the answer to the loop. It returns false if there is nothing to probe, or no
// way to do it.
func (p *changesPart) lookBehind(m infoMsg, info Info) bool {
	t, ok := p.j.proc.(teller)
	if !ok || info.Status != StatusExited || p.j.st.status != StatusExited || p.j.st.empty {
		return false
	}
	p.j.background(func() {
		list, known := t.Living()
		p.j.post(livingMsg{m, info, p.j.redaction.processes(list), known})
	})
	return true
}

// onLiving stores the result for job/list as well. If the job has closed since, the answer has the info from the time
// of the request, and no living processes.
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
