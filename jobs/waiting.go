package jobs

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"shelld/jobs/internal/inputwait"
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

// An InputState says whether a job that takes input also does anything else.
type InputState = inputwait.State

// An InputKind is the kind of input that a job reads.
type InputKind string

// The kinds of input.
const (
	InputLine       InputKind = "line"
	InputPassword   InputKind = "password"
	InputRaw        InputKind = "raw"
	InputFullscreen InputKind = "fullscreen"
)

// A Confidence says how certain a finding is.
type Confidence = inputwait.Confidence

// rank orders the confidences; "" is the lowest.
func rank(c Confidence) int {
	return slices.Index([]Confidence{inputwait.Guess, inputwait.Likely, inputwait.Exact}, c)
}

// WaitingForInput describes a job that waits for input, or says why the job is not reported as waiting. It is
// never modified, only replaced.
type WaitingForInput struct {
	Waiting    bool
	ID         string // names this wait
	State      InputState
	Kind       InputKind
	Since      time.Time // time of the first probe that saw it
	Prompt     string    // the visible text of the line with the cursor
	PID        int       // 0 = not known
	Why        string
	Confidence Confidence
}

// An InputCondition says which waits for input count.
type InputCondition struct {
	MinConfidence Confidence
	Kinds         []InputKind // nil: all
	Listening     bool        // also accept the state Listening
}

func (c *InputCondition) accepts(w *WaitingForInput) bool {
	return rank(w.Confidence) >= rank(c.MinConfidence) && (c.Listening || w.State == inputwait.Reading) &&
		(len(c.Kinds) == 0 || slices.Contains(c.Kinds, w.Kind))
}

// InputWaiting reports that a job waits for input or, if Waiting is false, that the wait with this ID is over.
type InputWaiting struct{ WaitingForInput }

// A looker probes whether a job waits for input. quiet is the time since the last output or input. Only one
// goroutine calls it at a time.
type looker interface {
	Look(quiet time.Duration) inputwait.Verdict
}

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
	tell atomic.Bool // reports go to the client. Any goroutine may set it

	// Guarded by turns:
	looker   looker // nil: input detection is not available
	telling  bool
	begun    int       // number of probes begun
	under    bool      // the last probe is still running
	want     int       // the probe that must begin at once, because something waits for it
	looked   int       // the last probe that has ended
	lookedAt time.Time // when that probe ended
	of       activity
	ofTaken  int // the last probe that saw the job wait; the known state dates from it
	reader   reading

	now    *WaitingForInput // the present wait of the job; nil: none known
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

func (m lookedMsg) deliver(j *Job) { j.waiting.onLooked(m) }

// waitingPart detects whether a job waits for input, and reports it.
type waitingPart struct {
	noPart
	j *Job

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
	at, handing := latest(p.j.info.StartedAt, p.watch.wroteAt), p.j.shell.watch.handing()
	for _, st := range p.j.output.streams {
		came := st.last.Load()
		if handing {
			came = st.came.Load()
		}
		at = latest(at, st.base.Add(time.Duration(came)))
	}
	return at
}

// canWait reports whether the job can wait for input at all, as far as the server knows.
func (p *waitingPart) canWait() bool {
	return p.watch.looker != nil && p.j.input.to != nil && p.j.st.exit == nil
}

