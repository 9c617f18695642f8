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

// Whether a job waits for input is found out by looking at what its processes are blocked
// on (package inputwait). A look costs some system calls, so that there are none unless
// somebody wants to know: a client that is told of it, a wait for it, a job/get, a write that
// is meant for one wait alone, and a pattern that cannot tell whether what came is all.
//
//	a turn -> beginLook   a goroutine of its own, since /proc may keep it waiting
//	       -> lookedMsg   what it has seen, in its turn; it counts unless output or input
//	                      came meanwhile
//	       -> tell, waitsPart.review, and who else wanted to know
//
// There is no event for a program that begins to read. So looks follow output and input
// closely, and then ever more slowly.

// An InputState says whether a job that takes input does anything else as well.
type InputState = inputwait.State

// An InputKind is what a job reads.
type InputKind string

// The kinds of input.
const (
	InputLine       InputKind = "line"
	InputPassword   InputKind = "password"
	InputRaw        InputKind = "raw"
	InputFullscreen InputKind = "fullscreen"
)

// A Confidence says how surely something is known.
type Confidence = inputwait.Confidence

// rank orders what confidences there are; "" is the least.
func rank(c Confidence) int {
	return slices.Index([]Confidence{inputwait.Guess, inputwait.Likely, inputwait.Exact}, c)
}

// WaitingForInput is what is known of a job that waits for input, or why it is said not to.
// It is never changed, but replaced.
type WaitingForInput struct {
	Waiting    bool
	ID         string // names this wait
	State      InputState
	Kind       InputKind
	Since      time.Time // when it was first seen
	Prompt     string    // the line with the cursor, as a person sees it
	PID        int       // 0 = not known
	Why        string
	Confidence Confidence
}

// An InputCondition says which waits for input count.
type InputCondition struct {
	MinConfidence Confidence
	Kinds         []InputKind // nil: all
	Listening     bool        // Listening counts as well
}

func (c *InputCondition) accepts(w *WaitingForInput) bool {
	return rank(w.Confidence) >= rank(c.MinConfidence) && (c.Listening || w.State == inputwait.Reading) &&
		(len(c.Kinds) == 0 || slices.Contains(c.Kinds, w.Kind))
}

// InputWaiting says that a job waits for input, or, where Waiting is false, that the wait
// with this ID is over.
type InputWaiting struct{ WaitingForInput }

// A looker looks whether a job waits for input. quiet is how long ago output or input came
// last. One goroutine calls it at a time.
type looker interface {
	Look(quiet time.Duration) inputwait.Verdict
}

// lookAfter is when looks follow output or input. Most programs have come to read after
// half a millisecond. Then there is one after a quarter of the time for which it has been
// quiet, at the least after slowLook, and at the most after slowestLook.
var lookAfter = []time.Duration{
	500 * time.Microsecond, 2 * time.Millisecond, 5 * time.Millisecond, 15 * time.Millisecond,
	45 * time.Millisecond, 105 * time.Millisecond, 225 * time.Millisecond,
}

const (
	slowLook    = 250 * time.Millisecond
	slowestLook = 2 * time.Second

	// lookTogether is how far apart the moments are at which slow looks are taken, those of all
	// jobs at once.
	lookTogether = 500 * time.Millisecond

	// doubtTime is for how long a wait goes on although it is not seen: node's timers and
	// collections take some milliseconds. It is looked again every doubtLook.
	doubtTime = 100 * time.Millisecond
	doubtLook = 5 * time.Millisecond

	// lookRest bounds what looks cost where output never rests: the next one begins no
	// sooner than so many times later as one took.
	lookRest = 4

	// tellRest is for how long a wait that is only listening is told before the next such.
	tellRest = 250 * time.Millisecond
)

// An activity is how far output and input have come. What was seen of a job counts while
// that is the same.
type activity struct {
	output int64
	writes uint64
}

