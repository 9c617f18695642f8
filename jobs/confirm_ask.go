package jobs

import "time"

// A confirmedMsg brings back a request about which a person was asked.
type confirmedMsg struct {
	cancelable
	err *Error // why it may not be carried out; nil: it may
}

func (m confirmedMsg) deliver(j *Job) { j.onConfirmed(m) }

// confirmFirst says whether a request has to wait for a person, or is refused. Then it has
// been seen to.
func (j *Job) confirmFirst(a Action, m cancelable, asker Asker) bool {
	if err := j.mgr.refuseUnasked(a, j.id); err != nil {
		m.fail(err)
		return true
	}
	if j.mgr.confirm.verdict(a) != VerdictAsk {
		return false
	}
	shell, cwd := j.info.Shell, j.place
	j.askAbout(m, func() (*Question, *Error) {
		return j.question(a, asker, j.id, j.shownCommand(shell), cwd, rootsOf(&j.spec, plan{shell: shell}))
	})
	return true
}

// askAbout has a person asked about a request, which comes back with the answer. The question
// is made outside of the turn.
func (j *Job) askAbout(m cancelable, question func() (*Question, *Error)) {
	stop := make(chan struct{})
	if j.asking == nil {
		j.asking = map[*token]chan struct{}{}
	}
	j.asking[m.token()] = stop
	j.loops.Go(func() {
		q, err := question()
		if err == nil {
			err = j.awaitAnswer(q, stop)
		}
		j.post(confirmedMsg{m, err})
	})
}

// awaitAnswer returns nil as well where nothing of the job is left: the loop knows then what
// to answer.
func (j *Job) awaitAnswer(q *Question, stop <-chan struct{}) *Error {
	defer j.mgr.askPerson(q)()
	select {
	case a := <-q.answers:
		return q.denied(a)
	case <-stop:
		return j.canceled()
	case <-j.ended:
	case <-j.done: // The loop was let go of.
	case <-j.mgr.ending:
	}
	if isClosed(j.mgr.ending) { // which may have ended the job
		return errorf(CodeShuttingDown, "the server is shutting down; job %d is being ended", j.id)
	}
	return nil
}

func (j *Job) onConfirmed(m confirmedMsg) {
	stop := j.asking[m.token()]
	delete(j.asking, m.token())
	if isClosed(stop) {
		m.err = j.canceled() // Both came at once.
	}
	if m.err != nil {
		m.fail(m.err)
		return
	}
	switch r := m.cancelable.(type) {
	case killMsg:
		r.allowed = true
		j.kills.onKill(r)
	case signalMsg:
		r.allowed = true
		j.onSignal(r)
	case execMsg:
		r.allowed, r.at = true, time.Now() // its deadline has not run so far
		j.onExec(r)
	case changeVariableMsg:
		r.allowed = true
		j.onChangeVariable(r)
	}
}

// cancelAsked withdraws a request about which a person is asked.
func (j *Job) cancelAsked(tok *token) bool {
	stop, is := j.asking[tok]
	if is && !isClosed(stop) {
		close(stop)
	}
	return is
}
