package jobs

import (
	"slices"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/follow"
)

// firstLook is how long a wait may look at what is stored, whatever its timeout: a timeout of zero asks which condition
// holds already.
const firstLook = 100 * time.Millisecond

// A wait is an armed WaitSpec.
type wait struct {
	spec     *WaitSpec
	from     map[Stream]int64
	armed    time.Time
	deadline time.Time // zero: none
	keys     []int     // the follower's key per condition; 0 where it is no pattern
	matches  []*Match
	streams  []Stream // of the matches
	places   []*Place // the same, on the screen
	shown    *Screen  // in which the last of these stands
	glance   int      // not 0 until that one has looked at the screen
	failed   []bool   // the pattern had to be removed
	catchup  *token   // not nil until the follower has seen what is there already
	asked    bool     // catchup was for bytes that came later
	hastened bool     // the follower was told that the time is over
	partly   bool     // and has not seen all of it
	tok      *token   // the request's, for cancelling; may be shared with a write or start
	done     func(Outcome)
	abort    func(*Error)

	input    *queued // the write that it is the wait of; nil: of none
	lookFrom int     // the first look for input that counts
	look     parting // at the timeout

	typed      *typedInput // the input whose echo is meant; nil = there is none
	afterInput bool        // where a pattern does not say: that echo does not match

	port *portWait // nil: it waits for no port

	exec *execReq // the command of which it is the wait; nil: of none
}

// waitsPart has what is waited for, and the patterns that are looked for in the output and on the screen.
type waitsPart struct {
	noPart
	j *Job

	follower  atomic.Pointer[follow.Follower] // nil until the first pattern
	armed     []*wait
	watches   map[int]*watch        // by follower key
	keys      int                   // follower keys given out
	watchIDs  int                   // the client's, given out
	unwatches map[*token]unwatchReq // by what the follower answers when it has seen what is stored
	held      []waitMsg             // wait for the reads before them, which move where they begin
	portLook  portLook
}

func (p *waitsPart) onWait(m waitMsg) {
	if kind := m.spec.From.Kind; len(p.j.reads.cursorAt) > 0 && (kind == FromUnread || kind == FromDefault) {
		p.held = append(p.held, m) // it begins where those reads end
		return
	}
	p.begin(m)
}

func (p *waitsPart) begin(m waitMsg) {
	from, err := p.origin(m.spec, FromUnread)
	if err != nil {
		m.reply.fail(err)
		return
	}
	p.arm(&wait{
		spec: m.spec, from: from, tok: m.reply.tok, typed: p.j.input.typed,
		done:  m.reply.ok,
		abort: func(e *Error) { m.reply.fail(e) },
	})
}

// reviewHeld arms those that no read is before any more.
func (p *waitsPart) reviewHeld() {
	if len(p.j.reads.cursorAt) == 0 {
		p.armHeld()
	}
}

func (p *waitsPart) armHeld() {
	held := p.held
	p.held = nil
	for _, m := range held {
		p.begin(m)
	}
}

// origin turns the From of a spec into an offset per stream.
func (p *waitsPart) origin(spec *WaitSpec, byDefault OriginKind) (map[Stream]int64, *Error) {
	if err := p.checkStreams(spec); err != nil {
		return nil, err
	}
	kind := spec.From.Kind
	if kind == FromDefault {
		kind = byDefault
	}
	from := map[Stream]int64{}
	for name := range spec.From.Offsets {
		if name != "" && p.j.output.stream(name) == nil {
			return nil, Invalid(spec.From.Pointer+"/"+string(name), "this job has no stream %q; it has %s", name, p.streamNames())
		}
	}
	for _, st := range p.j.output.streams {
		switch kind {
		case FromNow:
			from[st.name] = st.spool.End()
		case FromUnread:
			from[st.name] = p.j.reads.unread[st.name]
		case FromOffset:
			off, ok := spec.From.Offsets[st.name]
			if !ok && len(p.j.output.streams) == 1 {
				off, ok = spec.From.Offsets[""]
			}
			if !ok && spec.From.Offsets != nil && !hasKey(spec.From.Offsets, "") {
				off, ok = st.spool.End(), true // a stream that is left out counts from now
			}
			if !ok {
				return nil, spec.From.ambiguous(p.streamList())
			}
			from[st.name] = off
		case FromDefault, FromStart:
			from[st.name] = 0
		}
	}
	return from, nil
}