// An inputWatch is what the job's turns know of all this.
type inputWatch struct {
	tell atomic.Bool // the client is told. Anybody may set it

	// Guarded by turns:
	looker   looker // nil: nobody can tell
	telling  bool
	begun    int       // looks
	under    bool      // the last one has not ended
	want     int       // the one that must begin at once: somebody waits for it
	looked   int       // the last one that has ended
	lookedAt time.Time // when it has
	of       activity
	ofTaken  int // the last one that has seen the job wait; what is known is of then
	reader   reading

	now    *WaitingForInput // that the job is in; nil: none that is known
	told   *WaitingForInput // the one that the client has in mind
	toldAt time.Time        // since when
	not    string           // why it is not known to wait
	again  time.Duration    // when the last look would have known better; 0: it knew
	turns  int              // of the reader, when it was seen last
	doubt  time.Time        // since when now was not seen any more; zero: it was
	count  int              // waits

	writes   uint64    // inputs that the kernel has taken
	wroteAt  time.Time // the last of them
	seen     activity  // at the last review
	promptOf activity  // when the prompt was read last
	asker    *Process  // who was in the foreground at the last look that counted; nil: not known

	storeAt time.Time // when a look is due that is for info.json alone; zero: none is

	at     time.Time // the next look; zero: none by the clock
	after  time.Time // and no sooner than this
	infos  []infoWait
	writeQ []heldWrite
}

// A reading is who a look has seen to read, whether the job is told as waiting or not.
type reading struct {
	pid  int // 0: nobody
	look int
	of   activity
}

// A lookedMsg is what a look has found.
type lookedMsg struct {
	number  int
	of      activity
	verdict inputwait.Verdict
	prompt  string
	moved   bool // the cursor has left its line since the wait that there is, or nobody can say
	asked   bool // both were read
	asker   *Process
	took    time.Duration
}

func (m lookedMsg) deliver(j *Job) { j.waiting.onLooked(m) }

// waitingPart finds out whether a job waits for input, and tells.
type waitingPart struct {
	noPart
	j *Job

	watch  inputWatch  // whether it waits for input
	secret secretWatch // whether that is a password
}

// activity is how far output and input have come by now.
func (p *waitingPart) activity() activity {
	a := activity{writes: p.watch.writes}
	for _, st := range p.j.output.streams {
		a.output += st.spool.End()
	}
	return a
}

// activeAt is when output or input came last, or is to come. Whether a shell has taken what was handed to it
// is seen before that.
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

// canWait says whether the job can wait for input at all, as far as anybody can tell.
func (p *waitingPart) canWait() bool {
	return p.watch.looker != nil && p.j.input.to != nil && p.j.st.exit == nil
}

// review takes a look where it is time for one, and tells what is known.
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
			l.storeAt = due // If the job is known to wait, output does not put off the look that finds it going on.
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

// storeLookTime is how long a job is quiet before it is looked at for info.json, and slowestStoreLook is the
// longest time from one such look to the next.
const (
	storeLookTime    = time.Second
	slowestStoreLook = 30 * time.Second
)

// lookForStore begins a look that no client has asked for, if info.json of the job is kept: that file says
// which jobs wait for a person. A program that begins to read, or whose time to read is over, need not print
// anything. So there is one look when the job has been quiet for storeLookTime, and then one each time that
// has doubled, until they are slowestStoreLook apart.
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

// storeLookAt is when that is due; zero: it is not.
func (p *waitingPart) storeLookAt() (t time.Time) {
	if p.j.files.folder != nil && !p.watch.under && p.canWait() {
		t = p.watch.storeAt
	}
	return t
}

// wanted says whether anybody wants to know.
func (p *waitingPart) wanted() bool {
	l := &p.watch
	return l.telling || len(l.infos) > 0 || len(l.writeQ) > 0 || p.j.waits.follower.Load().Leans() || p.forSecret() || p.j.shell.watch.handing() || p.j.shell.watch.needsReading() || p.j.shell.missesEnd() || slices.ContainsFunc(p.j.waits.armed, func(w *wait) bool { return w.spec.forInput() })
}

// lookAt is when the next look is to begin; zero: when something has happened.
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

// needLook has a look begin at once, or when the one under way has ended, and returns its
// number.
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
			m.prompt = p.j.redaction.text(m.prompt) // a value may be whole without what was drawn in it
		}
		if asker != nil && (starts || m.verdict.Kind == inputwait.Password) {
			m.asker = asker()
		}
		m.took = time.Since(begin)
		p.j.ask(m)
	})
}

