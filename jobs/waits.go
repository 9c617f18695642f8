package jobs

import (
	"slices"
	"time"

	"shelld.dev/shelld/jobs/internal/echo"
	"shelld.dev/shelld/jobs/internal/view"
)

// firstLook is the minimum time that a wait may search the stored output, whatever its timeout: a timeout of
// zero asks which condition holds already.
const firstLook = 100 * time.Millisecond

// A wait is an armed WaitSpec.
type wait struct {
	spec     *WaitSpec
	from     map[Stream]int64
	armed    time.Time
	deadline time.Time // zero: none
	keys     []int     // per condition, the key in waitsPart.watches; 0 if the condition is not a pattern
	matches  []*Match
	streams  []Stream // of the matches
	places   []*Place // the same, on the screen
	shown    *Screen  // the screen that contains the last of these places
	glance   int      // number of the pending search of the screen; 0: none
	failed   []bool   // the pattern had to be removed
	catchup  *token   // not nil until the follower has searched the existing output
	asked    bool     // the patterns before a condition that may hold were made to search again, in later output
	hastened bool     // the searches were asked to end early because the time is over
	partly   bool     // a search ended early, before it had covered all existing output or the screen
	tok      *token   // of the request, for cancellation; may be shared with a write or start
	done     func(Outcome)
	abort    func(*Error)

	input    interface{ isWritten() bool } // the write that the wait belongs to; nil: none
	lookFrom int                           // the first input probe that counts
	look     parting                       // the input probe at the timeout

	typed      *typedInput // the input whose echo may be skipped; nil: none
	afterInput bool        // default for patterns: that echo does not match

	port *portWait // nil: the wait has no port condition

	exec commandWait // the command that the wait belongs to; nil: none
}

type (
	// A searchScreen is a screen on which patterns are searched for.
	searchScreen interface {
		lookFor(key int, w *WatchSpec, after int64)
		lookNoMore(key int)
		needGlance() int
		theView() *view.View
	}
	// An inputProber probes whether the job waits for input.
	inputProber interface {
		needLook() int
		holdsInput(w *wait, c *InputCondition) bool
		asksInput(look *parting, now time.Time) bool
	}
	// A commander runs the commands of a shell.
	commander interface {
		checkCommand(c Condition) *Error
		command(id int64) *ShellCommand
		finished(id int64) bool
	}
	// An infoAnswerer goes on with a request for the info.
	infoAnswerer interface{ answerInfo(m infoMsg, info Info) }
	// A settler waits for the search of all output.
	settler interface{ onSettled(tok *token) }
	// A typedSource knows the input that was typed last; nil: no echo is to be expected.
	typedSource interface{ lastTyped() *typedInput }
	// A cursor is the read cursor.
	cursor interface{ isMoving() bool }
	// A commandWait is a command for which a wait waits.
	commandWait interface {
		isFinished() bool
		canceled() *Error // the answer to a request that is canceled while the command runs
	}
)

// waitsPart holds the armed waits, and the patterns that are searched for in the output and on the screen.
type waitsPart struct {
	noPart
	j *base

	display searchScreen
	waiting inputProber
	shell   commander
	changes infoAnswerer
	ending  settler
	input   typedSource
	reads   cursor

	armed     []*wait
	watches   map[int]*watch        // by the key of the pattern, for output and screen patterns alike
	keys      int                   // number of keys given out; also the last of them
	watchIDs  int                   // watch IDs given out to the client
	unwatches map[*token]unwatchReq // by the token of the follower's Sync; a screen pattern's token is only a key
	held      []waitMsg             // not armed yet: pending reads before them move their start offset
	portLook  portLook
}

func (p *waitsPart) onWait(m waitMsg) {
	if kind := m.spec.From.Kind; p.reads.isMoving() && (kind == FromUnread || kind == FromDefault) {
		p.held = append(p.held, m) // the wait begins where those reads end
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
		spec: m.spec, from: from, tok: m.reply.tok, typed: p.input.lastTyped(),
		done:  m.reply.ok,
		abort: func(e *Error) { m.reply.fail(e) },
	})
}

// reviewHeld arms the held waits once no read before them is pending.
func (p *waitsPart) reviewHeld() {
	if !p.reads.isMoving() {
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
			return nil, Invalid(spec.From.Pointer+"/"+string(name), "this job has no stream %q; it has %s", name, p.j.output.streamNames())
		}
	}
	for _, st := range p.j.output.streams {
		switch kind {
		case FromNow:
			from[st.name] = st.spool.End()
		case FromUnread:
			from[st.name] = p.j.output.unread[st.name]
		case FromOffset:
			off, ok := spec.From.Offsets[st.name]
			if !ok && len(p.j.output.streams) == 1 {
				off, ok = spec.From.Offsets[""]
			}
			if !ok && spec.From.Offsets != nil && !hasKey(spec.From.Offsets, "") {
				off, ok = st.spool.End(), true // a stream that is left out counts from now
			}
			if !ok {
				return nil, spec.From.ambiguous(p.j.output.streamList())
			}
			from[st.name] = off
		case FromDefault, FromStart:
			from[st.name] = 0
		}
	}
	return from, nil
}

