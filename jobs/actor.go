package jobs

import (
	"time"

	"shelld/jobs/internal/spool"
)

// run is the job's loop: the one goroutine that owns its state.
//
//	a request's life:  rpc's reader -> post -> mail -> onMessage
//	                     answered at once, or kept (waits, runs, reads, kills, queue)
//	                     and looked at again after everything that happens (review)
//	                   -> reply -> the goroutine that awaits it in rpc -> the outbox
//
// It never blocks: what blocks has a goroutine of its own (loops.go, start.go,
// follower.go). A source of messages is switched off by a nil channel.
func (j *Job) run() {
	defer close(j.done)
	defer j.timer.Stop()
	for !j.quit {
		select {
		case r := <-j.started:
			j.onStarted(r)
		case <-j.mailWake():
			for _, m := range j.mail.take() {
				j.onMessage(m)
			}
		case ev, ok := <-j.facts:
			j.onFact(ev, ok)
		case <-j.grew:
		case e := <-j.ends:
			j.onStreamEnd(e)
		case j.inputReady() <- j.queue.order():
			j.queue.writing = true
			j.queue.writes++
		case w := <-j.wrote:
			j.onWrote(w)
		case h := <-j.hints:
			j.hint, j.hintUntil = h, time.Time{} // found, or nothing to be found
		case <-j.timer.C:
		}
		j.review(time.Now())
	}
	j.release()
}

// mailWake is nil while the job starts: what names it then waits its turn, a cancel
// of the start as well, so that only its wait is left to cancel.
func (j *Job) mailWake() <-chan struct{} {
	if j.st.status == StatusStarting {
		return nil
	}
	return j.mail.wake
}

// inputReady is nil while nothing can be handed to the writeLoop.
func (j *Job) inputReady() chan<- inputOrder {
	if j.input == nil || !j.queue.ready() {
		return nil
	}
	return j.toInput
}

func (j *Job) onMessage(m message) {
	if j.leave != nil && asks(m) {
		j.refuse(m, j.gone())
		return
	}
	switch m := m.(type) {
	case writeMsg:
		j.onWrite(m)
	case waitMsg:
		j.onWait(m)
	case runMsg:
		j.onRun(m)
	case readMsg:
		j.onRead(m)
	case killMsg:
		j.onKill(m)
	case signalMsg:
		j.onSignal(m)
	case resizeMsg:
		j.onResize(m)
	case watchMsg:
		j.onWatch(m)
	case unwatchMsg:
		j.onUnwatch(m)
	case removeMsg:
		j.onRemove(m)
	case subscribeMsg:
		j.onSubscribe(m)
	case infoMsg:
		j.onInfo(m)
	case foregroundMsg:
		j.onForeground(m)
	case cancelMsg:
		j.onCancel(m.tok)
	case shutdownMsg:
		j.onShutdown(m.grace)
	case hitsMsg:
		j.onHits(m.hits)
		m.taken <- struct{}{}
	case syncedMsg:
		j.onSynced(m.tok)
	case fileFailedMsg:
		j.onFileFailed(m.err)
	case filedMsg:
		j.filed = true
	case readDoneMsg:
		j.onReadDone(m)
	case quitMsg:
		if m.discard {
			j.leaveWith(func() { j.discard(true, j.logDiscard) })
		} else {
			j.quit = true
		}
	}
}

// review looks at everything that may have come true, whatever happened, and sets
// the timer to the next moment at which time alone can make something true.
func (j *Job) review(now time.Time) {
	if j.st.status == StatusStarting || j.quit {
		return
	}
	j.reviewChanges()
	j.reviewEnd(now)
	j.reviewSettle(now)
	j.reviewInput(now)
	j.reviewHeldWaits()
	j.reviewWaits(now)
	j.reviewReads(now)
	j.reviewRuns(now)
	j.reviewKills(now)
	j.reviewRecord(now)
	j.reviewLeave()
	j.timer.Reset(max(j.nextDeadline(now).Sub(now), 0))
}

