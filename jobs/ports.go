package jobs

import (
	"slices"
	"time"

	"shelld/jobs/internal/keeper"
	"shelld/jobs/internal/ports"
)

// A program that begins to listen tells nobody. So while a wait with the condition port is
// armed, looks are made, each in a goroutine of its own, since /proc may keep it waiting; it
// ends with its answer to the loop. A program that listens mostly says so, or has just done
// something: the looks are close after output, and rare in silence.

// UntilPort waits for a process of the job that listens on a TCP port.
const UntilPort ConditionKind = "port"

// portConditions are the kinds that this system can see.
func portConditions() []ConditionKind {
	if ports.Supported() {
		return []ConditionKind{UntilPort}
	}
	return nil
}

// A Port is a TCP port on which somebody listens.
type Port struct {
	Port    int
	Address string
	PID     int    // 0 = not known
	Command string // of that process; "" = not asked for, or not known
}

const (
	firstPause = time.Millisecond       // between output and the look after it
	mostBurst  = 120 * time.Millisecond // between two looks that belong to that
	tick       = 100 * time.Millisecond // in silence, at first
	slowTick   = 500 * time.Millisecond // and at last

	// portShare is how much of a processor looks may take: where there are many sockets or
	// processes, they are made less often. What a look reads has a bound, so that a long one,
	// which mostPause is for, has mostly waited.
	portShare = 20
	mostPause = time.Minute

	mostPorts = 256 // told of a job
)

// burst are the pauses before the looks after output: +1, +5, +15, +45, +105, +225 ms.
var burst = [...]time.Duration{firstPause, 4 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 60 * time.Millisecond, mostBurst}

// portPause is how long the step-th look since output waits for the one before it.
func portPause(step int) time.Duration {
	if step < len(burst) {
		return burst[step]
	}
	pause := tick
	for range step - len(burst) {
		if pause += pause / 4; pause >= slowTick {
			return slowTick
		}
	}
	return pause
}

// A portLook is what the loop knows of the looks.
type portLook struct {
	waits  int // armed ones that want to know
	begun  int
	back   int  // the last one that came back
	busy   bool // one has not come back
	step   int  // see portPause
	due    time.Time
	rest   time.Time     // not before, for the sake of others
	took   time.Duration // the last look
	output time.Duration // when output had last come, of all streams together, at the last review
	doubt  []uint16      // ports that are waited for since then: nothing that is known of them counts
	infos  []portInfo    // those who asked for all ports
	watch  ports.Watch   // whoever is looking has it
}

// A portInfo is a job/get that waits for a look.
type portInfo struct {
	need  int     // the look: one that was begun when it was asked, or later
	asked infoMsg // who waits for this
	info  Info    // what else is answered
}

// portsMsg is what a look has found.
type portsMsg struct {
	number int
	found  ports.Found
	known  bool // false: the job is over
	took   time.Duration
}

func (m portsMsg) deliver(j *Job) { j.waits.onPorts(m) }

// A portWait is a wait's part in this.
type portWait struct {
	first int            // the first look that counts: it was begun when the wait was armed, or later
	hits  map[int]Port   // by condition: who of the job listens
	taken map[int]Port   // and who else does
	ask   int            // the look that the wait's end waits for; 0: none yet
	until time.Time      // but no longer than until then
	asked bool           // that is over
	wants map[int]uint16 // the port by condition
}

// armPort adds a condition to what is looked for.
func (p *waitsPart) armPort(w *wait, cond int) {
	pw := &p.portLook
	if w.port == nil {
		w.port = &portWait{first: pw.begun + 1, hits: map[int]Port{}, taken: map[int]Port{}, wants: map[int]uint16{}}
		pw.waits++
		pw.due, pw.rest, pw.step = w.armed, time.Time{}, -1
	}
	w.port.wants[cond] = w.spec.Until[cond].Port
	pw.doubt = append(pw.doubt, w.spec.Until[cond].Port)
}

func (p *waitsPart) disarmPort(w *wait) {
	if w.port != nil {
		p.portLook.waits--
	}
}

