package jobs

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"shelld.dev/shelld/jobs/internal/inputwait"
	"shelld.dev/shelld/jobs/internal/view"
)

// The server detects whether a job waits for input by a probe: it examines the system calls in which
// the job's processes are blocked (package inputwait). A probe costs some system calls, so it runs only
// on demand: for a client that gets reports, a wait for input, the timeout of any wait, a job/get, a write that
// is meant for one wait alone, a password that may be asked for, info.json, a shell that the server watches, and
// a pattern whose match more output could change.
//
//	a turn -> beginLook   in its own goroutine, since /proc may block
//	       -> lookedMsg   the result, in its turn; it counts unless output or input came meanwhile
//	       -> tell, waitsPart.review, and the other requests for the result
//
// No event signals that a program begins to read. So probes follow output and input closely at first,
// and then at growing intervals.

// lookAfter is the schedule of probes after output or input. Most programs have begun to read after half a
// millisecond. After the schedule, the next probe follows after a quarter of the quiet time, but not before
// slowLook and not later than slowestLook.
var lookAfter = []time.Duration{
	500 * time.Microsecond, 2 * time.Millisecond, 5 * time.Millisecond, 15 * time.Millisecond,
	45 * time.Millisecond, 105 * time.Millisecond, 225 * time.Millisecond,
}

const (
	slowLook    = 250 * time.Millisecond
	slowestLook = 2 * time.Second

	// lookTogether is the interval between the moments at which the slow probes of all jobs run together.
	lookTogether = 500 * time.Millisecond

	// doubtTime is how long a known wait stays valid although probes find the job running: timers and garbage
	// collections of node take some milliseconds. During that time the probe is repeated every doubtLook. A job
	// that is stopped, or blocked on writing, gets no such time.
	doubtTime = 100 * time.Millisecond
	doubtLook = 5 * time.Millisecond

	// lookRest bounds the cost of probes if output never pauses: the next probe begins no sooner than lookRest
	// times the duration of the last one.
	lookRest = 4

	// tellRest is the minimum time between two reports while the job only listens.
	tellRest = 250 * time.Millisecond
)

// An activity is the progress of output and input. The result of a probe counts while the activity is
// unchanged.
type activity struct {
	output int64
	writes uint64
}

// An inputWatch is the state of input detection, as the turns of the job know it.
type inputWatch struct {
	// Guarded by turns:
	probes
	telling  bool
	under    bool      // the last probe is still running
	want     int       // the probe that must begin at once, because something waits for it
	lookedAt time.Time // when that probe ended

	told   *WaitingForInput // the wait last reported to the client
	toldAt time.Time        // when it was reported
	not    string           // why it is not known to wait
	again  time.Duration    // when another probe would be more certain; 0: the last was certain
	turns  int              // of the reader, when last seen
	doubt  time.Time        // since when probes have not seen now; zero: the last one saw it
	count  int              // number of waits so far

	writes   uint64    // inputs that the kernel has taken
	wroteAt  time.Time // time of the last of them
	seen     activity  // at the last review
	promptOf activity  // at the last read of the prompt
	asker    *Process  // the foreground process at the last probe that counted; nil: not known

	storeAt time.Time // when a probe for info.json alone is due; zero: none

	at     time.Time // the next probe; zero: none scheduled
	after  time.Time // and no sooner than this
	infos  []infoWait
	writeQ []heldWrite
}

// probes says which probes there have been.
type probes struct {
	begun   int // number of probes begun
	looked  int // the last probe that has ended
	ofTaken int // the last probe that saw the job wait; the known state dates from it
	of      activity
	reader  reading
}

// A reading is the process that a probe has seen reading, whether or not the job is reported as waiting.
type reading struct {
	pid  int // 0: none
	look int
	of   activity
}

// A lookedMsg is the result of a probe.
type lookedMsg struct {
	number  int
	of      activity
	verdict inputwait.Verdict
	prompt  string
	moved   bool // the cursor has left its line since the known wait, or that cannot be determined
	asked   bool // both were read
	asker   *Process
	took    time.Duration
}

func (lookedMsg) message() {}

