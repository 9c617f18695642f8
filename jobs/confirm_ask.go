package jobs

import "time"

// A confirmedMsg brings back a request after the answer of a person.
type confirmedMsg struct {
	cancelable
	err *Error // why it may not be carried out; nil: it may
}

// askingPart holds the requests that wait for the answer of the person at the client.
type askingPart struct {
	noPart
	j *Job

	askedWrites []*askedWrite
	asking      map[*token]chan struct{} // requests that wait for a person; a cancel closes the channel
}

func (m confirmedMsg) deliver(j *Job) { j.asking.onConfirmed(m) }

// confirmFirst reports whether it has taken over a request: the request waits for a person, or was refused. If it
// returns false, the caller must go on with the request.
func (p *askingPart) confirmFirst(a Action, m cancelable, asker Asker) bool {
	if err := p.j.mgr.refuseUnasked(a, p.j.id); err != nil {
		m.fail(err)
		return true
	}
	if p.j.mgr.settings.confirm.verdict(a) != VerdictAsk {
		return false
	}
	shell, cwd := p.j.info.Shell, p.j.place
	p.askAbout(m, func() (*Question, *Error) {
		return p.question(a, asker, p.j.id, p.shownCommand(shell), cwd, rootsOf(&p.j.spec, plan{shell: shell}))
	})
	return true
}

// askAbout asks a person about a request, which is posted again with the answer. The question is made outside of the
// turn.
func (p *askingPart) askAbout(m cancelable, question func() (*Question, *Error)) {
	p.j.lock.Check()
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

// awaitAnswer returns nil if the person allows the action. It returns nil as well if the job has ended: then the loop
// knows the right answer to the request.
func (p *askingPart) awaitAnswer(q *Question, stop <-chan struct{}) *Error {
	defer p.j.mgr.askPerson(q)()
	select {
	case a := <-q.answers:
		return q.denied(a)
	case <-stop:
		return p.j.canceled()
	case <-p.j.ended:
	case <-p.j.done: // The job was forgotten.
	case <-p.j.mgr.end.begun:
	}
	if isClosed(p.j.mgr.end.begun) { // this may be why the job has ended
		return errorf(CodeShuttingDown, "the server is shutting down; job %d is being ended", p.j.id)
	}
	return nil
}

func (p *askingPart) onConfirmed(m confirmedMsg) {
	stop := p.asking[m.token()]
	delete(p.asking, m.token())
	if isClosed(stop) {
		m.err = p.j.canceled() // The answer and the cancel came at the same time.
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

// cancelAsked cancels a request that waits for a person.
func (p *askingPart) cancelAsked(tok *token) bool {
	stop, is := p.asking[tok]
	if is && !isClosed(stop) {
		close(stop)
	}
	return is
}

func (p *askingPart) cancel(tok *token) bool { return p.cancelAsked(tok) || p.cancelAskedWrite(tok) }

// pending includes the requests of a closed job: a request that waits for a person is still handled after the job is
// forgotten.
func (p *askingPart) pending() int { return len(p.askedWrites) + len(p.asking) }

func (p *askingPart) fail(err *Error) { p.dropAsked(func() *Error { return err }) }

func (p *askingPart) shutdown(why func() *Error) { p.dropAsked(why) }

func (p *askingPart) exited(why func() *Error) { p.dropAsked(why) }
