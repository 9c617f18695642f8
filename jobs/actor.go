package jobs

import (
	"fmt"
	"runtime/debug"
	"time"
)

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
	defer close(a.done)
	defer a.timer.Stop()
	a.starting.start()
	for !a.quit.Load() {
		select {
		case <-a.mail.Wake():
			a.turn(nil)
		case <-a.output.grew:
			a.turn(nil)
		case e := <-a.output.ends:
			a.turn(e.note)
		case w := <-a.input.wrote:
			a.turn(func() { a.input.onWritten(w) })
		case h := <-a.ending.hints:
			a.turn(func() { a.ending.hint, a.ending.hintUntil = a.redaction.hint(h), time.Time{} }) // a hint was found, or none was
		case <-a.timer.C:
			a.turn(nil)
		}
	}
	a.lock.Wait() // The goroutine in whose turn the job has ended may still be in that turn.
	a.release()
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
	a.sink.Flush()
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
	if a.st.status == StatusStarting && a.starting.heldUp.Load() {
		a.mail.Poke() // run waits before the start, and checks whether it still has to
	}
	if a.quit.Load() || a.st.status == StatusStarting {
		return
	}
	defer func() {
		if a.quit.Load() {
			a.mail.Poke() // wakes up run, which then ends
		}
	}()
	a.ending.takeFacts()
	a.shell.takeMarks()
	a.display.takeQueries()
	for _, m := range a.mail.Take() {
		a.deliver(m)
	}
	for again := true; again; {
		a.review(time.Now())
		again = a.input.handInput()
	}
}

// deliver passes a message on. A job that is forgotten accepts no new requests.
func (a *actor) deliver(m message) {
	if r, ok := m.(request); ok && a.leaving != nil {
		if _, before := m.(confirmedMsg); !before { // the request was accepted earlier
			r.fail(a.gone())
			return
		}
	}
	m.(delivered).deliver(a)
}

// review checks everything that may have become true, whatever happened, and sets the timer to the next moment at which
// time alone can make something true.
func (a *actor) review(now time.Time) {
	if a.st.status == StatusStarting || a.quit.Load() {
		return
	}
	for _, p := range a.parts {
		p.review(now)
	}
	a.reviewLeave()
	a.timer.Reset(max(a.nextDue(now).Sub(now), 0))
}

// deliverAllowed passes on a request that a person has allowed: it was accepted before.
func (a *actor) deliverAllowed(m message) { m.(delivered).deliver(a) }

func (a *actor) isLeaving() bool { return a.leaving != nil }

// release ends everything that the loop owns, and answers the messages that no turn will handle any more.
func (a *actor) release() {
	for _, m := range a.mail.Close() {
		a.refuse(m, a.gone())
	}
	a.failPending(a.gone())
	a.waits.giveBackPatterns()
	a.left()
	a.closeDescriptors()
	a.files.abandonFiles()
	if f := a.output.follower.Swap(nil); f != nil {
		f.Close()
	}
}

func (a *actor) onSubscribe(m subscribeMsg) {
	var from map[Stream]int64
	if m.from.Kind != FromDefault {
		var err *Error
		if from, err = a.waits.origin(&WaitSpec{From: m.from}, FromNow); err != nil {
			m.reply.fail(err)
			return
		}
	}
	info := a.snapshot()
	answers, err := m.set(info, from)
	if err != nil {
		m.reply.fail(err)
		return
	}
	if a.heard != nil {
		a.display.leaveQueries(answers, info.Streams[0].NextOffset)
	}
	m.reply.ok(info.State)
}
