package jobs

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/turn"
)

// An actor runs the turns of one job, and holds the messages that wait for a turn.
type actor struct {
	j *Job

	mail    *turn.Mailbox[message] // any goroutine -> the holder of the turn
	lock    turn.Lock              // held for a turn
	missed  atomic.Bool            // the holder of the turn must run another one when it has released the turn
	quit    atomic.Bool            // no more turns; set in a turn
	leaving func()                 // not nil: the job is forgotten; called when its loop has ended
	timer   *time.Timer
}

// run is the job's loop: it runs a turn whenever something has happened. Turns never block: blocking work has
// goroutines of its own (loops.go, package follow). The start blocks as well, but there are no turns before it.
//
//	a request's life:  rpc's reader -> ask -> mail -> deliver, in a turn
//	                     answered at once, or kept (waits, runs, reads, kills, queue)
//	                     and looked at again after everything that happens (review)
//	                   -> reply -> the goroutine that awaits it in rpc -> the outbox
//
// A goroutine that posts a message runs the turn itself if the turn lock is free. If not, the holder runs one more turn
// on its behalf (attend). Waking up another goroutine would take longer than the turn.
func (a *actor) run() {
	defer close(a.j.done)
	defer a.timer.Stop()
	a.j.starting.start()
	for !a.quit.Load() {
		select {
		case <-a.mail.Wake():
			a.turn(nil)
		case <-a.j.output.grew:
			a.turn(nil)
		case e := <-a.j.output.ends:
			a.turn(func() { a.j.ending.onStreamEnd(e) })
		case w := <-a.j.input.wrote:
			a.turn(func() { a.j.input.onWritten(w) })
		case h := <-a.j.ending.hints:
			a.turn(func() { a.j.ending.hint, a.j.ending.hintUntil = a.j.redaction.hint(h), time.Time{} }) // a hint was found, or none was
		case <-a.timer.C:
			a.turn(nil)
		}
	}
	a.lock.Wait() // The goroutine in whose turn the job has ended may still be in that turn.
	a.j.release()
}

// turn is a turn of run: first happened, then the mail, then everything that may follow.
func (a *actor) turn(happened func()) {
	a.lock.Lock()
	a.takeTurns(happened)
}

// attend makes sure that a turn begins after this call. The caller runs it, or the holder of the turn on its behalf.
// The caller must hold no lock that a turn may take: the manager's, the outbox's, those of a job's output.
func (a *actor) attend() {
	a.missed.Store(true)
	if a.lock.TryLock() {
		a.takeTurns(nil)
	} // otherwise the holder checks missed after it has released the turn
}

// here is attend with happened. It returns false if another goroutine has the turn: then the caller must send to run
// instead.
func (a *actor) here(happened func()) bool {
	if !a.lock.TryLock() {
		return false
	}
	a.takeTurns(happened)
	return true
}

// mostTurns is how many turns a goroutine runs in a row on behalf of others, since it has work of its own.
const mostTurns = 4

// takeTurns runs the turn that the caller holds and releases it, and then runs the turns that others have requested
// meanwhile. It flushes the events last, since that may take longer.
func (a *actor) takeTurns(happened func()) {
	for n := 1; ; n++ {
		a.missed.Store(false) // before the turn reads anything
		a.actAndUnlock(happened)
		happened = nil
		if !a.missed.Load() {
			break
		}
		if n == mostTurns {
			a.mail.Poke() // run continues
			break
		}
		if !a.lock.TryLock() {
			break // the new holder handles everything that was missed
		}
	}
	a.j.sink.Flush()
}

// actAndUnlock ends the process if a turn panics, even on a goroutine that recovers from panics: otherwise the server
// would continue with a job in an unknown state.
func (a *actor) actAndUnlock(happened func()) {
	defer func() {
		if p := recover(); p != nil {
			Crash(p)
		}
		a.lock.Unlock()
	}()
	a.act(happened)
}

// Crash ends the process as an unrecovered panic does. The keepers then end the jobs.
func Crash(p any) {
	stack := debug.Stack()
	go panic(fmt.Sprintf("%v\n\n%s", p, stack))
	select {}
}

