package jobs

import (
	"slices"
	"time"
)

// newParts makes the parts of a job, in the order in which turns visit them: a part's results are visible to the parts
// after it in the same turn.
//
//	changes            report changes before anything that follows from them
//	shell              a command has begun or ended before waits check for that
//	limits, waiting    both may end waits, or the job
//	ending             reports the exit before requests that wait for it are answered
//	display, input     the screen is drawn, and the first queued item is begun, before waits check
//	waits .. kills     answer requests
//	files              write down the results of all of this
//	asking, idle       only hold information
func (a *actor) newParts() {
	a.turns, a.self = a, &a.Job
	b := &a.base
	a.changes = changesPart{j: b, waits: &a.waits, waiting: &a.waiting}
	a.shell = shellPart{j: b, asking: &a.asking, input: &a.input, waiting: &a.waiting, waits: &a.waits}
	a.limits.j, a.limits.ending = b, &a.ending
	a.waiting.j, a.waiting.display, a.waiting.files = b, &a.display, &a.files
	a.waiting.input, a.waiting.shell, a.waiting.waits = &a.input, &a.shell, &a.waits
	a.ending = endingPart{
		j: b, jobs: a.manager, changes: &a.changes, display: &a.display, files: &a.files, input: &a.input, kills: &a.kills,
		limits: &a.limits, runs: &a.runs, shell: &a.shell, hints: make(chan *Hint, 1),
	}
	a.display.j, a.display.files, a.display.waits, a.display.ending, a.display.input = b, &a.files, &a.waits, &a.ending, &a.input
	a.input.j, a.input.asking, a.input.files = b, &a.asking, &a.files
	a.input.shell, a.input.waiting, a.input.waits = &a.shell, &a.waiting, &a.waits
	a.input.queue.bytes, a.input.orders, a.input.wrote = &a.queued, make(chan inputOrder, 1), make(chan writeDone)
	a.waits = waitsPart{
		j: b, display: &a.display, waiting: &a.waiting, shell: &a.shell, changes: &a.changes, ending: &a.ending, input: &a.input,
		reads: &a.reads, watches: map[int]*watch{}, unwatches: map[*token]unwatchReq{},
	}
	a.reads = readsPart{j: b, cursor: map[Stream]int64{}, cursorAt: map[Stream]*readReq{}}
	a.runs = runsPart{j: b, ending: &a.ending, waiting: &a.waiting}
	a.kills = killsPart{j: b, asking: &a.asking, ending: &a.ending, shell: &a.shell}
	a.files.j, a.files.ending = b, &a.ending
	a.asking = askingPart{j: b, actor: a, input: &a.input, waiting: &a.waiting}
	a.idle.j, a.idle.waiting = b, &a.waiting
	a.parts = []part{
		&a.changes, &a.shell, &a.limits, &a.waiting, &a.ending, &a.display, &a.input,
		&a.waits, &a.reads, &a.runs, &a.kills, &a.files, &a.asking, &a.idle,
	}
}

// nextDue returns when time alone can next make something true. That is at most an hour ahead.
func (a *actor) nextDue(now time.Time) time.Time {
	next := now.Add(time.Hour)
	for _, p := range a.parts {
		if t := p.due(now); !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return next
}

// onCancel withdraws a request. A request that no part has was answered already.
func (a *actor) onCancel(tok *token) {
	for _, p := range a.parts {
		if p.cancel(tok) {
			return
		}
	}
}

// owed returns the number of requests that are kept and not yet answered.
func (a *actor) owed() (n int) {
	for _, p := range a.parts {
		n += p.pending()
	}
	return n
}

// failPending answers all requests that are kept. A request that waits for another is answered before that one: so the
// parts go backwards.
func (a *actor) failPending(err *Error) {
	for _, p := range slices.Backward(a.parts) {
		p.fail(err)
	}
}

// A job is forgotten if a client removes it or if enough others have closed since. It then takes no more requests.
// Earlier requests are answered first: disk reads and the matching of stored output go on beside the loop, and a client
// that asks for output and then removes the job gets its output.

// leaveWith ends the loop once no request is pending, and then calls then.
func (a *actor) leaveWith(then func()) {
	if a.leaving == nil {
		a.leaving = then
	}
}

// reviewLeave ends the loop of a forgotten job, if no request is pending.
func (a *actor) reviewLeave() {
	if a.leaving != nil {
		a.quit.Store(a.owed() == 0)
	}
}

// left calls the function given to leaveWith when the job has left.
func (a *actor) left() {
	if then := a.leaving; then != nil {
		a.leaving = nil
		then()
	}
}

func (a *actor) onRemove(m removeMsg) {
	if a.st.status != StatusClosed {
		e := errorf(CodeJobRunning, "job %d is %s; end it with job/kill before it is removed", a.id, a.st.status)
		m.reply.fail(e.about(&a.base))
		return
	}
	a.manager.registry.remove(&a.Job)
	if m.keepFiles {
		a.leaveWith(func() { m.reply.ok(struct{}{}) })
		return
	}
	a.leaveWith(func() { a.files.discard(false, func(err error) { a.answerRemove(m, err) }) })
}

func (a *actor) answerRemove(m removeMsg, err error) {
	if err != nil {
		e := storeError(err, a.folder.Path())
		e.Message = "the job was removed, but some of its files could not be deleted (" + e.Error() + "); delete " + a.folder.Path() + " yourself"
		m.reply.fail(e)
		return
	}
	m.reply.ok(struct{}{})
}
