package jobs

import "shelld/jobs/internal/inputwait"

// A match that more output could change, such as a match of `\$ $`, counts if no more output is expected for now: if
// the job waits for input, or has been quiet for follow.QuietTime. So the job is probed while there is such a match.
//
//	follower.Leans()            there is such a match
//	a probe -> stream.waitedAt  the job has printed the output up to here and then waits
//	        -> stream.IsAll     if the cursor of the follower is there, the match counts

// noteAll notes that the job waits for input and has printed all output for now.
func (p *waitingPart) noteAll(m lookedMsg) {
	if v := m.verdict; v.State != inputwait.Reading || rank(v.Confidence) < rank(inputwait.Likely) || p.input.isTyped() {
		return
	}
	var ends int64
	for _, st := range p.j.output.streams {
		end := st.spool.End()
		ends += end
		st.waitedAt.Store(end + 1)
	}
	if ends != m.of.output {
		p.noteMore() // some of it came after the probe
	} else if f := p.j.output.follower.Load(); f.Leans() {
		f.Poke()
	}
}

// noteMore notes that the job may print more, because input was typed.
func (p *waitingPart) noteMore() {
	for _, st := range p.j.output.streams {
		st.waitedAt.Store(0)
	}
}