// act must be called in a turn. A job that is starting has no turns yet: messages for it wait in the mail.
func (a *actor) act(happened func()) {
	if happened != nil {
		happened()
	}
	if a.j.st.status == StatusStarting && a.j.starting.heldUp.Load() {
		a.mail.Poke() // run waits before the start, and checks whether it still has to
	}
	if a.quit.Load() || a.j.st.status == StatusStarting {
		return
	}
	defer func() {
		if a.quit.Load() {
			a.mail.Poke() // wakes up run, which then ends
		}
	}()
	a.j.ending.takeFacts()
	a.j.shell.takeMarks()
	a.j.display.takeQueries()
	for _, m := range a.mail.Take() {
		a.deliver(m)
	}
	for again := true; again; {
		a.review(time.Now())
		again = a.j.input.handInput()
	}
}

// deliver passes a message on. A job that is forgotten accepts no new requests.
func (a *actor) deliver(m message) {
	if r, ok := m.(request); ok && a.leaving != nil {
		if _, before := m.(confirmedMsg); !before { // the request was accepted earlier
			r.fail(a.j.gone())
			return
		}
	}
	m.deliver(a.j)
}

// review checks everything that may have become true, whatever happened, and sets the timer to the next moment at which
// time alone can make something true.
func (a *actor) review(now time.Time) {
	if a.j.st.status == StatusStarting || a.quit.Load() {
		return
	}
	for _, p := range a.j.parts {
		p.review(now)
	}
	a.reviewLeave()
	a.timer.Reset(max(a.j.nextDue(now).Sub(now), 0))
}

func (e *Error) withOutcome(o Outcome) *Error {
	e.Outcome, e.Handle = &o, o.State.Handle
	return e
}

func (j *Job) canceled() *Error {
	e := errorf(CodeCanceled, "the request was cancelled; job %d keeps running", j.id)
	e.Handle = j.id
	return e
}

// state returns the changing part of the job's info.
func (j *Job) state() State {
	s := State{Handle: j.id, Name: j.spec.Name, Status: j.st.status}
	if j.told() {
		s.Exit = j.st.exit
	}
	s.Streams = j.output.streamInfo((*spool.Spool).Kept)
	if j.waiting.canWait() {
		s.Waiting = j.redaction.waiting(j.waiting.watch.now)
	}
	return s
}

// streamInfo returns, for each stream, the ranges that kept returns for its spool.
func (o *outputs) streamInfo(kept func(*spool.Spool) []Range) (all []StreamInfo) {
	for _, st := range o.streams {
		all = append(all, StreamInfo{Name: st.name, NextOffset: st.spool.End(), Kept: kept(st.spool)})
	}
	return all
}

// told reports whether the leader's exit may be reported: its output has been read to the end.
func (j *Job) told() bool {
	return j.st.status == StatusExited || j.st.status == StatusClosed
}

func (j *Job) snapshot() Info {
	info := j.info
	info.State = j.state()
	j.inform(&info)
	if told := j.display.heard.last(); j.display.heard != nil {
		info.Title = told.Title
		if !j.shell.watch.tellsDirectory() {
			info.CurrentDirectory = told.Directory
		}
	}
	if j.told() {
		info.Foreground = nil
	} else {
		info.EndedAt, info.Background = time.Time{}, nil
	}
	return j.clean(info)
}

// release ends everything that the loop owns, and answers the messages that no turn will handle any more.
func (j *Job) release() {
	for _, m := range j.actor.mail.Close() {
		j.refuse(m, j.gone())
	}
	j.failPending(j.gone())
	j.waits.giveBackPatterns()
	j.actor.left()
	j.closeDescriptors()
	j.files.abandonFiles()
	if f := j.waits.follower.Swap(nil); f != nil {
		f.Close()
	}
}

func (j *Job) closeDescriptors() {
	for _, st := range j.output.streams {
		_ = st.src.Close() // Best effort: nothing more is read or owed.
		st.pass()          // It wakes up a readLoop that waits for room.
	}
	if j.input.to != nil {
		_ = j.input.to.Close() // Best effort, as above.
	}
	if j.term != nil {
		_ = j.term.Close() // Best effort, as above.
	}
	if j.shell.watch != nil {
		j.shell.watch.files.Close()
	}
}