type (
	// A querier answers the queries of programs, and draws their screen.
	querier interface {
		owesAnswer() bool
		theView() *view.View
	}
	// A waitRecorder records in info.json that a job waits for input.
	waitRecorder interface{ recordWait(now time.Time) }
	// An inputSource has the input that is not yet written.
	inputSource interface {
		isTyped() bool
		owesAnswer() bool
		first() *queued
		withdraw(q *queued, err *Error)
	}
	// A writer queues the writes that were held back.
	writer interface {
		compose(in Input) (q *queued, partial int, refusal *Error)
		enqueue(m writeMsg) bool
	}
	// A watchedShell is a shell with integration, about which a probe may have to decide.
	watchedShell interface {
		starts() bool
		handing() bool
		needsReading() bool
		missesEnd() bool
		noteFront(front *Process)
	}
	// A timedWaiter has the waits of held writes, and those for input.
	timedWaiter interface {
		origin(spec *WaitSpec, byDefault OriginKind) (map[Stream]int64, *Error)
		outcome(w *wait, reason string, index int) Outcome
		waitsFor(kind ConditionKind) bool
	}
)

// waitingPart detects whether a job waits for input, and reports it.
type waitingPart struct {
	noPart
	j *base

	display querier
	files   waitRecorder
	input   inputSource
	writes  writer
	shell   watchedShell
	waits   timedWaiter

	watch  inputWatch  // whether it waits for input
	secret secretWatch // whether that is a password
}

// activity returns the present progress of output and input.
func (p *waitingPart) activity() activity {
	a := activity{writes: p.watch.writes}
	for _, st := range p.j.output.streams {
		a.output += st.spool.End()
	}
	return a
}

// activeAt returns the time of the last output or input. Output that is held back counts from the time at which
// it is due, which may be in the future. If a shell has been handed a command, output counts from the moment at
// which it came: held back output is then due only when the command runs, and probes must show before that whether
// the shell has taken the command.
func (p *waitingPart) activeAt() time.Time {
	at, handing := latest(p.j.info.StartedAt, p.watch.wroteAt), p.shell.handing()
	for _, st := range p.j.output.streams {
		came := st.last.Load()
		if handing {
			came = st.came.Load()
		}
		at = latest(at, st.base.Add(time.Duration(came)))
	}
	return at
}

// review begins a probe if one is due, and reports the known state.
func (p *waitingPart) review(now time.Time) {
	l := &p.watch
	if p.j.looker == nil {
		return
	}
	if !p.j.canWait() {
		p.noWait("")
		p.answerLooked(now)
		p.tell(now)
		p.askSecret()
		return
	}
	p.reviewHidden(now)
	if telling := p.j.wants.waiting.Load(); telling != l.telling {
		l.telling, l.told = telling, nil
		if telling {
			p.needLook()
		}
	}
	if a := p.activity(); a != l.seen {
		l.seen, l.at = a, p.activeAt().Add(lookAfter[0])
		if due := p.activeAt().Add(storeLookTime); p.j.waitingFor == nil || l.storeAt.IsZero() || due.Before(l.storeAt) {
			l.storeAt = due // If the job is known to wait, output does not postpone the probe that would find that it goes on.
		}
	}
	p.lookForStore(now)
	p.answerLooked(now)
	if at := p.lookAt(); !at.IsZero() && !now.Before(at) {
		p.beginLook(now)
	}
	p.tell(now)
	p.askSecret()
}

// storeLookTime is how long a job must be quiet before it is probed for info.json. slowestStoreLook is the
// longest time between two such probes.
const (
	storeLookTime    = time.Second
	slowestStoreLook = 30 * time.Second
)

// lookForStore begins a probe that no client has asked for, if info.json of the job is kept: that file says
// which jobs wait for a person. A program that begins to read, or whose read times out, need not print
// anything. So the job is probed once it has been quiet for storeLookTime, and then each time that the quiet
// time has doubled, until the probes are slowestStoreLook apart.
func (p *waitingPart) lookForStore(now time.Time) {
	l := &p.watch
	if at := p.storeLookAt(); at.IsZero() || now.Before(at) {
		return
	}
	quiet := now.Sub(p.activeAt())
	if !p.wanted() && (quiet >= storeLookTime || p.j.waitingFor != nil) {
		p.needLook()
	}
	l.storeAt = now.Add(max(quiet, storeLookTime))
	if quiet >= slowestStoreLook {
		l.storeAt = together(p.j.mgr.own.began, now.Add(slowestStoreLook), slowestStoreLook)
	}
}