// checkStreams rejects a pattern on a stream that the job does not have: it would wait for ever.
func (p *waitsPart) checkStreams(spec *WaitSpec) *Error {
	if err := spec.checkScreen(p.j.heard != nil); err != nil {
		return err
	}
	for _, c := range spec.Until {
		if err := p.shell.checkCommand(c); err != nil {
			return err
		}
		if c.Kind == UntilPattern && len(p.j.output.streams) == 0 {
			return Invalid(c.Watch.Pointer, noStreams)
		}
		if s := c.Watch.Stream; c.Kind == UntilPattern && s != "" && p.j.output.stream(s) == nil {
			return Invalid(c.Watch.sibling("stream"), "this job has no stream %q; it has %s", s, p.j.output.streamNames())
		}
	}
	return nil
}

// arm begins a wait. Its patterns first search the existing output, so that the first of several conditions
// that hold counts. The wait cannot end before that search has ended.
func (p *waitsPart) arm(w *wait) {
	p.j.lock.Check()
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
			p.looks(w, c)
		}
		if c.Kind == UntilPort {
			p.armPort(w, i)
		}
	}
	if w.catchup != nil {
		// Once the leader has ended, it writes no more output: matches count that more output could have changed.
		p.j.output.follower.Load().Sync(w.catchup, w.keys, p.j.told())
	}
	if w.spec.has(UntilInput) {
		w.lookFrom = p.waiting.needLook()
	}
	p.armed = append(p.armed, w)
}

// looks makes a wait pause until its pattern has searched the existing output or the screen.
func (p *waitsPart) looks(w *wait, c Condition) {
	if c.Watch.Screen {
		w.glance = p.display.needGlance()
	} else if w.catchup == nil {
		w.catchup = new(token)
	}
}

// reviewCatchups cuts short the search of existing output for waits whose time is over.
func (p *waitsPart) reviewCatchups(now time.Time) {
	for _, w := range p.armed {
		if until := w.catchupUntil(); !until.IsZero() && !now.Before(until) {
			p.hasten(w)
		}
	}
}

// catchupUntil returns the deadline for the search of existing output; zero: there is no deadline, or the
// search has ended or was cut short.
func (w *wait) catchupUntil() (t time.Time) {
	if w.looked() || w.hastened || w.deadline.IsZero() {
		return t
	}
	if t = w.armed.Add(firstLook); t.Before(w.deadline) {
		t = w.deadline
	}
	return t
}

// hasten cuts the searches short: the wait is answered from the part searched so far.
func (p *waitsPart) hasten(w *wait) {
	w.hastened = true
	if w.catchup != nil {
		p.j.output.follower.Load().Hasten(w.catchup)
	}
	if w.glance != 0 {
		w.glance, w.partly = 0, true
	}
}

// looked reports whether the patterns have searched the existing output and the screen.
func (w *wait) looked() bool { return w.catchup == nil && w.glance == 0 }

// reviewArmed ends the waits that are over.
func (p *waitsPart) reviewArmed(now time.Time) {
	p.armed = slices.DeleteFunc(p.armed, func(w *wait) bool {
		reason, index, over := p.verdict(w, now)
		if over {
			// Both probes run at the same time, so that their delays do not add up.
			ports, input := p.asksPorts(w, index, now), reason == "timeout" && p.waiting.asksInput(&w.look, now)
			if ports || input {
				return false
			}
			o := p.outcome(w, reason, index)
			p.disarm(w) // before the answer: afterwards its patterns no longer count
			w.done(o)
		}
		return over
	})
}

// verdict reports whether a wait is over, and why. The conditions are checked in their order, then the end of
// the leader, then the timeout.
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
			return "", 0, false // the condition may hold, but an earlier pattern is checked first
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
		return p.waiting.holdsInput(w, &w.spec.Until[i].Input) && !p.asks(w, i)
	case UntilPort:
		return w.listens(i)
	case UntilCommand:
		// At shutdown a command and its shell are ended together; the end of the shell is reported.
		return p.shell.finished(c.Command) && (!p.j.closing || p.j.told()) && !p.asks(w, i)
	}
	return false
}

// asks makes the follower search first if a pattern before the i-th condition may hold on the same output:
// bytes are counted faster than they are matched, and the first of several conditions that hold counts.
func (p *waitsPart) asks(w *wait, i int) bool {
	if w.asked || w.partly || !slices.ContainsFunc(w.keys[:i], func(key int) bool { return key != 0 }) {
		return false
	}
	w.asked = true
	for _, c := range w.spec.Until[:i] {
		if c.Kind == UntilPattern {
			p.looks(w, c)
		}
	}
	if w.catchup != nil {
		p.j.output.follower.Load().Sync(w.catchup, w.keys[:i], false)
	}
	return true
}

// quietSince returns the time when the wait was armed or, if later, the time of the last output.
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

