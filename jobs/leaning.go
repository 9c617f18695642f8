package jobs

import "shelld/jobs/internal/inputwait"

// A match that more output could change, as one of `\$ $`, counts when no more will come for now: if the job waits for
// input, or has been quiet for follow.QuietTime. So the job is looked at while there is such a match.
//
//	follower.Leans()           there is one
//	a look -> stream.waitedAt  the job has printed this and then waits
//	       -> stream.IsAll     if the cursor of the follower is there, the match counts

// noteAll notes that the job waits for input, and that what it has printed is all.
func (p *waitingPart) noteAll(m lookedMsg) {
	if v := m.verdict; v.State != inputwait.Reading || rank(v.Confidence) < rank(inputwait.Likely) || p.j.input.queue.typed() {
		return
	}
	var ends int64
	for _, st := range p.j.output.streams {
		end := st.spool.End()
		ends += end
		st.waitedAt.Store(end + 1)
	}
	if ends != m.of.output {
		p.noteMore() // some of it came behind the look
	} else if f := p.j.waits.follower.Load(); f.Leans() {
		f.Poke()
	}
}

// noteMore notes that the job may print more: something was typed.
func (p *waitingPart) noteMore() {
	for _, st := range p.j.output.streams {
		st.waitedAt.Store(0)
	}
}