// nextDeadline is at most an hour ahead.
func (j *Job) nextDeadline(now time.Time) time.Time {
	next := now.Add(time.Hour)
	sooner := func(t time.Time) {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	for _, w := range j.waits {
		if w.catchup == nil {
			sooner(w.deadline)
			sooner(j.quietDeadline(w))
		}
	}
	if j.st.step == stepHint {
		sooner(j.hintUntil)
	}
	sooner(j.catchUpUntil())
	sooner(j.recordAt)
	if len(j.kills) > 0 {
		sooner(j.killsUntil)
	}
	if !j.queue.broken.IsZero() && len(j.queue.items) > 0 {
		sooner(j.queue.broken.Add(brokenTime))
	}
	sooner(j.inputDeadline())
	for _, r := range j.runs {
		sooner(r.deadline)
		sooner(r.drainUntil)
	}
	for _, r := range j.reads {
		if !r.begun && !(r.byCursor() && j.cursorAt[r.st.name] != nil) { // what it waits for wakes the loop
			sooner(r.deadline)
		}
	}
	return next
}

// onCancel withdraws one request. A request that is not there any more has been
// answered.
func (j *Job) onCancel(tok *token) {
	j.armHeldWaits() // one of them may be meant
	if j.cancelWait(tok) || j.cancelRun(tok) || j.cancelRead(tok) || j.cancelKill(tok) {
		return
	}
	j.cancelWrite(tok)
}

func (e *Error) withOutcome(o Outcome) *Error {
	e.Outcome, e.Handle = &o, o.State.Handle
	return e
}

func (j *Job) canceled() *Error {
	e := errorf(CodeCanceled, "the request was cancelled; job %d goes on", j.id)
	e.Handle = j.id
	return e
}

// state returns the changing part of what is known.
func (j *Job) state() State {
	s := State{Handle: j.id, Name: j.spec.Name, Status: j.st.status}
	if j.told() {
		s.Exit = j.st.exit
	}
	s.Streams = j.streamInfo((*spool.Spool).Kept)
	return s
}

// streamInfo tells of each stream the ranges that kept tells of its spool.
func (j *Job) streamInfo(kept func(*spool.Spool) []spool.Range) (all []StreamInfo) {
	for _, st := range j.streams {
		si := StreamInfo{Name: st.name, NextOffset: st.spool.End()}
		for _, k := range kept(st.spool) {
			si.Kept = append(si.Kept, Range(k))
		}
		all = append(all, si)
	}
	return all
}

// told says whether the leader's end counts: its output has been seen to the end.
func (j *Job) told() bool {
	return j.st.status == StatusExited || j.st.status == StatusClosed
}

func (j *Job) snapshot() Info {
	info := j.info
	info.State = j.state()
	if told := j.display.last(); j.display != nil {
		info.Title, info.CurrentDirectory = told.Title, told.Directory
	}
	if j.told() {
		info.Foreground = nil
	} else {
		info.EndedAt, info.Background = time.Time{}, nil
	}
	return info
}

// release ends what the loop owns. The messages that nobody will take any more are
// answered.
func (j *Job) release() {
	for _, m := range j.mail.close() {
		j.refuse(m, j.gone())
	}
	j.failPending(j.gone())
	j.left()
	j.closeDescriptors()
	j.abandonFiles()
	if f := j.follower.Swap(nil); f != nil {
		close(f.quit)
		<-f.done
	}
}

func (j *Job) closeDescriptors() {
	for _, st := range j.streams {
		_ = st.src.Close() // Best effort: nothing more is read or owed.
	}
	if j.input != nil {
		_ = j.input.Close() // Best effort, as above.
	}
	if j.term != nil {
		_ = j.term.Close() // Best effort, as above.
	}
}

// failPending answers everything that is kept.
func (j *Job) failPending(err *Error) {
	for _, w := range j.waits {
		w.abort(err)
	}
	for _, r := range j.runs {
		r.reply.fail(err)
	}
	for _, r := range j.reads {
		r.msg.reply.fail(err)
	}
	for _, k := range j.kills {
		k.reply.fail(err)
	}
	for _, u := range j.unwatches {
		u.reply.fail(err)
	}
	for _, m := range j.heldWaits {
		m.reply.fail(err)
	}
	j.failQueue(err)
	j.waits, j.runs, j.reads, j.kills, j.heldWaits = nil, nil, nil, nil, nil
	clear(j.unwatches)
}
