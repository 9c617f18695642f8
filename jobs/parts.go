package jobs

import (
	"slices"
	"time"
)

// A part is one concern of a job. It owns its state, which only turns touch. Each turn visits the
// parts in the order of newParts.
type part interface {
	review(now time.Time)        // act on whatever may have become true
	due(now time.Time) time.Time // when time alone can make something true; zero: never
	cancel(tok *token) bool      // withdraw the request, if it is one of this part
	pending() int                // how many requests are kept, and not yet answered
	fail(err *Error)             // the job is gone: answer all of them
	shutdown(why func() *Error)  // the server ends: answer what does not wait for the job's end
	exited(why func() *Error)    // answer what only the leader could have done
	inform(info *Info)           // add what it knows to what the job tells of itself; outside a turn as well
}

// noPart is embedded by parts, and has the methods that most of them do not need.
type noPart struct{}

func (noPart) review(time.Time)        {}
func (noPart) due(time.Time) time.Time { return time.Time{} }
func (noPart) cancel(*token) bool      { return false }
func (noPart) pending() int            { return 0 }
func (noPart) fail(*Error)             {}
func (noPart) shutdown(func() *Error)  {}
func (noPart) exited(func() *Error)    {}
func (noPart) inform(*Info)            {}

// newParts makes the parts of a job, in the order in which turns visit them: what a part finds out
// counts for those behind it in the same turn.
//
//	changes            tell what has changed before anything that follows from it
//	shell              a command has begun or ended before waits ask for that
//	limits, waiting    both may end waits, or the job
//	ending             tells the exit before those who wait for it are answered
//	display, input     the screen is drawn, and what is first in the queue begun, before waits look
//	waits .. kills     answer requests
//	files              write down what all of this has come to
//	asking, idle       only know
func (j *Job) newParts() {
	j.changes.j, j.limits.j, j.waiting.j, j.display.j, j.runs.j, j.kills.j, j.files.j, j.asking.j, j.idle.j = j, j, j, j, j, j, j, j, j
	j.shell = shellPart{j: j}
	j.ending = endingPart{j: j, hints: make(chan *Hint, 1)}
	j.input = inputPart{j: j, orders: make(chan inputOrder, 1), wrote: make(chan writeDone)}
	j.waits = waitsPart{j: j, watches: map[int]*watch{}, unwatches: map[*token]unwatchReq{}}
	j.reads = readsPart{j: j, unread: map[Stream]int64{}, cursor: map[Stream]int64{}, cursorAt: map[Stream]*readReq{}}
	j.parts = []part{
		&j.changes, &j.shell, &j.limits, &j.waiting, &j.ending, &j.display, &j.input,
		&j.waits, &j.reads, &j.runs, &j.kills, &j.files, &j.asking, &j.idle,
	}
}

// nextDue is when time alone can make something true next, and at most an hour ahead.
func (j *Job) nextDue(now time.Time) time.Time {
	next := now.Add(time.Hour)
	for _, p := range j.parts {
		if t := p.due(now); !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return next
}

// onCancel withdraws a request. One that no part has was answered already.
func (j *Job) onCancel(tok *token) {
	for _, p := range j.parts {
		if p.cancel(tok) {
			return
		}
	}
}

// owed counts the requests that are kept, and not yet answered.
func (j *Job) owed() (n int) {
	for _, p := range j.parts {
		n += p.pending()
	}
	return n
}

// inform has the parts add what they know.
func (j *Job) inform(info *Info) {
	for _, p := range j.parts {
		p.inform(info)
	}
}

// failPending answers everything that is kept. A request that waits is answered before what it waits for is: so
// the parts go backwards.
func (j *Job) failPending(err *Error) {
	for _, p := range slices.Backward(j.parts) {
		p.fail(err)
	}
}

// A job that is forgotten, because a client removes it or enough others have closed
// since, takes no more requests. Those that came before are answered first: reading a
// disk and matching what is stored go on beside the loop, and a client that asks for
// output and then removes the job gets its output.

// leaveWith has the loop end once nothing of what was asked is pending, and calls then.
func (a *actor) leaveWith(then func()) {
	if a.leaving == nil {
		a.leaving = then
	}
}

// reviewLeave ends the loop of a job that is forgotten, when it is time.
func (a *actor) reviewLeave() {
	if a.leaving != nil {
		a.quit.Store(a.j.owed() == 0)
	}
}

// left does what was to be done when the job has left.
func (a *actor) left() {
	if then := a.leaving; then != nil {
		a.leaving = nil
		then()
	}
}