// review begins a probe if one is due, and reports the known state.
func (p *waitingPart) review(now time.Time) {
	l := &p.watch
	if l.looker == nil {
		return
	}
	if !p.canWait() {
		p.noWait("")
		p.answerLooked(now)
		p.tell(now)
		p.askSecret()
		return
	}
	p.reviewHidden(now)
	if telling := l.tell.Load(); telling != l.telling {
		l.telling, l.told = telling, nil
		if telling {
			p.needLook()
		}
	}
	if a := p.activity(); a != l.seen {
		l.seen, l.at = a, p.activeAt().Add(lookAfter[0])
		if due := p.activeAt().Add(storeLookTime); l.now == nil || l.storeAt.IsZero() || due.Before(l.storeAt) {
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
	if !p.wanted() && (quiet >= storeLookTime || l.now != nil) {
		p.needLook()
	}
	l.storeAt = now.Add(max(quiet, storeLookTime))
	if quiet >= slowestStoreLook {
		l.storeAt = together(p.j.mgr.own.began, now.Add(slowestStoreLook), slowestStoreLook)
	}
}

// storeLookAt returns the time of the next probe for info.json; zero: none is due.
func (p *waitingPart) storeLookAt() (t time.Time) {
	if p.j.files.folder != nil && !p.watch.under && p.canWait() {
		t = p.watch.storeAt
	}
	return t
}

// wanted reports whether anything needs to know if the job waits for input.
func (p *waitingPart) wanted() bool {
	l := &p.watch
	return l.telling || len(l.infos) > 0 || len(l.writeQ) > 0 || p.j.waits.follower.Load().Leans() || p.forSecret() || p.j.shell.watch.handing() || p.j.shell.watch.needsReading() || p.j.shell.missesEnd() || slices.ContainsFunc(p.j.waits.armed, func(w *wait) bool { return w.spec.forInput() })
}

// lookAt returns the time of the next probe; zero: none until something happens.
func (p *waitingPart) lookAt() (t time.Time) {
	l := &p.watch
	switch {
	case l.looker == nil || l.under || !p.canWait():
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
	p.j.actor.lock.Check()
	p.watch.want = p.watch.begun + 1
	return p.watch.want
}

func (p *waitingPart) beginLook(now time.Time) {
	l := &p.watch
	l.begun++
	l.under = true
	m := lookedMsg{number: l.begun, of: p.activity()}
	m.asked = l.now == nil || l.promptOf != m.of
	quiet, looks := now.Sub(p.activeAt()), l.looker
	var prompt func() (line string, moved bool)
	if m.asked {
		prompt = p.promptReader(l.of.output)
	}
	asker, starts := p.asker(), p.j.shell.watch.starts()
	release := p.j.Hold()
	p.j.output.loops.Go(func() {
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
	if p.j.shell.watch.starts() {
		p.j.shell.watch.front = m.asker
	}
	if p.canWait() {
		if m.verdict.Reader != 0 && m.of == p.activity() && !p.owesAnswer() && !p.j.output.holdsBack() {
			l.reader = reading{m.verdict.Reader, m.number, m.of}
		}
		switch v := m.verdict; {
		case !v.Waiting && v.Again == 0: // counts even if output or input came meanwhile
			p.take(m, now)
		case m.of == p.activity() && !p.owesAnswer() && !p.j.output.holdsBack():
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
	return len(p.j.display.queries.waiting) > 0 || p.j.input.queue.answers > 0
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
	if w.Kind == InputRaw && p.j.display.heard != nil && p.j.display.modes().AlternateScreen {
		w.Kind = InputFullscreen
	}
	if old := l.now; old != nil && old.PID == w.PID && old.Kind == w.Kind && !p.goneOn(m) {
		w.ID, w.Since = old.ID, old.Since
	} else {
		l.count++
		w.ID = strconv.FormatInt(int64(p.j.id), 10) + "." + strconv.Itoa(l.count)
	}
	if m.asked {
		w.Prompt, l.promptOf = m.prompt, m.of
	} else if l.now != nil { // no output or input since the prompt was read
		w.Prompt = l.now.Prompt
	}
	l.now, l.not, l.asker, l.turns = &w, "", m.asker, v.Turns
	l.doubt, l.of, l.ofTaken = time.Time{}, m.of, m.number
	p.noteAll(m)
	p.j.publish()
	p.j.files.recordWait(now)
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
	return l.now.Kind == InputRaw && m.asked && (m.moved || letters(m.prompt) != letters(l.now.Prompt))
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
	case l.now != nil && v.Again > 0: // It may be the same wait; a later probe decides.
		return
	case l.now != nil && !v.Stopped && !v.Blocked:
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
	if l.now != nil {
		l.now = nil
		p.j.publish()
		p.j.files.recordWait(time.Now())
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
	if !l.telling || now.Before(l.tellAt()) {
		return
	}
	if l.told != nil && (l.now == nil || l.now.ID != l.told.ID) {
		p.j.sink.Event(Event{After: p.j.waits.barrier(), Waiting: &InputWaiting{WaitingForInput{ID: l.told.ID}}})
		l.told = nil
	}
	if w := l.now; w != nil && l.of == p.activity() && (l.told == nil || w.State != l.told.State || w.Confidence != l.told.Confidence) {
		p.j.sink.Event(Event{After: p.j.waits.barrier(), Waiting: &InputWaiting{*p.j.redaction.waiting(w)}})
		l.told, l.toldAt = w, now
	}
}

// tellAt returns when the client is sent a wait that follows another one: if a program takes keys and prints
// line by line, each line begins a new wait. Zero: at once.
func (l *inputWatch) tellAt() (t time.Time) {
	if now, told := l.now, l.told; now != nil && told != nil && now.ID != told.ID &&
		now.State == inputwait.Listening && told.State == inputwait.Listening {
		t = l.toldAt.Add(tellRest)
	}
	return t
}

// forInput reports whether a wait has a condition that needs input probes.
func (w *WaitSpec) forInput() bool {
	return w != nil && slices.ContainsFunc(w.Until, func(c Condition) bool { return c.Kind == UntilInput })
}

// holdsInput reports whether the job waits for input as condition c requires. A probe does not count if it
// began before the wait was armed, before the input that the wait belongs to was written, or before the latest
// output.
func (p *waitingPart) holdsInput(w *wait, c *InputCondition) bool {
	l := &p.watch
	if l.now == nil || l.ofTaken < w.lookFrom || l.of != p.activity() {
		return false
	}
	if q := w.input; q != nil && int(q.written) < len(q.data) {
		return false
	}
	if w.exec != nil && w.exec.command.Finished {
		return false // It is its shell that waits.
	}
	return c.accepts(l.now)
}
