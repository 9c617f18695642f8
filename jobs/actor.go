package jobs

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/spool"
	"shelld/jobs/internal/turn"
)

// An actor takes the turns of one job, and has the messages that wait for one.
type actor struct {
	j *Job

	mail    *turn.Mailbox[message] // any goroutine -> whoever has the turn
	lock    turn.Lock              // held for a turn
	missed  atomic.Bool            // whoever has the turn is to take another one, when he has passed it on
	quit    atomic.Bool            // no more turns; set in one
	leaving func()                 // not nil: the job is forgotten, and this is done when it has left
	timer   *time.Timer
}

// run is the job's loop: it takes a turn whenever something has happened. Turns never
// block: what blocks has a goroutine of its own (loops.go, package follow), but for the
// start, before which there are no turns.
//
//	a request's life:  rpc's reader -> ask -> mail -> deliver, in a turn
//	                     answered at once, or kept (waits, runs, reads, kills, queue)
//	                     and looked at again after everything that happens (review)
//	                   -> reply -> the goroutine that awaits it in rpc -> the outbox
//
// Whoever brings something may take the turn himself where nobody has it, and whoever
// has it takes one more for him where somebody does (attend): a goroutine that had to wake
// up first would take longer than the turn.
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
			a.turn(func() { a.j.ending.hint, a.j.ending.hintUntil = a.j.redaction.hint(h), time.Time{} }) // found, or nothing to be found
		case <-a.timer.C:
			a.turn(nil)
		}
	}
	a.lock.Wait() // Whoever has let go of the job may still be in the turn in which he did.
	a.j.release()
}

// turn is one of run's: what happened, then the mail, then all that may follow.
func (a *actor) turn(happened func()) {
	a.lock.Lock()
	a.takeTurns(happened)
}

// attend has a turn taken, by the caller or by whoever has it, after this call began.
// The caller must hold no lock that a turn may take: the manager's, the outbox's, those
// of a job's output.
func (a *actor) attend() {
	a.missed.Store(true)
	if a.lock.TryLock() {
		a.takeTurns(nil)
	} // else whoever has it looks whether he has missed anything, when he has passed it on
}

// here is attend with what has happened. It returns false where somebody else has the
// turn: then run must be told.
func (a *actor) here(happened func()) bool {
	if !a.lock.TryLock() {
		return false
	}
	a.takeTurns(happened)
	return true
}

// mostTurns bounds how long somebody takes turns for those who come meanwhile: he has
// something else to do.
const mostTurns = 4

// takeTurns takes the turn that the caller has and passes it on, and then those that
// others wanted meanwhile. What there is to send is sent last, which may take longer.
func (a *actor) takeTurns(happened func()) {
	for n := 1; ; n++ {
		a.missed.Store(false) // before anything is looked at
		a.actAndUnlock(happened)
		happened = nil
		if !a.missed.Load() {
			break
		}
		if n == mostTurns {
			a.mail.Poke() // run goes on
			break
		}
		if !a.lock.TryLock() {
			break // whoever has it by now sees all that was missed
		}
	}
	a.j.sink.Flush()
}

// actAndUnlock must not be left half done on a goroutine that recovers from panics: the
// server would go on with a job that is nobody knows what.
func (a *actor) actAndUnlock(happened func()) {
	defer func() {
		if p := recover(); p != nil {
			Crash(p)
		}
		a.lock.Unlock()
	}()
	a.act(happened)
}

// Crash ends the process as a panic does from which nobody recovers. The keepers then
// end the jobs.
func Crash(p any) {
	stack := debug.Stack()
	go panic(fmt.Sprintf("%v\n\n%s", p, stack))
	select {}
}

// act needs the turn. A job that starts has none: what names it waits in the mail.
func (a *actor) act(happened func()) {
	if happened != nil {
		happened()
	}
	if a.j.st.status == StatusStarting && a.j.starting.heldUp.Load() {
		a.mail.Poke() // run waits for somebody, and looks whether it still has to
	}
	if a.quit.Load() || a.j.st.status == StatusStarting {
		return
	}
	defer func() {
		if a.quit.Load() {
			a.mail.Poke() // run looks no more
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

// deliver hands a message on. A job that is forgotten takes no new requests.
func (a *actor) deliver(m message) {
	if r, ok := m.(request); ok && a.leaving != nil {
		if _, before := m.(confirmedMsg); !before { // it was taken up already
			r.fail(a.j.gone())
			return
		}
	}
	m.deliver(a.j)
}

// review looks at everything that may have come true, whatever happened, and sets
// the timer to the next moment at which time alone can make something true.
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
	s.Streams = j.output.streamInfo((*spool.Spool).Kept)
	if j.waiting.canWait() {
		s.Waiting = j.redaction.waiting(j.waiting.watch.now)
	}
	return s
}

// streamInfo tells of each stream the ranges that kept tells of its spool.
func (o *outputs) streamInfo(kept func(*spool.Spool) []Range) (all []StreamInfo) {
	for _, st := range o.streams {
		all = append(all, StreamInfo{Name: st.name, NextOffset: st.spool.End(), Kept: kept(st.spool)})
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

// release ends what the loop owns. The messages that nobody will take any more are
// answered.
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
		st.pass()          // Who waits for room to read sees it.
	}
	if j.input.to != nil {
		_ = j.input.to.Close() // Best effort, as above.
	}
	if j.term != nil {
		_ = j.term.Close() // Best effort, as above.
	}
	if j.shell.watch != nil {
		j.shell.watch.files.close()
	}
}