// reviewPorts makes the look that is due.
func (p *waitsPart) reviewPorts(now time.Time) {
	pw := &p.portLook
	if pw.waits == 0 || pw.busy {
		return
	}
	if last := p.lastOutput(); last != pw.output {
		pw.output, pw.step = last, 0
		if soon := now.Add(portPause(0)); soon.Before(pw.due) {
			pw.due = soon
		}
	}
	if !now.Before(p.portDue()) {
		p.lookAtPorts()
	}
}

// portDue is when the next look is to be made; zero: there is none to be made by itself.
func (p *waitsPart) portDue() (t time.Time) {
	pw := &p.portLook
	switch {
	case pw.waits == 0 || pw.busy:
		return t
	case pw.due.Before(pw.rest):
		return pw.rest
	}
	return pw.due
}

// lastOutput changes with whatever comes.
func (p *waitsPart) lastOutput() (last time.Duration) {
	for _, st := range p.j.output.streams {
		last += time.Duration(st.last.Load())
	}
	return last
}

func (p *waitsPart) lookAtPorts() {
	pw := &p.portLook
	pw.begun++
	pw.busy = true
	m := portsMsg{number: pw.begun}
	wanted, doubt := p.wantedPorts(), pw.doubt
	pw.doubt = nil
	watch, proc, leader := &pw.watch, p.j.proc, p.j.info.PID
	p.j.output.loops.Go(func() {
		began := time.Now()
		for _, port := range doubt {
			watch.Doubt(int(port))
		}
		m.found, m.known = p.j.mgr.system.lookPorts(watch, proc, leader)
		for _, port := range wanted {
			identify(&m.found, int(port))
		}
		m.took = time.Since(began)
		p.j.post(m)
	})
}

func (p *waitsPart) wantedPorts() (all []uint16) {
	for _, w := range p.armed {
		if w.port != nil {
			for _, port := range w.port.wants {
				all = append(all, port)
			}
		}
	}
	return all
}

// identify finds out who else has a port that is waited for. The wait ends with that, so it is
// done once.
func identify(f *ports.Found, port int) {
	if _, ours := f.Holder(port); ours {
		return
	}
	for i, l := range f.Others {
		if l.Port == port && l.PID == 0 {
			f.Others[i] = ports.Identify(l)
			return
		}
	}
}

func (p *waitsPart) onPorts(m portsMsg) {
	pw, now := &p.portLook, time.Now()
	p.j.redaction.listeners(&m.found)
	pw.busy, pw.back = false, m.number
	pw.rest = now.Add(min(min(m.took, pw.took)*portShare, mostPause)) // of two, since others may have had the processor
	pw.took = m.took
	pw.step++
	pw.due = now.Add(portPause(pw.step))
	p.answerPortInfos(m)
	if !m.known {
		return
	}
	for _, w := range p.armed {
		if w.port != nil && w.port.first <= m.number {
			w.port.take(&m.found)
		}
	}
}

// take notes what a look has found.
func (p *portWait) take(f *ports.Found) {
	for cond, port := range p.wants {
		if l, ok := f.Holder(int(port)); ok {
			p.hits[cond] = portOf(l)
		} else if l, ok := f.Stranger(int(port)); ok {
			p.taken[cond] = portOf(l)
		}
	}
}

func portOf(l ports.Listener) Port { return Port{l.Port, l.Address.String(), l.PID, l.Command} }

// listens says whether the port of a condition is listened on by the job.
func (w *wait) listens(cond int) bool {
	if w.port == nil {
		return false
	}
	_, ok := w.port.hits[cond]
	return ok
}

// portTaken says whether somebody else listens on the port of a condition.
func (w *wait) portTaken(cond int) bool {
	if w.port == nil || w.listens(cond) {
		return false
	}
	_, ok := w.port.taken[cond]
	return ok
}

// listener is who made a condition hold, or the wait end.
func (w *wait) listener(cond int) *Port {
	if w.port == nil || cond < 0 {
		return nil
	}
	if p, ok := w.port.hits[cond]; ok {
		return &p
	}
	if p, ok := w.port.taken[cond]; ok {
		return &p
	}
	return nil
}