// onLooked takes what a look has found. Where output or input came meanwhile another look
// decides.
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
		case !v.Waiting && v.Again == 0: // whatever came meanwhile
			p.take(m, now)
		case m.of == p.activity() && !p.owesAnswer() && !p.j.output.holdsBack():
			p.take(m, now)
		default:
			if v.Waiting {
				l.doubt = time.Time{}
			}
			l.not, l.again = "output or input came while it was looked at", lookAfter[1]
		}
		l.at = p.nextLook(now)
	}
	p.answerLooked(now)
}

// owesAnswer says whether a program has asked its terminal something that the server has not
// answered yet. It may be seen to read, and does not wait for anybody else.
func (p *waitingPart) owesAnswer() bool {
	return len(p.j.display.queries.waiting) > 0 || p.j.input.queue.answers > 0
}

// nextLook is when the clock wants the next one.
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

// together is the last moment up to t at which the jobs of a server look, if each looks once in a period: to be
// woken up costs more than what is looked at in a job that sleeps.
func together(began, t time.Time, period time.Duration) time.Time {
	return began.Add(t.Sub(began).Truncate(period))
}

// nextOf is the first moment of a schedule behind active that is still to come; zero: none is.
func nextOf(schedule []time.Duration, active, now time.Time) (t time.Time) {
	for _, after := range schedule {
		if t = active.Add(after); t.After(now) {
			return t
		}
	}
	return time.Time{}
}

// take is what a look that counts has seen.
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
	} else if l.now != nil { // nothing has come since that was read
		w.Prompt = l.now.Prompt
	}
	l.now, l.not, l.asker, l.turns = &w, "", m.asker, v.Turns
	l.doubt, l.of, l.ofTaken = time.Time{}, m.of, m.number
	p.noteAll(m)
	p.j.publish()
	p.j.files.recordWait(now)
}

// goneOn says whether the program has gone on by itself since the wait that there is was
// seen, although it is seen to wait as then: its time to read was over, or a signal came, and
// it has asked something else. It has run, and output came. A program of single keys draws
// now and then what it shows, a countdown or a spinner say: it has asked something else where
// the cursor has come to another line, or where that says something else in its letters. On a
// full screen nobody can say.
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

// takeNot takes a look that has seen no wait. One that polls with a timeout wakes up for
// moments, and a look may fall into one: a wait that goes on is over by itself only when that
// has been so for a while.
func (p *waitingPart) takeNot(v inputwait.Verdict, now time.Time) {
	l := &p.watch
	switch {
	case l.now != nil && v.Again > 0: // It may be the same wait: that is seen later.
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

// noWait notes that the job waits for nothing that is known, and why.
func (p *waitingPart) noWait(why string) {
	l := &p.watch
	l.not, l.doubt = why, time.Time{}
	if l.now != nil {
		l.now = nil
		p.j.publish()
		p.j.files.recordWait(time.Now())
	}
}

// noteInput is told that the kernel has taken input. What a client has typed ends the wait
// for input that it was typed into: the program goes on, or, where it reads on, begins
// another one.
func (p *waitingPart) noteInput(answer bool) {
	l := &p.watch
	l.writes++
	l.wroteAt = time.Now()
	p.noteMore()
	if !answer {
		p.noWait("what was written to it has not been consumed, as far as is known")
	}
}

// tell tells the client what it does not know.
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

// tellAt is when the client is told of a wait that follows another one: of a program that
// takes keys and prints line by line each line begins one. Zero: at once.
func (l *inputWatch) tellAt() (t time.Time) {
	if now, told := l.now, l.told; now != nil && told != nil && now.ID != told.ID &&
		now.State == inputwait.Listening && told.State == inputwait.Listening {
		t = l.toldAt.Add(tellRest)
	}
	return t
}

// forInput says whether a wait has a condition that looks are needed for.
func (w *WaitSpec) forInput() bool {
	return w != nil && slices.ContainsFunc(w.Until, func(c Condition) bool { return c.Kind == UntilInput })
}

// holdsInput says whether the job waits for input, in the sense of a condition. What was
// seen before the wait was armed, or before the input was written that it is the wait of,
// does not count, nor what was seen before output that came since.
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