// storeLookAt returns the time of the next probe for info.json; zero: none is due.
func (p *waitingPart) storeLookAt() (t time.Time) {
	if p.j.folder != nil && !p.watch.under && p.j.canWait() {
		t = p.watch.storeAt
	}
	return t
}

// wanted reports whether anything needs to know if the job waits for input.
func (p *waitingPart) wanted() bool {
	l := &p.watch
	return l.telling || len(l.infos) > 0 || len(l.writeQ) > 0 || p.j.output.follower.Load().Leans() || p.forSecret() || p.shell.handing() || p.shell.needsReading() || p.shell.missesEnd() || p.waits.waitsFor(UntilInput)
}

// lookAt returns the time of the next probe; zero: none until something happens.
func (p *waitingPart) lookAt() (t time.Time) {
	l := &p.watch
	switch {
	case p.j.looker == nil || l.under || !p.j.canWait():
		return t
	case l.want > l.begun:
		return p.j.epoch
	case !p.wanted():
		return t
	}
	return latest(l.at, l.after)
}

// needLook requests a probe that begins at once, or when the running one has ended. It returns the number of
// that probe.
func (p *waitingPart) needLook() int {
	p.j.lock.Check()
	p.watch.want = p.watch.begun + 1
	return p.watch.want
}

func (p *waitingPart) beginLook(now time.Time) {
	l := &p.watch
	l.begun++
	l.under = true
	m := lookedMsg{number: l.begun, of: p.activity()}
	m.asked = p.j.waitingFor == nil || l.promptOf != m.of
	quiet, looks := now.Sub(p.activeAt()), p.j.looker
	var prompt func() (line string, moved bool)
	if m.asked {
		prompt = p.promptReader(l.of.output)
	}
	asker, starts := p.asker(), p.shell.starts()
	release := p.j.Hold()
	p.j.background(func() {
		defer release()
		begin := time.Now()
		m.verdict = looks.Look(max(quiet, 0))
		m.verdict.Why = p.j.redaction.text(m.verdict.Why)
		if m.verdict.Waiting && m.asked {
			m.prompt, m.moved = prompt()
			m.prompt = p.j.redaction.text(m.prompt) // On the drawn line, a secret may be complete that escape sequences had split.
		}
		if asker != nil && (starts || m.verdict.Kind == inputwait.Password) {
			m.asker = asker()
		}
		m.took = time.Since(begin)
		p.j.ask(m)
	})
}

// onLooked handles the result of a probe. If output or input came meanwhile, another probe decides.
func (p *waitingPart) onLooked(m lookedMsg) {
	l := &p.watch
	now := time.Now()
	l.under, l.looked, l.lookedAt, l.after = false, m.number, now, now.Add(lookRest*m.took)
	l.reader = reading{}
	if p.shell.starts() {
		p.shell.noteFront(m.asker)
	}
	if p.j.canWait() {
		if m.verdict.Reader != 0 && m.of == p.activity() && !p.owesAnswer() && !p.holdsBack() {
			l.reader = reading{m.verdict.Reader, m.number, m.of}
		}
		switch v := m.verdict; {
		case !v.Waiting && v.Again == 0: // counts even if output or input came meanwhile
			p.take(m, now)
		case m.of == p.activity() && !p.owesAnswer() && !p.holdsBack():
			p.take(m, now)
		default:
			if v.Waiting {
				l.doubt = time.Time{}
			}
			l.not, l.again = "output or input arrived during the probe", lookAfter[1]
		}
		l.at = p.nextLook(now)
	}
	p.answerLooked(now)
}

// owesAnswer reports whether a program has sent its terminal a query that the server has not answered yet. A
// probe may see that program reading, but it waits only for the answer.
func (p *waitingPart) owesAnswer() bool {
	return p.display.owesAnswer() || p.input.owesAnswer()
}

