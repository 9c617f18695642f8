package jobs

import (
	"slices"
	"time"
)

// allowStart returns when a start that is found in order may be made, or says why it may not.
// Whoever has the job's turn meanwhile does nothing but wake this up: what names the job
// waits in the mail for as long as the person thinks.
func (j *Job) allowStart(p plan) *Error {
	if err := j.mgr.refuseUnasked(ActionStart, 0); err != nil {
		return err
	}
	if j.mgr.confirm.Start != VerdictAsk {
		return nil
	}
	q, err := j.question(ActionStart, 0, shownCommand(j.spec.Command, j.spec.Argv, p.shell), p.place(), rootsOf(&j.spec, p))
	if err != nil {
		return err
	}
	if err := j.awaitStart(q); err != nil {
		return err
	}
	j.allowedAt = time.Now()
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

func (j *Job) awaitStart(q *Question) *Error {
	j.asked.Store(true) // before the mail is looked at
	defer j.asked.Store(false)
	defer j.mgr.askPerson(q)()
	for {
		if err := j.sortMail(); err != nil {
			return err
		}
		select {
		case a := <-q.answers:
			return q.denied(a)
		case <-j.mgr.ending:
			return errClosedServer()
		case <-j.mail.wake:
		}
	}
}

// sortMail answers what is cancelled of the requests that wait for the start. It returns an
// error where the start itself is, or is ended.
func (j *Job) sortMail() (broken *Error) {
	var canceled []request
	j.mail.edit(func(queue []message) []message {
		for i := 0; i < len(queue); i++ {
			switch m := queue[i].(type) {
			case quitMsg, shutdownMsg:
				broken = errClosedServer()
			case killMsg:
				broken = j.notStarted("job %d was ended before anybody had allowed it to start; nothing was started")
			case cancelMsg:
				if m.tok == j.begin.reply.tok {
					broken = j.notStarted("the start of job %d was cancelled before anybody had allowed it; nothing was started")
					continue
				}
				at := slices.IndexFunc(queue[:i], func(other message) bool {
					r, is := other.(cancelable)
					return is && r.token() == m.tok
				})
				if at < 0 {
					continue // It has been answered.
				}
				canceled = append(canceled, queue[at].(request))
				queue = slices.Delete(slices.Delete(queue, i, i+1), at, at+1)
				i -= 2
			}
		}
		return queue
	})
	for _, r := range canceled {
		e := errorf(CodeCanceled, "the request was cancelled; job %d waits for somebody to allow its start", j.id)
		e.Handle = j.id
		r.fail(e)
	}
	return broken
}

func (j *Job) notStarted(format string) *Error { return errorf(CodeCanceled, format, j.id) }
