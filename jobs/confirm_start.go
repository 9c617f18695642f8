package jobs

// allowStart returns when a start that is found in order may be made, or says why it may not.
func (p *askingPart) allowStart(pl plan) *Error {
	if p.j.mgr.settings.confirm.Start != VerdictAsk {
		return nil
	}
	q, err := p.question(ActionStart, p.j.spec.Asker, 0, p.shownCommand(pl.shell), pl.place(), rootsOf(&p.j.spec, pl))
	if err != nil {
		return err
	}
	if err := q.addEnvironment(p.j, pl.env); err != nil {
		return err
	}
	if err := p.awaitPerson(q); err != nil {
		return err
	}
	return p.checkAgain(pl)
}

// checkAgain holds what a person has allowed against what it would be now: the directory may
// be another one, or be allowed no more.
func (p *askingPart) checkAgain(asked plan) *Error {
	now, err := p.j.mgr.system.plan(&p.j.spec)
	if err != nil {
		return err
	}
	defer now.at.Close()
	return sameDirectory(asked, now)
}

func (p *askingPart) awaitPerson(q *Question) *Error {
	defer p.j.mgr.askPerson(q)()
	a, err := awaitBefore(p.j, q.answers, heldByPerson)
	if err != nil {
		return err
	}
	return q.denied(a)
}