func hasKey(m map[Stream]int64, k Stream) bool {
	_, ok := m[k]
	return ok
}

// checkStreams refuses a pattern on a stream that the job does not have: it would
// wait for ever.
func (p *waitsPart) checkStreams(spec *WaitSpec) *Error {
	if err := spec.checkScreen(p.j.display.heard != nil); err != nil {
		return err
	}
	for _, c := range spec.Until {
		if err := p.j.shell.checkCommand(c); err != nil {
			return err
		}
		if c.Kind == UntilPattern && len(p.j.output.streams) == 0 {
			return Invalid(c.Watch.Pointer, noStreams)
		}
		if s := c.Watch.Stream; c.Kind == UntilPattern && s != "" && p.j.output.stream(s) == nil {
			return Invalid(c.Watch.sibling("stream"), "this job has no stream %q; it has %s", s, p.streamNames())
		}
	}
	return nil
}

func (p *waitsPart) streamList() (all []Stream) {
	for _, st := range p.j.output.streams {
		all = append(all, st.name)
	}
	return all
}

func (p *waitsPart) streamNames() string { return names(p.streamList()) }

// arm begins a wait. Its patterns look at what is there already first, so that of
// several conditions that hold the first one counts; until they have, it waits.
func (p *waitsPart) arm(w *wait) {
	p.j.actor.lock.Check()
	w.armed = time.Now()
	if w.spec.Timeout >= 0 {
		w.deadline = w.armed.Add(w.spec.Timeout)
	}
	n := len(w.spec.Until)
	w.keys, w.failed = make([]int, n), make([]bool, n)
	w.matches, w.streams, w.places = make([]*Match, n), make([]Stream, n), make([]*Place, n)
	for i, c := range w.spec.Until {
		if c.Kind == UntilPattern {
			w.keys[i] = p.follow(&watch{spec: c.Watch, wait: w, cond: i, typed: w.skips(c)}, w.from)
			w.spec.Until[i].Watch.letGo()
			w.looks(p.j, c)
		}
		if c.Kind == UntilPort {
			p.armPort(w, i)
		}
	}
	if w.catchup != nil {
		// Once the leader has ended, no output of its will follow: then matches count that more output could change.
		p.follower.Load().Sync(w.catchup, w.keys, p.j.told())
	}
	if w.spec.forInput() {
		w.lookFrom = p.j.waiting.needLook()
	}
	p.armed = append(p.armed, w)
}

// looks has a wait wait until a pattern of its has looked at what is there.
func (w *wait) looks(j *Job, c Condition) {
	if c.Watch.Screen {
		w.glance = j.display.needGlance()
	} else if w.catchup == nil {
		w.catchup = new(token)
	}
}

// barrier is the present end of each stream, as a barrier for an event.
func (p *waitsPart) barrier() map[Stream]int64 {
	after := map[Stream]int64{}
	for _, st := range p.j.output.streams {
		after[st.name] = st.spool.End()
	}
	return after
}

// reviewCatchups has the follower answer for waits whose time is over while it looks at
// what was there already.
func (p *waitsPart) reviewCatchups(now time.Time) {
	for _, w := range p.armed {
		if until := w.catchupUntil(); !until.IsZero() && !now.Before(until) {
			w.hasten(p.j)
		}
	}
}

// catchupUntil is when the follower may look no longer; zero: it may, or does not.
func (w *wait) catchupUntil() (t time.Time) {
	if w.looked() || w.hastened || w.deadline.IsZero() {
		return t
	}
	if t = w.armed.Add(firstLook); t.Before(w.deadline) {
		t = w.deadline
	}
	return t
}

// hasten has those who look be done with what they have seen.
func (w *wait) hasten(j *Job) {
	w.hastened = true
	if w.catchup != nil {
		j.waits.follower.Load().Hasten(w.catchup)
	}
	if w.glance != 0 {
		w.glance, w.partly = 0, true
	}
}

