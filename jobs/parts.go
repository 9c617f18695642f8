package jobs

import (
	"slices"
	"sync/atomic"
	"time"

	"shelld.dev/shelld/jobs/internal/turn"
)

// An actor runs the turns of one job, and owns its parts. Only the files that make, start and remove jobs, and deliver.go, use
// it. All others have the Job, or its base.
type actor struct {
	Job
	manager *Manager

	missed  atomic.Bool // the holder of the turn must run another one when it has released the turn
	quit    atomic.Bool // no more turns; set in a turn
	leaving func()      // not nil: the job is forgotten; called when its loop has ended
	timer   *time.Timer

	starting starting

	// The parts, each of which owns its state:
	changes changesPart
	shell   shellPart
	limits  limitsPart
	lease   leasePart
	waiting waitingPart
	ending  endingPart
	display displayPart
	input   inputPart
	waits   waitsPart
	reads   readsPart
	runs    runsPart
	kills   killsPart
	files   filesPart
	asking  askingPart
	idle    idlePart
}

func newJob(m *Manager, id ID, spec Spec) *actor {
	a := &actor{manager: m, timer: time.NewTimer(time.Hour), Job: Job{receiver: spec.Sink, base: base{
		id: id, spec: spec, mgr: &m.services, log: m.log, epoch: time.Now(),
		vacant: make(chan struct{}),
		ended:  make(chan struct{}),
		done:   make(chan struct{}),
		mail:   turn.NewMailbox[message](),
		lock:   turn.NewLock(),
	}}}
	a.newParts()
	a.output = outputs{j: &a.base, grew: make(chan struct{}, 1), ends: make(chan streamEnd), unread: map[Stream]int64{}, tape: &a.files}
	a.starting = starting{j: a}
	if a.receiver == nil {
		a.receiver = nullSink{}
	}
	a.sink = a.receiver
	a.output.budget.max = spec.Limits.OutputBytes
	a.display.queries.others = spec.SinkAnswers
	a.st.status = StatusStarting
	return a
}

// newParts makes the parts of a job, in the order in which turns visit them: a part's results are visible to the parts
// after it in the same turn.
//
//	changes            report changes before anything that follows from them
//	shell              a command has begun or ended before waits check for that
//	limits .. waiting  may end waits, or the job
//	ending             reports the exit before requests that wait for it are answered
//	display, input     the screen is drawn, and the first queued item is begun, before waits check
//	waits .. kills     answer requests
//	files              write down the results of all of this
//	asking, idle       only hold information
func (a *actor) newParts() {
	a.turns, a.self = a, &a.Job
	b := &a.base
	a.changes = changesPart{j: b, waits: &a.waits, waiting: &a.waiting}
	a.shell = shellPart{j: b, asking: &a.asking, input: &a.input, lease: &a.lease, waiting: &a.waiting, waits: &a.waits}
	a.limits = limitsPart{j: b, ending: &a.ending}
	a.lease = leasePart{
		j: b, ending: &a.ending, files: &a.files, display: &a.display, queues: []heldInput{&a.input, &a.waiting, &a.shell, &a.asking},
	}
	a.waiting = waitingPart{j: b, display: &a.display, files: &a.files, input: &a.input, writes: &a.input, shell: &a.shell, waits: &a.waits}
	a.ending = endingPart{
		j: b, jobs: a.manager, changes: &a.changes, display: &a.display, files: &a.files, input: &a.input, kills: &a.kills,
		limits: &a.limits, runs: &a.runs, shell: &a.shell, hints: make(chan *Hint, 1),
	}
	a.display.j, a.display.ending, a.display.files, a.display.input, a.display.lease, a.display.waits = b, &a.ending, &a.files, &a.input, &a.lease, &a.waits
	a.input = inputPart{
		j: b, asking: &a.asking, files: &a.files, lease: &a.lease, shell: &a.shell, waiting: &a.waiting, secrets: &a.waiting, waits: &a.waits,
		queue: inputQueue{bytes: &a.queued}, orders: make(chan inputOrder, 1), wrote: make(chan writeDone),
	}
	a.waits = waitsPart{
		j: b, changes: &a.changes, display: &a.display, ending: &a.ending, input: &a.input, reads: &a.reads, shell: &a.shell,
		waiting: &a.waiting, watches: map[int]*watch{}, unwatches: map[*token]unwatchReq{},
	}
	a.reads = readsPart{j: b, cursor: map[Stream]int64{}, cursorAt: map[Stream]*readReq{}}
	a.runs = runsPart{j: b, ending: &a.ending, waiting: &a.waiting}
	a.kills = killsPart{j: b, asking: &a.asking, ending: &a.ending, shell: &a.shell}
	a.files.j, a.files.ending = b, &a.ending
	a.asking = askingPart{j: b, actor: a, input: &a.input, waiting: &a.waiting}
	a.idle.j, a.idle.waiting = b, &a.waiting
	a.parts = []part{
		&a.changes, &a.shell, &a.limits, &a.lease, &a.waiting, &a.ending, &a.display, &a.input,
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
