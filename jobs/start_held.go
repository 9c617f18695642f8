package jobs

import (
	"slices"
	"time"
)

// Before a job starts, run may have to wait without a time limit of its own: for the login shell, whose environment the
// job needs, and for the person at the client. The job has no turns yet. A goroutine that takes the turn lock only
// wakes run. Requests for the job wait in the mail. They can be cancelled there, and so can the start.

// A holdUp describes the event that a start waits for, in the words of the errors for cancelled requests.
type holdUp struct {
	until string // the event that had not happened when the start was given up
	why   string // the event that the job waits for
}

var (
	heldByPerson = holdUp{"its start was confirmed", "for the confirmation of its start"}
	heldByLogin  = holdUp{"the login shell's environment was known", "for the environment of the login shell"}
)

// awaitLogin waits until the environment of the login shell is known, if the job needs it. If the job's directory
// cannot be used, it returns that error at once.
func (s *starting) awaitLogin() *Error {
	l := s.j.spec.from.login
	switch {
	case l == nil:
		return nil
	case isClosed(s.j.mgr.end.begun): // this ends the login shell, too
		return errClosedServer()
	case isClosed(l.done):
		return nil
	}
	d, _, err := s.j.mgr.directory(s.j.spec.Cwd)
	if err != nil {
		return err
	}
	d.Close()
	_, err = awaitBefore(s.j, l.done, heldByLogin)
	return err
}

// awaitBefore waits for a value from comes, or for its closing, before the job starts, and returns the value. It
// returns an error if the start was cancelled or the job must not start any more.
func awaitBefore[T any](j *Job, comes <-chan T, h holdUp) (came T, broken *Error) {
	j.starting.heldUp.Store(true) // before the mail is read
	defer j.starting.heldUp.Store(false)
	for {
		if broken = j.starting.sortMail(h); broken != nil {
			return came, broken
		}
		select {
		case came = <-comes:
			if isClosed(j.mgr.end.begun) { // the server's end is the cause of the value, or came at the same time
				return came, errClosedServer()
			}
			j.input.wentOnAt = time.Now()
			return came, nil
		case <-j.mgr.end.begun:
			return came, errClosedServer()
		case <-j.actor.mail.Wake():
		}
	}
}

// sortMail answers those requests waiting for the start that are cancelled. It returns an error if the start itself is
// cancelled, or the job or the server is ended.
func (s *starting) sortMail(h holdUp) (broken *Error) {
	var canceled []request
	s.j.actor.mail.Edit(func(queue []message) []message {
		for i := 0; i < len(queue); i++ {
			switch m := queue[i].(type) {
			case quitMsg, shutdownMsg:
				broken = errClosedServer()
			case killMsg:
				broken = errorf(CodeCanceled, "job %d was ended before %s; nothing was started", s.j.id, h.until)
			case cancelMsg:
				if m.tok == s.begin.reply.tok {
					broken = errorf(CodeCanceled, "the start of job %d was cancelled before %s; nothing was started", s.j.id, h.until)
					continue
				}
				at := slices.IndexFunc(queue[:i], func(other message) bool {
					r, is := other.(cancelable)
					return is && r.token() == m.tok
				})
				if at < 0 {
					continue // The request was already answered.
				}
				canceled = append(canceled, queue[at].(request))
				queue = slices.Delete(slices.Delete(queue, i, i+1), at, at+1)
				i -= 2
			}
		}
		return queue
	})
	for _, r := range canceled {
		e := errorf(CodeCanceled, "the request was cancelled; job %d waits %s", s.j.id, h.why)
		e.Handle = s.j.id
		r.fail(e)
	}
	return broken
}