// looked says whether its patterns have looked at what was there.
func (w *wait) looked() bool { return w.catchup == nil && w.glance == 0 }

// reviewArmed ends those waits of which a condition holds.
func (p *waitsPart) reviewArmed(now time.Time) {
	p.armed = slices.DeleteFunc(p.armed, func(w *wait) bool {
		reason, index, over := p.verdict(w, now)
		if over {
			// Both look at the same time: what the answer waits for them is not added up.
			ports, input := p.asksPorts(w, index, now), reason == "timeout" && p.j.waiting.asksInput(&w.look, now)
			if ports || input {
				return false
			}
			o := p.outcome(w, reason, index)
			p.disarm(w) // before the answer, with which its patterns do not count any more
			w.done(o)
		}
		return over
	})
}

// verdict says whether a wait is over, and why. Conditions come in their order,
// then the leader's end, then the clock.
func (p *waitsPart) verdict(w *wait, now time.Time) (reason string, index int, over bool) {
	if !w.looked() {
		return "", 0, false
	}
	untilClosed := false
	for i, c := range w.spec.Until {
		if c.Kind == UntilClosed {
			untilClosed = true
		}
		if w.failed[i] {
			return "patternFailed", i, true
		}
		if w.portTaken(i) {
			return "portInUse", i, true
		}
		if p.holds(w, i, now) {
			return string(c.Kind), i, true
		}
		if !w.looked() {
			return "", 0, false // it may hold, but a pattern before it is asked first
		}
	}
	switch {
	case w.partly:
		return "timeout", -1, true
	case p.j.told() && !untilClosed:
		return "exit", -1, true
	case !w.deadline.IsZero() && !now.Before(w.deadline):
		return "timeout", -1, true
	}
	return "", 0, false
}

func (p *waitsPart) holds(w *wait, i int, now time.Time) bool {
	switch c := w.spec.Until[i]; c.Kind {
	case UntilExit:
		return p.j.told()
	case UntilClosed:
		return p.j.st.status == StatusClosed
	case UntilPattern:
		return w.matches[i] != nil
	case UntilQuiet:
		return !now.Before(p.quietSince(w).Add(c.Quiet))
	case UntilBytes:
		return p.came(w) >= c.Bytes && !p.asks(w, i)
	case UntilInput:
		return p.j.waiting.holdsInput(w, &c.Input) && !p.asks(w, i)
	case UntilPort:
		return w.listens(i)
	case UntilCommand:
		// At the server's end a command and its shell are ended together, and that is what is told.
		return p.j.shell.watch.finished(c.Command) && (!p.j.ending.closing || p.j.told()) && !p.asks(w, i)
	}
	return false
}

// asks has the follower look first where a pattern before the i-th condition may
// hold on the same output: bytes are counted faster than they are matched, and of
// several conditions that hold the first one counts.
func (p *waitsPart) asks(w *wait, i int) bool {
	if w.asked || w.partly || !slices.ContainsFunc(w.keys[:i], func(key int) bool { return key != 0 }) {
		return false
	}
	w.asked = true
	for _, c := range w.spec.Until[:i] {
		if c.Kind == UntilPattern {
			w.looks(p.j, c)
		}
	}
	if w.catchup != nil {
		p.follower.Load().Sync(w.catchup, w.keys[:i], false)
	}
	return true
}

// quietSince is when the wait was armed, or output last came.
func (p *waitsPart) quietSince(w *wait) time.Time {
	since := w.armed
	for _, st := range p.j.output.streams {
		if t := st.base.Add(time.Duration(st.last.Load())); t.After(since) {
			since = t
		}
	}
	return since
}

func (p *waitsPart) quietDeadline(w *wait) (t time.Time) {
	for _, c := range w.spec.Until {
		if c.Kind == UntilQuiet {
			if q := p.quietSince(w).Add(c.Quiet); t.IsZero() || q.Before(t) {
				t = q
			}
		}
	}
	return t
}

