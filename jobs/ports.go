package jobs

import (
	"slices"
	"time"

	"shelld.dev/shelld/jobs/internal/keeper"
	"shelld.dev/shelld/jobs/internal/ports"
)

// A program that begins to listen sends no event. So while a wait with the condition port is armed, the server probes
// the ports. Each probe runs in a goroutine of its own, since /proc may block it. The goroutine ends when it has
// posted its result to the loop. A program that listens usually prints a message about it, or has just done something
// else. So probes are frequent after output, and rare in silence.

const (
	firstPause = time.Millisecond       // between output and the probe after it
	mostBurst  = 120 * time.Millisecond // between two probes of the same burst
	tick       = 100 * time.Millisecond // between two probes in silence, at first
	slowTick   = 500 * time.Millisecond // the same, at last

	// portShare is the maximum share of one processor that probes may take: 1/portShare. If there are many sockets or
	// processes, probes are made less often. The amount of data that a probe reads is bounded. So a probe that takes
	// long has mostly waited; mostPause is for that case.
	portShare = 20
	mostPause = time.Minute

	mostPorts = 256 // reported for one job
)

// burst has the pauses before the probes after output. The probes are made at +1, +5, +15, +45, +105, +225 ms.
var burst = [...]time.Duration{firstPause, 4 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 60 * time.Millisecond, mostBurst}

// portPause returns the pause before the probe with the number step since output.
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

// A portLook is the loop's state of the port probes.
type portLook struct {
	waits  int // armed waits that need the probes
	begun  int
	back   int  // the number of the last finished probe
	busy   bool // a probe is in progress
	step   int  // see portPause
	due    time.Time
	rest   time.Time     // the next probe is not made before, to bound the load
	took   time.Duration // duration of the last probe
	output time.Duration // when output last came, over all streams, at the last review
	doubt  []uint16      // ports waited for since the last probe; earlier results for them do not count
	infos  []portInfo    // requests for all ports
	watch  ports.Watch   // used only by the probe in progress
}

// A portInfo is a job/get request that waits for a probe.
type portInfo struct {
	need  int     // the first probe that counts: one that was begun after the request
	asked infoMsg // the request
	info  Info    // the rest of the answer
}

// portsMsg is the result of a probe.
type portsMsg struct {
	number int
	found  ports.Found
	known  bool // false: the job is over
	took   time.Duration
}

func (portsMsg) message() {}

// A portWait is the state of a wait's port conditions.
type portWait struct {
	first int            // the first probe that counts: it was begun after the wait was armed
	hits  map[int]Port   // by condition: the process of the job that listens
	taken map[int]Port   // by condition: the other process that listens
	ask   int            // the probe that the wait's end waits for; 0: none yet
	until time.Time      // the deadline of that
	asked bool           // the wait's end waits for no probe any more
	wants map[int]uint16 // the port by condition
}

// armPort adds a port condition to the ports that the probes look for.
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

// reviewPorts begins the next probe if it is due.
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

// portDue returns when the next probe is due. Zero: no probe is due by time alone.
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

// lastOutput returns a value that changes with each output of any stream.
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
	p.j.background(func() {
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

// identify finds the process outside the job that listens on a port that is waited for. The wait ends with that, so it
// is done only once.
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
	pw.rest = now.Add(min(min(m.took, pw.took)*portShare, mostPause)) // of two: a probe may wait for a processor
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

// take notes the result of a probe.
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

// listens reports whether a process of the job listens on the port of a condition.
func (w *wait) listens(cond int) bool {
	if w.port == nil {
		return false
	}
	_, ok := w.port.hits[cond]
	return ok
}

// portTaken reports whether another process listens on the port of a condition.
func (w *wait) portTaken(cond int) bool {
	if w.port == nil || w.listens(cond) {
		return false
	}
	_, ok := w.port.taken[cond]
	return ok
}

// listener returns the listener that made a condition hold, or the wait end.
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

// asksPorts reports whether a wait that would end has to wait for one more probe, and begins that probe. This is so if
// a port condition precedes the reason why the wait ends: if several conditions hold, the first one counts, and all of
// them precede the leader's end and the timeout. index is the condition that ends the wait; -1: no condition does. A
// wait does this only once, and for a limited time.
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

// before reports whether a port condition precedes the condition index, or, if index is negative, whether there is
// any.
func (p *portWait) before(index int) bool {
	for cond := range p.wants {
		if cond < index || index < 0 {
			return true
		}
	}
	return false
}

// portsAsked returns until when a wait delays its end for a probe. Zero: it does not delay it.
func (w *wait) portsAsked(now time.Time) (t time.Time) {
	if w.port == nil || w.port.asked || w.port.ask == 0 || !now.Before(w.port.until) {
		return t
	}
	return w.port.until
}

// lookPorts returns the ports on which a process and its descendants listen. It returns false if that cannot be
// determined.
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

// lookPortsFor makes a job/get request wait for a probe. If a probe is in progress, all requests that come meanwhile
// wait for the next one together. It returns false if no ports can be determined.
func (p *waitsPart) lookPortsFor(m infoMsg, info Info) bool {
	if !p.portsCanBeSeen() {
		return false
	}
	pw := &p.portLook
	info.Ports = nil // the result of an earlier probe
	pw.infos = append(pw.infos, portInfo{pw.begun + 1, m, info})
	if !pw.busy {
		p.lookAtPorts()
	}
	return true
}

func (p *waitsPart) portsCanBeSeen() bool {
	return ports.Supported() && p.j.st.status != StatusClosed && !p.j.st.empty
}

// answerPortInfos answers the requests for which a probe was made, and begins the next probe for the others. The
// result is kept for job/list as well.
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
		case p.j.turns.isLeaving():
			i.asked.reply.ok(i.info)
		case can && i.need > m.number:
			pw.infos = append(pw.infos, i)
		default:
			if i.need <= m.number {
				i.info.Ports, told = slices.Clone(found), m.known
			}
			p.changes.answerInfo(i.asked, i.info)
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

// failPortInfos answers the requests whose probe will not be handled by any turn.
func (p *waitsPart) failPortInfos() {
	for _, i := range p.portLook.infos {
		i.asked.reply.ok(i.info)
	}
	p.portLook.infos = nil
}

// portsOf returns the ports of a probe's result. It never returns nil.
func portsOf(f ports.Found) []Port {
	all := []Port{}
	for _, l := range f.Own[:min(len(f.Own), mostPorts)] {
		if p := portOf(l); len(all) == 0 || all[len(all)-1] != p {
			all = append(all, p)
		}
	}
	return all
}
