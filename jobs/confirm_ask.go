package jobs

import "time"

// A confirmedMsg brings back a request about which a person was asked.
type confirmedMsg struct {
	cancelable
	err *Error // why it may not be carried out; nil: it may
}

// askingPart has the requests about which a person at the client is asked.
type askingPart struct {
	noPart
	j *Job

	askedWrites []*askedWrite
	asking      map[*token]chan struct{} // requests about which a person is asked; closed by a cancel
}

func (m confirmedMsg) deliver(j *Job) { j.asking.onConfirmed(m) }

// confirmFirst says whether a request has to wait for a person, or is refused. Then it has
// been seen to.
func (p *askingPart) confirmFirst(a Action, m cancelable, asker Asker) bool {
	if err := p.j.mgr.refuseUnasked(a, p.j.id); err != nil {
		m.fail(err)
		return true
	}
	if p.j.mgr.settings.confirm.verdict(a) != VerdictAsk {
		return false
	}
	shell, cwd := p.j.info.Shell, p.j.starting.place
	p.askAbout(m, func() (*Question, *Error) {
		return p.question(a, asker, p.j.id, p.shownCommand(shell), cwd, rootsOf(&p.j.spec, plan{shell: shell}))
	})
	return true
}

// askAbout has a person asked about a request, which comes back with the answer. The question
// is made outside of the turn.
func (p *askingPart) askAbout(m cancelable, question func() (*Question, *Error)) {
	p.j.actor.lock.Check()
	stop := make(chan struct{})
	if p.asking == nil {
		p.asking = map[*token]chan struct{}{}
	}
	p.asking[m.token()] = stop
	p.j.output.loops.Go(func() {
		q, err := question()
		if err == nil {
			err = p.awaitAnswer(q, stop)
		}
		p.j.post(confirmedMsg{m, err})
	})
}

// awaitAnswer returns nil as well where nothing of the job is left: the loop knows then what
// to answer.
func (p *askingPart) awaitAnswer(q *Question, stop <-chan struct{}) *Error {
	defer p.j.mgr.askPerson(q)()
	select {
	case a := <-q.answers:
		return q.denied(a)
	case <-stop:
		return p.j.canceled()
	case <-p.j.ended:
	case <-p.j.done: // The loop was let go of.
	case <-p.j.mgr.end.begun:
	}
	if isClosed(p.j.mgr.end.begun) { // which may have ended the job
		return errorf(CodeShuttingDown, "the server is shutting down; job %d is being ended", p.j.id)
	}
	return nil
}

func (p *askingPart) onConfirmed(m confirmedMsg) {
	stop := p.asking[m.token()]
	delete(p.asking, m.token())
	if isClosed(stop) {
		m.err = p.j.canceled() // Both came at once.
	}
	if m.err != nil {
		m.fail(m.err)
		return
	}
	switch r := m.cancelable.(type) {
	case killMsg:
		r.allowed = true
		p.j.kills.onKill(r)
	case signalMsg:
		r.allowed = true
		p.j.onSignal(r)
	case execMsg:
		r.allowed, r.at = true, time.Now() // its deadline has not run so far
		p.j.shell.onExec(r)
	case changeVariableMsg:
		r.allowed = true
		p.j.shell.onChangeVariable(r)
	}
}

// cancelAsked withdraws a request about which a person is asked.
func (p *askingPart) cancelAsked(tok *token) bool {
	stop, is := p.asking[tok]
	if is && !isClosed(stop) {
		close(stop)
	}
	return is
}

func (p *askingPart) cancel(tok *token) bool { return p.cancelAsked(tok) || p.cancelAskedWrite(tok) }

// pending counts those of a closed job, too: one about which a person is asked is taken up after the job is
// forgotten.
func (p *askingPart) pending() int { return len(p.askedWrites) + len(p.asking) }

func (p *askingPart) fail(err *Error) { p.dropAsked(func() *Error { return err }) }

func (p *askingPart) shutdown(why func() *Error) { p.dropAsked(why) }

func (p *askingPart) exited(why func() *Error) { p.dropAsked(why) }