// came counts the bytes after the start offsets of the wait, over all streams.
func (p *waitsPart) came(w *wait) (n int64) {
	for _, st := range p.j.output.streams {
		n += max(st.spool.End()-w.from[st.name], 0)
	}
	return n
}

// outcome returns the present result of a wait. It marks the output as read, unless the wait shows the screen
// instead of output: a client that is shown the screen has read no output.
func (p *waitsPart) outcome(w *wait, reason string, index int) Outcome {
	o := Outcome{Reason: reason, Index: index, Output: map[Stream]Range{}, State: p.j.state(), Spec: w.spec, Job: p.j.self, typed: w.typed}
	if index >= 0 {
		o.Match, o.MatchStream, o.MatchPlace = w.matches[index], w.streams[index], w.places[index]
	}
	o.Port = w.listener(index)
	if index >= 0 && reason == string(UntilCommand) {
		o.Command = p.shell.command(w.spec.Until[index].Command)
	}
	if w.spec.Screen {
		o.view = p.display.theView()
		if o.MatchPlace != nil {
			o.shown = w.shown
		}
	}
	for _, s := range o.State.Streams {
		from := min(w.from[s.Name], s.NextOffset)
		o.Output[s.Name] = Range{From: from, To: s.NextOffset}
		if !w.spec.Screen {
			p.j.output.unread[s.Name] = max(p.j.output.unread[s.Name], s.NextOffset)
		}
	}
	return o
}

func (p *waitsPart) disarm(w *wait) {
	p.j.lock.Check()
	for _, key := range w.keys {
		p.unfollow(key)
	}
	p.disarmPort(w)
}

// cancel cancels the armed wait of a request, if there is one.
func (p *waitsPart) cancel(tok *token) bool {
	p.armHeld() // the request may be one of the held waits
	i := slices.IndexFunc(p.armed, func(w *wait) bool { return w.tok == tok })
	if i < 0 {
		return false
	}
	w, err := p.armed[i], p.j.canceled()
	if w.exec != nil && w.exec.isFinished() {
		return true // The command has finished: its result is the answer.
	}
	if w.exec != nil {
		err = w.exec.canceled()
	}
	p.armed = slices.Delete(p.armed, i, i+1)
	p.disarm(w)
	w.abort(err.withOutcome(p.outcome(w, "canceled", -1)))
	return true
}

// abort ends every wait with an error that carries its outcome so far, except the waits of commands, which end
// with their shell.
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

// review answers the waits that are over, and arms the held ones that no pending read precedes.
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

// A parting is the last probe of a request that times out: its answer says whether the job waits for input.
type parting struct {
	number int       // number of the probe; 0: not requested yet
	until  time.Time // when the request stops waiting for the probe
}

// partingTime bounds how long a request that times out waits for its last probe.
const partingTime = 100 * time.Millisecond

// later returns when a request with this deadline must be answered: at the deadline or, once the last probe has
// been requested, when the time for that probe is over. Zero: there is no deadline.
func (l *parting) later(deadline time.Time) time.Time {
	if l.number != 0 && !deadline.IsZero() {
		return l.until
	}
	return deadline
}

// drop ends a wait without an answer, and reports whether the wait was armed.
func (p *waitsPart) drop(w *wait) bool {
	i := slices.Index(p.armed, w)
	if w == nil || i < 0 {
		return false
	}
	p.armed = slices.Delete(p.armed, i, i+1)
	p.disarm(w)
	return true
}

func (p *waitsPart) isArmed(w *wait) bool { return slices.Contains(p.armed, w) }

// has reports whether a wait has a condition of this kind.
func (w *WaitSpec) has(kind ConditionKind) bool {
	return w != nil && slices.ContainsFunc(w.Until, func(c Condition) bool { return c.Kind == kind })
}

// waitsFor reports whether an armed wait has a condition of this kind.
func (p *waitsPart) waitsFor(kind ConditionKind) bool {
	return slices.ContainsFunc(p.armed, func(w *wait) bool { return w.spec.has(kind) })
}

// A watch is the object of a follower key: a client's pattern, or a condition of a wait.
type watch struct {
	id   int // the client's watchId; 0 for a condition
	spec WatchSpec
	wait *wait
	cond int
	room *patternRoom // of a client's watch

	typed *typedInput // the input of which the echo does not match; nil = none
}

// giveBackPatterns gives back the rooms of all patterns of the job, when its loop ends.
func (p *waitsPart) giveBackPatterns() {
	for _, w := range p.watches {
		w.room.giveBack()
	}
	clear(p.watches)
}

// on returns the input if st is the stream with its echo, and nil if not.
func (t *typedInput) on(st *stream) *echo.Typed {
	if t == nil || t.st != st.name {
		return nil
	}
	return &t.Typed
}

// skips returns the input whose echo must not match c, or nil.
func (w *wait) skips(c Condition) *typedInput {
	if c.AfterInput == nil && w.afterInput || c.AfterInput != nil && *c.AfterInput {
		return w.typed
	}
	return nil
}