// asksPorts has a wait that would end look first, where a port stands before what ends it: of
// several conditions that hold the first one counts, and all before the leader's end and the
// clock. index is what ends it; -1: no condition does. It is done once, and has its time.
func (p *waitsPart) asksPorts(w *wait, index int, now time.Time) bool {
	pw := w.port
	if pw == nil || pw.asked || !pw.before(index) {
		return false
	}
	if pw.ask == 0 {
		pw.ask, pw.until = p.portLook.begun+1, now.Add(firstLook)
	}
	if !p.portLook.busy && p.portLook.begun < pw.ask {
		p.lookAtPorts()
	}
	pw.asked = p.portLook.back >= pw.ask || !now.Before(pw.until)
	return !pw.asked
}

// before says whether a port stands before a condition.
func (p *portWait) before(index int) bool {
	for cond := range p.wants {
		if cond < index || index < 0 {
			return true
		}
	}
	return false
}

// portsAsked is until when a wait lets a look keep it from ending; zero: it does not.
func (w *wait) portsAsked(now time.Time) (t time.Time) {
	if w.port == nil || w.port.asked || w.port.ask == 0 || !now.Before(w.port.until) {
		return t
	}
	return w.port.until
}

// lookPorts is a look at what a process and all below it listen on. False where nobody can tell.
func lookPorts(w *ports.Watch, p process, leader int) (ports.Found, bool) {
	var members ports.Members
	switch p := p.(type) {
	case interface{ Members() ([]int, bool) }:
		members = p.Members
	case teller:
		members = func() ([]int, bool) {
			list, ok := p.Living()
			return pids(list), ok
		}
	default:
		return ports.Found{}, false
	}
	return w.Look(members, leader)
}

func pids(list []keeper.Proc) (all []int) {
	for _, p := range list {
		all = append(all, p.PID)
	}
	return all
}

// lookPortsFor has a job/get wait for a look: with all others who ask while one is under way,
// for the next one. It returns false where there is nothing to be seen.
func (p *waitsPart) lookPortsFor(m infoMsg, info Info) bool {
	if !p.portsCanBeSeen() {
		return false
	}
	pw := &p.portLook
	info.Ports = nil // what an earlier look found
	pw.infos = append(pw.infos, portInfo{pw.begun + 1, m, info})
	if !pw.busy {
		p.lookAtPorts()
	}
	return true
}

func (p *waitsPart) portsCanBeSeen() bool {
	return ports.Supported() && p.j.st.status != StatusClosed && !p.j.st.empty
}

// answerPortInfos answers those for whom a look was made, and makes the one for the others. What
// was found is kept for job/list as well.
func (p *waitsPart) answerPortInfos(m portsMsg) {
	pw, can := &p.portLook, p.portsCanBeSeen()
	infos := pw.infos
	pw.infos = nil
	var found []Port // nil: not known
	if m.known && !m.found.Partial {
		found = portsOf(m.found)
	}
	told := false
	for _, i := range infos {
		switch {
		case p.j.actor.leaving != nil:
			i.asked.reply.ok(i.info)
		case can && i.need > m.number:
			pw.infos = append(pw.infos, i)
		default:
			if i.need <= m.number {
				i.info.Ports, told = slices.Clone(found), m.known
			}
			p.j.changes.answerInfo(i.asked, i.info)
		}
	}
	if told && can {
		p.j.info.Ports = found
		p.j.publish()
	}
	if len(pw.infos) > 0 {
		p.lookAtPorts()
	}
}

// failPortInfos answers those whose look no turn will take any more.
func (p *waitsPart) failPortInfos() {
	for _, i := range p.portLook.infos {
		i.asked.reply.ok(i.info)
	}
	p.portLook.infos = nil
}

// portsOf is never nil.
func portsOf(f ports.Found) []Port {
	all := []Port{}
	for _, l := range f.Own[:min(len(f.Own), mostPorts)] {
		if p := portOf(l); len(all) == 0 || all[len(all)-1] != p {
			all = append(all, p)
		}
	}
	return all
}
