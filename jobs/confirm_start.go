package jobs

// allowStart returns when a start that is found in order may be made, or says why it may not.
func (j *Job) allowStart(p plan) *Error {
	if j.mgr.confirm.Start != VerdictAsk {
		return nil
	}
	q, err := j.question(ActionStart, j.spec.Asker, 0, j.shownCommand(p.shell), p.place(), rootsOf(&j.spec, p))
	if err != nil {
		return err
	}
	if err := q.addEnvironment(j, p.env); err != nil {
		return err
	}
	if err := j.awaitPerson(q); err != nil {
		return err
	}
	return j.checkAgain(p)
}

// checkAgain holds what a person has allowed against what it would be now: the directory may
// be another one, or be allowed no more.
func (j *Job) checkAgain(asked plan) *Error {
	now, err := j.mgr.plan(&j.spec)
	if err != nil {
		return err
	}
	defer now.at.Close()
	return sameDirectory(asked, now)
}

func (j *Job) awaitPerson(q *Question) *Error {
	defer j.mgr.askPerson(q)()
	a, err := awaitBefore(j, q.answers, heldByPerson)
	if err != nil {
		return err
	}
	return q.denied(a)
}
