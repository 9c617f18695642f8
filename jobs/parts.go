package jobs

import (
	"slices"
	"time"
)

// A part is one concern of a job. It owns its state, which is accessed only in turns. Each turn visits the parts in the
// order of newParts.
type part interface {
	review(now time.Time)        // act on everything that may have become true
	due(now time.Time) time.Time // when time alone can make something true; zero: never
	cancel(tok *token) bool      // withdraw the request, if it is one of this part
	pending() int                // the number of requests that are kept and not yet answered
	fail(err *Error)             // the job is gone: answer all requests
	shutdown(why func() *Error)  // the server ends: answer the requests that do not wait for the job's end
	exited(why func() *Error)    // answer the requests that only the leader could have satisfied
	inform(info *Info)           // add the part's share of the job's info; also called outside a turn
}

// noPart is embedded in parts. It has the methods that most of them do not need.
type noPart struct{}

func (noPart) review(time.Time)        {}
func (noPart) due(time.Time) time.Time { return time.Time{} }
func (noPart) cancel(*token) bool      { return false }
func (noPart) pending() int            { return 0 }
func (noPart) fail(*Error)             {}
func (noPart) shutdown(func() *Error)  {}
func (noPart) exited(func() *Error)    {}
func (noPart) inform(*Info)            {}

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
func (j *Job) newParts() {
	b := &j.base
	j.changes = changesPart{j: b, waits: &j.waits, waiting: &j.waiting}
	j.shell = shellPart{j: b, asking: &j.asking, input: &j.input, waiting: &j.waiting, waits: &j.waits}
	j.limits.j, j.limits.ending = b, &j.ending
	j.waiting.j, j.waiting.display, j.waiting.files = b, &j.display, &j.files
	j.waiting.input, j.waiting.shell, j.waiting.waits = &j.input, &j.shell, &j.waits
	j.ending = endingPart{
		j: b, jobs: j.manager, changes: &j.changes, display: &j.display, files: &j.files, input: &j.input, kills: &j.kills,
		limits: &j.limits, runs: &j.runs, shell: &j.shell, hints: make(chan *Hint, 1),
	}
	j.display.j, j.display.files, j.display.waits, j.display.ending, j.display.input = b, &j.files, &j.waits, &j.ending, &j.input
	j.input.j, j.input.asking, j.input.files = b, &j.asking, &j.files
	j.input.shell, j.input.waiting, j.input.waits = &j.shell, &j.waiting, &j.waits
	j.input.orders, j.input.wrote = make(chan inputOrder, 1), make(chan writeDone)
	j.waits = waitsPart{
		j: b, display: &j.display, waiting: &j.waiting, shell: &j.shell, changes: &j.changes, ending: &j.ending, input: &j.input,
		reads: &j.reads, watches: map[int]*watch{}, unwatches: map[*token]unwatchReq{},
	}
	j.reads = readsPart{j: b, cursor: map[Stream]int64{}, cursorAt: map[Stream]*readReq{}}
	j.runs = runsPart{j: b, ending: &j.ending, waiting: &j.waiting}
	j.kills = killsPart{j: b, asking: &j.asking, ending: &j.ending, shell: &j.shell}
	j.files.j, j.files.ending = b, &j.ending
	j.asking = askingPart{j: b, actor: &j.actor, input: &j.input, waiting: &j.waiting}
	j.idle.j, j.idle.waiting = b, &j.waiting
	j.parts = []part{
		&j.changes, &j.shell, &j.limits, &j.waiting, &j.ending, &j.display, &j.input,
		&j.waits, &j.reads, &j.runs, &j.kills, &j.files, &j.asking, &j.idle,
	}
}

// nextDue returns when time alone can next make something true. That is at most an hour ahead.
func (j *Job) nextDue(now time.Time) time.Time {
	next := now.Add(time.Hour)
	for _, p := range j.parts {
		if t := p.due(now); !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	return next
}

// onCancel withdraws a request. A request that no part has was answered already.
func (j *Job) onCancel(tok *token) {
	for _, p := range j.parts {
		if p.cancel(tok) {
			return
		}
	}
}

// owed returns the number of requests that are kept and not yet answered.
func (j *Job) owed() (n int) {
	for _, p := range j.parts {
		n += p.pending()
	}
	return n
}

// inform lets each part add its share of the job's info.
func (j *base) inform(info *Info) {
	for _, p := range j.parts {
		p.inform(info)
	}
}

// failPending answers all requests that are kept. A request that waits for another is answered before that one: so the
// parts go backwards.
func (j *Job) failPending(err *Error) {
	for _, p := range slices.Backward(j.parts) {
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
		a.quit.Store(a.j.owed() == 0)
	}
}

// left calls the function given to leaveWith when the job has left.
func (a *actor) left() {
	if then := a.leaving; then != nil {
		a.leaving = nil
		then()
	}
}
