package jobs

import "time"

// A Lease says who has started a job, and how long the job may outlive the connection of its owner. This package only
// keeps it: its caller, who knows the connections, calls [Job.EndAt].
type Lease struct {
	Owner string        // "" = none
	Keep  bool          // the job lives on without its owner
	Grace time.Duration // otherwise, how long the owner may be away
}

// EndAt has the job ended at the given time as by a limit, with the reason [ReasonDetached], unless EndAt is called
// again before. The zero time means never. It takes effect in a turn, and has no effect on a job that has closed. It
// does not take the turn itself, so the caller may hold locks.
func (j *Job) EndAt(at time.Time) { j.post(endAtMsg{at}) }

// SetOwner gives the job to another owner. Like EndAt, it does not take the turn itself.
func (j *Job) SetOwner(name string) { j.post(setOwnerMsg{name}) }

// SetLease changes the lease of the job: how long it may live without its owner. nil leaves a value as it is. It does
// not change the time that EndAt has set.
func (j *Job) SetLease(keep *bool, grace *time.Duration) Pending[Info] {
	r := newReply[Info]()
	j.ask(setLeaseMsg{keep, grace, r})
	return pend(&j.base, r)
}

// Lease returns the job's lease.
func (j *Job) Lease() Lease {
	if info := j.public.Load(); info != nil {
		return info.Lease
	}
	return j.spec.Lease
}

// Vacant returns a channel that is closed when nothing of the job is left.
func (j *Job) Vacant() <-chan struct{} { return j.vacant }

type (
	endAtMsg    struct{ at time.Time }
	setOwnerMsg struct{ name string }
	setLeaseMsg struct {
		keep  *bool
		grace *time.Duration
		reply[Info]
	}
)

func (endAtMsg) message()    {}
func (setOwnerMsg) message() {}

// leasePart ends a job whose owner is away for too long.
type leasePart struct {
	noPart
	j *base

	ending interface {
		end(why Reason, o KillOptions)
	}
	files interface{ record(now time.Time) }
}

// begin sets the lease of a job that runs.
func (p *leasePart) begin() { p.j.info.Lease = p.j.spec.Lease }

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

func (p *leasePart) review(now time.Time) {
	if at := p.due(now); !at.IsZero() && !now.Before(at) {
		p.setEnd(time.Time{})
		p.ending.end(ReasonDetached, KillOptions{Grace: p.j.grace()})
	}
}

func (p *leasePart) due(time.Time) time.Time { return p.j.info.EndsAt }

func (p *leasePart) setEnd(at time.Time) {
	p.j.info.EndsAt = at
	p.tell()
}

// tell makes a change visible to those who list the jobs, of this server or from outside.
func (p *leasePart) tell() {
	p.j.publish()
	p.files.record(time.Now())
}
