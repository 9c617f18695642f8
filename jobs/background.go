package jobs

import "shelld/jobs/internal/keeper"

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
