package jobs

import "time"

// leasePart ends a job whose owner is away for too long, and knows which client may type (holder.go).
type leasePart struct {
	noPart
	j *base

	ending interface {
		end(why Reason, o KillOptions)
	}
	files   interface{ record(now time.Time) }
	display interface{ resize(cols, rows int) *Error }
	queues  []heldInput
}

func (p *leasePart) onEndAt(m endAtMsg) {
	if !p.j.isVacant() && !m.at.Equal(p.j.info.EndsAt) {
		p.setEnd(m.at)
	}
}

func (p *leasePart) onSetOwner(m setOwnerMsg) {
	if !p.j.isVacant() {
		p.j.info.Lease.Owner = m.name
		p.tell()
	}
}

func (p *leasePart) onSetLease(m setLeaseMsg) {
	if p.j.isVacant() {
		m.reply.fail(p.j.over())
		return
	}
	lease := &p.j.info.Lease
	if m.keep != nil {
		lease.Keep = *m.keep
	}
	if m.grace != nil {
		lease.Grace = *m.grace
	}
	p.tell()
	m.reply.ok(p.j.snapshot())
}

// review ends the job once: the server may not be permitted to signal the processes that survive.
func (p *leasePart) review(now time.Time) {
	if at := p.j.info.EndsAt; !at.IsZero() && !now.Before(at) {
		p.setEnd(time.Time{})
		p.ending.end(ReasonDetached, KillOptions{Grace: p.j.grace()})
	}
}

func (p *leasePart) due(time.Time) time.Time { return p.j.info.EndsAt }

func (p *leasePart) setEnd(at time.Time) {
	p.j.info.EndsAt = at
	p.tell()
}

// tell makes a change visible in lists of jobs, also in those of other programs.
func (p *leasePart) tell() {
	p.j.publish()
	p.files.record(time.Now())
}