// nextLook returns the time at which the schedule wants the next probe.
func (p *waitingPart) nextLook(now time.Time) time.Time {
	l, active := &p.watch, p.activeAt()
	quiet := now.Sub(active)
	next := now.Add(min(max(quiet/4, slowLook), slowestLook))
	if quiet > 4*lookTogether {
		next = together(p.j.mgr.own.began, next, lookTogether)
	}
	if t := nextOf(lookAfter, active, now); !t.IsZero() {
		next = t
	}
	if l.again > 0 && now.Add(l.again).Before(next) {
		next = now.Add(l.again)
	}
	return next
}

// together returns the last moment up to t at which all jobs of a server are probed, if each is probed once in
// a period. Waking up costs more than the probe of a sleeping job.
func together(began, t time.Time, period time.Duration) time.Time {
	return began.Add(t.Sub(began).Truncate(period))
}

// nextOf returns the first moment of a schedule after active that is still to come; zero: none.
func nextOf(schedule []time.Duration, active, now time.Time) (t time.Time) {
	for _, after := range schedule {
		if t = active.Add(after); t.After(now) {
			return t
		}
	}
	return time.Time{}
}

// take applies the result of a probe that counts.
func (p *waitingPart) take(m lookedMsg, now time.Time) {
	l, v := &p.watch, m.verdict
	l.again = v.Again
	if !v.Waiting {
		p.takeNot(v, now)
		return
	}
	w := WaitingForInput{
		Waiting: true, State: v.State, Kind: InputKind(v.Kind), Since: now, PID: v.PID, Why: v.Why, Confidence: v.Confidence,
	}
	if w.Kind == InputRaw && p.j.heard != nil && p.j.modes().AlternateScreen {
		w.Kind = InputFullscreen
	}
	if old := p.j.waitingFor; old != nil && old.PID == w.PID && old.Kind == w.Kind && !p.goneOn(m) {
		w.ID, w.Since = old.ID, old.Since
	} else {
		l.count++
		w.ID = strconv.FormatInt(int64(p.j.id), 10) + "." + strconv.Itoa(l.count)
	}
	if m.asked {
		w.Prompt, l.promptOf = m.prompt, m.of
	} else if p.j.waitingFor != nil { // no output or input since the prompt was read
		w.Prompt = p.j.waitingFor.Prompt
	}
	p.j.waitingFor, l.not, l.asker, l.turns = &w, "", m.asker, v.Turns
	l.doubt, l.of, l.ofTaken = time.Time{}, m.of, m.number
	p.noteAll(m)
	p.j.publish()
	p.files.recordWait(now)
}

// goneOn reports whether the program has gone on by itself since the known wait was seen, although it now
// waits in the same way: its read timed out or a signal came, and it has asked something else. This requires
// that the program ran and that output came. A program that reads single keys may redraw its display now and
// then, for example a countdown or a spinner. Such a program has asked something else if the cursor is on
// another line, or if the letters of its line have changed. On a full screen this cannot be detected.
func (p *waitingPart) goneOn(m lookedMsg) bool {
	l := &p.watch
	ran := m.verdict.Turns == 0 || m.verdict.Turns != l.turns
	switch {
	case !ran || m.of.output == l.of.output:
		return false
	case m.verdict.Kind != inputwait.Raw:
		return true
	}
	return p.j.waitingFor.Kind == InputRaw && m.asked && (m.moved || letters(m.prompt) != letters(p.j.waitingFor.Prompt))
}

func letters(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, line)
}

// takeNot handles a probe that has seen no wait. A program that polls with a timeout wakes up briefly, and a
// probe may fall into such a moment. So a known wait ends without input only after probes have not seen it for
// doubtTime.
func (p *waitingPart) takeNot(v inputwait.Verdict, now time.Time) {
	l := &p.watch
	switch {
	case p.j.waitingFor != nil && v.Again > 0: // It may be the same wait; a later probe decides.
		return
	case p.j.waitingFor != nil && !v.Stopped && !v.Blocked:
		if l.doubt.IsZero() {
			l.doubt = now
		}
		if now.Sub(l.doubt) < doubtTime {
			l.again, l.storeAt = doubtLook, now.Add(doubtLook)
			return
		}
	}
	p.noWait(v.Why)
}

// noWait records that no wait for input is known, and why.
func (p *waitingPart) noWait(why string) {
	l := &p.watch
	l.not, l.doubt = why, time.Time{}
	if p.j.waitingFor != nil {
		p.j.waitingFor = nil
		p.j.publish()
		p.files.recordWait(time.Now())
	}
}

