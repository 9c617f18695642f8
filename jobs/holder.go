package jobs

import "cmp"

// Of the clients that share a job, one can hold its input: only that one types and resizes. If there is no holder, each
// of them may. The holder is checked in the turn that queues the input, and a change of the holder drops the input that
// others have queued. So everything in the queues is from clients that may type.
//
// An owner "" stands for the server itself, and for the only client of a server without sessions: it always may.

// A heldInput is input that waits: to be typed, for a probe, for a person or for the shell.
type heldInput interface {
	// dropOthers drops the input of all owners but the holder. why makes an error for each.
	dropOthers(holder string, why func() *Error)
}

// refuseOthers returns the error for input of an owner that does not hold the input; nil: it may type.
func (p *leasePart) refuseOthers(owner string) *Error {
	holder := p.j.info.Lease.Holder
	if !isOthers(owner, holder) {
		return nil
	}
	e := errorf(CodeInputHeld, "client %s holds the input of job %d; wait for job/inputChanged, or take the input with job/takeInput. job/signal and job/kill do not need it", holder, p.j.id)
	e.Handle, e.Name = p.j.id, holder
	return e
}

func (p *leasePart) onTakeInput(m takeInputMsg) {
	o, reason := &m.opts, InputTaken
	held := p.refuseOthers(o.Owner)
	if held != nil && !o.Away(held.Name) {
		reason = InputForced
	}
	switch {
	case p.j.isVacant():
		m.reply.fail(p.j.over())
		return
	case reason == InputForced && !o.Force:
		m.reply.fail(held)
		return
	case o.Cols > 0 || o.Rows > 0:
		if err := p.display.resize(cmp.Or(o.Cols, p.j.info.Cols), cmp.Or(o.Rows, p.j.info.Rows)); err != nil {
			m.reply.fail(err)
			return
		}
	}
	p.setHolder(InputChanged{o.Owner, o.Owner, reason})
	m.reply.ok(p.j.snapshot())
}

func (p *leasePart) onGiveInput(m giveInputMsg) {
	if p.j.isVacant() {
		m.reply.fail(p.j.over())
		return
	}
	if err := p.refuseOthers(m.owner); err != nil {
		m.reply.fail(err)
		return
	}
	p.setHolder(InputChanged{m.to, m.owner, InputGiven})
	m.reply.ok(p.j.snapshot())
}

func (p *leasePart) onLeaveInput(m leaveInputMsg) {
	if p.j.info.Lease.Holder == m.owner && !p.j.isVacant() {
		p.setHolder(InputChanged{"", m.owner, InputLeft})
	}
}

// setHolder changes the holder, reports that, and drops the queued input of others.
func (p *leasePart) setHolder(c InputChanged) {
	if c.Holder == p.j.info.Lease.Holder {
		return
	}
	p.j.info.Lease.Holder = c.Holder
	p.tell()
	p.j.sink.Event(Event{After: p.j.barrier(), Input: &c})
	for _, q := range p.queues {
		q.dropOthers(c.Holder, func() *Error { return p.tookOver(c.Holder) })
	}
}

// tookOver returns the error for queued input of another client than the new holder.
func (p *leasePart) tookOver(holder string) *Error {
	e := errorf(CodeCanceled, "client %s took over the input of job %d before all of this was typed; take it back with job/takeInput, look what the job does now, and send the rest again if it is still wanted", holder, p.j.id)
	e.Handle = p.j.id
	return e
}
