package jobs

import (
	"slices"
	"time"
)

// Before a job starts, run may have to wait for somebody who takes as long as he likes: the
// login shell, whose environment the job is to get, and the person at the client. The job has
// no turns yet. Whoever takes one does nothing but wake run up: what names the job waits in
// the mail, where it can be cancelled, and so can the start.

// A holdUp is what a start waits for, as those are told who do not wait any longer.
type holdUp struct {
	until string // what has not happened when the start is broken off
	why   string // what the job waits for
}

var (
	heldByPerson = holdUp{"anybody had allowed it to start", "for somebody to allow its start"}
	heldByLogin  = holdUp{"the login shell had told its environment", "for the environment of the login shell before it starts"}
)

// awaitLogin returns when what the job is started with is known. What is wrong with its
// directory needs no waiting to be told.
func (s *starting) awaitLogin() *Error {
	l := s.j.spec.from.login
	switch {
	case l == nil:
		return nil
	case isClosed(s.j.mgr.end.begun): // which ends the login shell, too
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

// awaitBefore returns what comes, or is closed, before the job starts; or why the job is not to
// start any more.
func awaitBefore[T any](j *Job, comes <-chan T, h holdUp) (came T, broken *Error) {
	j.starting.heldUp.Store(true) // before the mail is looked at
	defer j.starting.heldUp.Store(false)
	for {
		if broken = j.starting.sortMail(h); broken != nil {
			return came, broken
		}
		select {
		case came = <-comes:
			if isClosed(j.mgr.end.begun) { // which is why it came, or came with it
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

// sortMail answers what is cancelled of the requests that wait for the start. It returns an
// error where the start itself is, or is ended.
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
		e := errorf(CodeCanceled, "the request was cancelled; job %d waits %s", s.j.id, h.why)
		e.Handle = s.j.id
		r.fail(e)
	}
	return broken
}
