package jobs

import (
	"cmp"
	"slices"

	"shelld.dev/shelld/jobs/internal/shellmark"
)

// Of the clients that share a job, one can hold its input: only that one types and resizes. If there is no holder, each
// of them may. The holder is checked in the turn that queues the input, and a change of the holder drops the input that
// others have queued. So everything in the queues is from clients that may type.
//
// An owner "" stands for the server itself, and for the only client of a server without sessions: it always may.

// TakeOptions say which client takes the input of a job, and from which holders.
type TakeOptions struct {
	Owner string
	Force bool // from any holder
	// Away reports whether a holder is away: then the input may be taken without Force. It is called in a turn.
	Away       func(holder string) bool
	Cols, Rows int // the new size of the terminal; 0: unchanged
}

// An InputReason is the reason why the input of a job has another holder.
type InputReason string

const (
	InputTaken  InputReason = "taken"  // there was no holder, or it was away
	InputForced InputReason = "forced" // taken from a holder that was there
	InputGiven  InputReason = "given"
	InputLeft   InputReason = "left" // the holder has left, and cannot come back
)

// InputChanged reports that the input of a job has another holder.
type InputChanged struct {
	Holder string // "" = none
	By     string // the client that has caused it
	Reason InputReason
}

// A heldInput is input that waits: to be typed, for a probe, for a person or for the shell.
type heldInput interface {
	// dropOthers drops the input of all owners but the holder. why makes an error for each.
	dropOthers(holder string, why func() *Error)
}

// isOthers reports whether input of an owner must not be typed while another one is the holder.
func isOthers(owner, holder string) bool { return owner != "" && holder != "" && owner != holder }

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

// dropOthers drops the input of others that the kernel has not taken.
func (p *inputPart) dropOthers(holder string, why func() *Error) {
	var items []*queued
	for _, q := range p.queue.items {
		if isOthers(q.owner, holder) {
			items = append(items, q)
		}
	}
	p.dropItems(items, why)
}

// dropOthers drops the writes of others that wait for a probe.
func (p *waitingPart) dropOthers(holder string, why func() *Error) {
	p.dropHeldIf(func(h *heldWrite) bool { return isOthers(h.msg.in.Owner, holder) }, why)
}

// dropOthers drops the commands and changes of variables of others that the shell was not given.
func (p *shellPart) dropOthers(holder string, why func() *Error) {
	s := p.watch
	if s == nil {
		return
	}
	s.queue = slices.DeleteFunc(s.queue, func(r *execReq) bool {
		if !isOthers(r.opts.Owner, holder) || r.given.Seq() != 0 {
			return false
		}
		e := why()
		e.CommandID, e.Fate = r.command.ID, CommandDropped
		r.command.Finished = true
		r.refuse(e)
		return true
	})
	for i, t := range slices.Clone(s.tasks) {
		if isOthers(t.owner, holder) && !(i == 0 && s.session.Has(shellmark.PhaseHidden)) {
			p.giveUpTask(t, why())
		}
	}
}

// dropOthers drops the input, commands and changes of variables of others that wait for a person.
func (p *askingPart) dropOthers(holder string, why func() *Error) {
	for _, h := range slices.Backward(p.askedWrites) { // so that none of them comes first, and is typed
		if isOthers(h.msg.in.Owner, holder) {
			p.dropAskedWrite(h, why())
		}
	}
	for _, a := range p.asking {
		if isOthers(a.owner(), holder) && a.why == nil {
			a.drop(why())
		}
	}
}

// owner returns the client whose request it is, if the request needs the input of the job.
func (a *askedRequest) owner() string {
	switch m := a.of.(type) {
	case execMsg:
		return m.opts.Owner
	case changeVariableMsg:
		return m.owner
	}
	return ""
}