// came counts the bytes since the wait's from, over all streams.
func (p *waitsPart) came(w *wait) (n int64) {
	for _, st := range p.j.output.streams {
		n += max(st.spool.End()-w.from[st.name], 0)
	}
	return n
}

// outcome is what a wait has come to by now. It moves what counts as read, unless it has the
// screen for output: who is shown that has read nothing.
func (p *waitsPart) outcome(w *wait, reason string, index int) Outcome {
	o := Outcome{Reason: reason, Index: index, Output: map[Stream]Range{}, State: p.j.state(), Spec: w.spec, Job: p.j, typed: w.typed}
	if index >= 0 {
		o.Match, o.MatchStream, o.MatchPlace = w.matches[index], w.streams[index], w.places[index]
	}
	o.Port = w.listener(index)
	if index >= 0 && reason == string(UntilCommand) {
		o.Command = p.j.shell.command(w.spec.Until[index].Command)
	}
	if w.spec.Screen {
		o.view = p.j.display.theView()
		if o.MatchPlace != nil {
			o.shown = w.shown
		}
	}
	for _, s := range o.State.Streams {
		from := min(w.from[s.Name], s.NextOffset)
		o.Output[s.Name] = Range{From: from, To: s.NextOffset}
		if !w.spec.Screen {
			p.j.reads.unread[s.Name] = max(p.j.reads.unread[s.Name], s.NextOffset)
		}
	}
	return o
}

func (p *waitsPart) disarm(w *wait) {
	p.j.actor.lock.Check()
	for _, key := range w.keys {
		p.unfollow(key)
	}
	p.disarmPort(w)
}

// cancel withdraws the wait of a request, if it has one armed.
func (p *waitsPart) cancel(tok *token) bool {
	p.armHeld() // one of them may be meant
	i := slices.IndexFunc(p.armed, func(w *wait) bool { return w.tok == tok })
	if i < 0 {
		return false
	}
	w, err := p.armed[i], p.j.canceled()
	if w.exec != nil && w.exec.command.Finished {
		return true // The result is faster.
	}
	if w.exec != nil {
		err = p.j.shell.canceledCommand(w.exec, w.exec.leftBehind())
	}
	p.armed = slices.Delete(p.armed, i, i+1)
	p.disarm(w)
	w.abort(err.withOutcome(p.outcome(w, "canceled", -1)))
	return true
}

// abort ends every wait with an error that carries what it has seen, but for those of
// commands, which end with their shell.
func (p *waitsPart) abort(why func() *Error) {
	waits := p.armed
	p.armed = nil
	for _, w := range waits {
		if w.exec != nil {
			p.armed = append(p.armed, w)
			continue
		}
		p.disarm(w)
		w.abort(why().withOutcome(p.outcome(w, "shuttingDown", -1)))
	}
}

// review answers the waits that are over, and arms those that no read is before any more.
func (p *waitsPart) review(now time.Time) {
	p.reviewHeld()
	p.reviewCatchups(now)
	p.reviewPorts(now)
	p.reviewArmed(now)
}

func (p *waitsPart) due(now time.Time) time.Time {
	t := p.portDue()
	for _, w := range p.armed {
		t = earliest(t, w.catchupUntil())
		if asked := w.portsAsked(now); !asked.IsZero() {
			t = earliest(t, asked)
		} else if w.catchup == nil && w.glance == 0 {
			t = earliest(earliest(t, w.look.later(w.deadline)), p.quietDeadline(w))
		}
	}
	return t
}

func (p *waitsPart) pending() int {
	return len(p.armed) + len(p.held) + len(p.unwatches) + len(p.portLook.infos)
}

func (p *waitsPart) fail(err *Error) {
	for _, w := range p.armed {
		w.abort(err)
	}
	for _, u := range p.unwatches {
		u.reply.fail(err)
	}
	for _, m := range p.held {
		m.reply.fail(err)
	}
	p.failPortInfos()
	p.armed, p.held = nil, nil
	clear(p.unwatches)
}

func (p *waitsPart) shutdown(why func() *Error) {
	p.armHeld()
	p.abort(why)
}
