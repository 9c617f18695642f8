package jobs

import "shelld/jobs/internal/inputwait"

// A match that leans on the end of what came, such as one of `\$ $`, counts when no more
// will come for now: the job waits for input, or has been quiet for quietTime. So looks are
// wanted while there is one.
//
//	follower -> leaning.is        there is such a match
//	a look   -> stream.waitedAt   the job has printed this and then waits
//	         -> follower          where its cursor is there, the match counts

// IsAll says whether the job was seen to wait for input when it had printed what came
// before the offset.
func (s *stream) IsAll(offset int64) bool {
	return s.waitedAt.Load() == offset+1 && s.holding.Load() < holdsShortly
}

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