// noteInput records that the kernel has taken input. Input from a client ends the wait that it was typed into:
// the program goes on or, if it reads again, begins another wait.
func (p *waitingPart) noteInput(answer bool) {
	l := &p.watch
	l.writes++
	l.wroteAt = time.Now()
	p.noteMore()
	if !answer {
		p.noWait("the input written to it is not known to be consumed")
	}
}

// tell reports to the client any change that it does not know yet.
func (p *waitingPart) tell(now time.Time) {
	l := &p.watch
	if !l.telling || now.Before(p.tellAt()) {
		return
	}
	if l.told != nil && (p.j.waitingFor == nil || p.j.waitingFor.ID != l.told.ID) {
		p.j.sink.Event(Event{After: p.j.barrier(), Waiting: &InputWaiting{WaitingForInput{ID: l.told.ID}}})
		l.told = nil
	}
	if w := p.j.waitingFor; w != nil && l.of == p.activity() && (l.told == nil || w.State != l.told.State || w.Confidence != l.told.Confidence) {
		p.j.sink.Event(Event{After: p.j.barrier(), Waiting: &InputWaiting{*p.j.redaction.waiting(w)}})
		l.told, l.toldAt = w, now
	}
}

// tellAt returns when the client is sent a wait that follows another one: if a program takes keys and prints
// line by line, each line begins a new wait. Zero: at once.
func (p *waitingPart) tellAt() (t time.Time) {
	if now, told := p.j.waitingFor, p.watch.told; now != nil && told != nil && now.ID != told.ID &&
		now.State == inputwait.Listening && told.State == inputwait.Listening {
		t = p.watch.toldAt.Add(tellRest)
	}
	return t
}

// holdsInput reports whether the job waits for input as condition c requires. A probe does not count if it
// began before the wait was armed, before the input that the wait belongs to was written, or before the latest
// output.
func (p *waitingPart) holdsInput(w *wait, c *InputCondition) bool {
	l := &p.watch
	if p.j.waitingFor == nil || l.ofTaken < w.lookFrom || l.of != p.activity() {
		return false
	}
	if w.input != nil && !w.input.isWritten() {
		return false
	}
	if w.exec != nil && w.exec.isFinished() {
		return false // It is its shell that waits.
	}
	return c.accepts(p.j.waitingFor)
}

// holdsBack reports whether output has come that will be stored soon. The echo of a command we injected does not count
// while the shell is to take the command: if the shell is then seen to read, it has printed the whole echo, and does
// not run the command.
func (p *waitingPart) holdsBack() bool {
	return slices.ContainsFunc(p.j.output.streams, func(st *stream) bool {
		is := st.holding.Load()
		return is == holdsShortly || is == holdsLine && !p.shell.handing()
	})
}

// lastWrite returns when the kernel last took input; zero: never.
func (p *waitingPart) lastWrite() time.Time { return p.watch.wroteAt }

func (p *waitingPart) probed() probes { return p.watch.probes }

// A match that more output could change, such as a match of `\$ $`, counts if no more output is expected for now: if
// the job waits for input, or has been quiet for follow.QuietTime. So the job is probed while there is such a match.
//
//	follower.Leans()            there is such a match
//	a probe -> stream.waitedAt  the job has printed the output up to here and then waits
//	        -> stream.IsAll     if the cursor of the follower is there, the match counts

// noteAll notes that the job waits for input and has printed all output for now.
func (p *waitingPart) noteAll(m lookedMsg) {
	if v := m.verdict; v.State != inputwait.Reading || rank(v.Confidence) < rank(inputwait.Likely) || p.input.isTyped() {
		return
	}
	var ends int64
	for _, st := range p.j.output.streams {
		end := st.spool.End()
		ends += end
		st.waitedAt.Store(end + 1)
	}
	if ends != m.of.output {
		p.noteMore() // some of it came after the probe
	} else if f := p.j.output.follower.Load(); f.Leans() {
		f.Poke()
	}
}

// noteMore notes that the job may print more, because input was typed.
func (p *waitingPart) noteMore() {
	for _, st := range p.j.output.streams {
		st.waitedAt.Store(0)
	}
}
