package jobs

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"shelld/jobs/internal/proc"
)

// An Input is what a client types: the text, then the keys, or Send in their place,
// then the line end, then the end of input.
type Input struct {
	Text          string
	Keys          []string
	Send          []SendItem
	AppendNewline bool   // CR on a terminal, LF on a pipe
	EOF           bool   // closes a pipe; types the end-of-file character on a terminal
	Secret        bool   // it is kept out of every record, and wiped once it is written
	IfWaiting     string // the wait for input that it answers; "" = none
	Wait          *WaitSpec
	Asker         Asker

	person bool // the person at the client has given it (secret.go)
}

// A WriteResult says what the kernel has taken, and how the wait ended.
type WriteResult struct {
	BytesWritten int64
	Outcome      *Outcome
}

// inputPart types what the job is given to read.
type inputPart struct {
	noPart
	j *Job

	to       input           // nil: nothing can be written
	orders   chan inputOrder // a turn -> writeLoop; capacity 1, for the one that it may have
	wrote    chan writeDone  // writeLoop -> run, one per order
	queue    inputQueue      // but for its bytes, which anybody may read
	typed    *typedInput     // the last write that was begun; nil = nobody echoes it
	wentOnAt time.Time       // when the start had waited for somebody (start_held.go); zero: it did not
}

// A queued input waits for the kernel to take it.
type queued struct {
	data    []byte
	close   bool // the pipe, after the data
	written int64
	spec    *WaitSpec
	wait    *wait    // spec, once it is armed
	outcome *Outcome // of the wait
	end     *Error   // withdrawn while the writeLoop had it: the answer, once that is back
	short   *Error   // the answer, once that is back, if not all was written
	before  int      // the queue's partial before this item
	reply   reply[WriteResult]

	attrs     *proc.Attrs // the terminal's, while it is being queued
	begun     bool        // its first byte was about to be written
	typed     *typedInput // what was known of it then; nil = nobody echoes it
	overtakes bool        // it begins with a signal key
	keysOnly  bool        // it is nothing but signal keys
	person    bool        // as Input has it
	secret    bool        // data is wiped when it is not needed any more
	behind    int64       // the command of Exec's before it that the shell had not begun; 0: none
	trigger   bool        // has a shell take what Exec has for it (shell_feed.go)
	answer    bool        // the terminal's own, to a query (queries.go)
	recorded  bool        // it could be seen when the writeLoop was given it
	deadline  time.Time   // of spec, from when the request was read; zero: none
	expired   bool        // the deadline has passed while the writeLoop had it
}

// An inputQueue is what was not yet written. Only its first item is on its way.
type inputQueue struct {
	items   []*queued
	bytes   atomic.Int64 // in items, not yet written; anybody may read it
	writing bool         // the writeLoop has the first item
	writes  uint64       // handed to the writeLoop so far
	closed  string       // why nothing more can be written; "" = it can
	broken  time.Time    // when the kernel said that nobody reads; zero: it has not
	partial int          // bytes typed since the last line end, counting what is queued
	answers int          // the bytes of answers in items, not yet written; they are not in bytes
}

// ready says whether there is something to hand to the writeLoop.
func (q *inputQueue) ready() bool { return !q.writing && q.broken.IsZero() && len(q.next()) > 0 }

func (q *inputQueue) next() []byte {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0].data[q.items[0].written:]
}

// typed says whether there is anything in it that a client has typed.
func (q *inputQueue) typed() bool {
	return slices.ContainsFunc(q.items, func(in *queued) bool { return !in.answer && int(in.written) < len(in.data) })
}

// count notes that n more bytes of an item wait to be written.
func (q *inputQueue) count(in *queued, n int64) {
	if in.answer {
		q.answers += int(n)
	} else {
		q.bytes.Add(n)
	}
}

// insert puts an item at i, where it is not counted yet by whoever has made it.
func (q *inputQueue) insert(i int, in *queued) { q.items = slices.Insert(q.items, i, in) }

// remove takes item i out, which the writeLoop does not have.
func (q *inputQueue) remove(i int) {
	in := q.items[i]
	q.count(in, in.written-int64(len(in.data)))
	if in.secret {
		clear(in.data)
	}
	q.items = slices.Delete(q.items, i, i+1)
}

func (p *inputPart) onWrite(m writeMsg) {
	if m.at.Before(p.wentOnAt) {
		m.at = p.wentOnAt // no deadline runs while a start waits for somebody
	}
	if !p.j.asking.confirmWrite(m) && p.passWrite(m) {
		p.j.asking.dropAsked(p.overtaken)
	}
}

// passWrite is for a write that nobody has to be asked about, or not any more. It says
// whether it overtakes.
func (p *inputPart) passWrite(m writeMsg) bool {
	p.j.actor.lock.Check()
	if p.j.waiting.holdWrite(m) || !p.enqueue(m) {
		return false
	}
	p.overtakeHeld()
	return true
}

// enqueue queues input, or refuses it, and says whether it overtakes.
func (p *inputPart) enqueue(m writeMsg) bool {
	q, partial, err := p.compose(m.in)
	m.in.wipe()
	// Echo is off where a password is asked for.
	hidden := q != nil && q.attrs != nil && q.attrs.Canonical && !q.attrs.Echo
	if err == nil && hidden {
		err = p.j.waiting.deny(q)
	}
	if err == nil {
		err = p.checkQueue(q)
	}
	if err == nil && m.in.Wait != nil {
		_, err = p.j.waits.origin(m.in.Wait, FromNow)
	}
	if err != nil {
		if q != nil && (m.in.Secret || hidden) {
			clear(q.data)
		}
		if m.in.person {
			p.j.waiting.secretRefused(err)
		}
		m.reply.fail(err)
		return false
	}
	if q.overtakes {
		p.overtake()
	}
	if m.in.person {
		p.j.hideTyped(q.data)
	}
	q.reply, q.spec, q.secret = m.reply, m.in.Wait, m.in.Secret || hidden
	if q.spec != nil && q.spec.Timeout >= 0 {
		q.deadline = m.at.Add(q.spec.Timeout)
	}
	q.before, p.queue.partial = p.queue.partial, partial
	if q.close {
		p.queue.closed = "its standard input was closed by an earlier eof"
	}
	q.behind = p.j.shell.watch.lastQueued()
	p.queue.items = append(p.queue.items, q)
	p.queue.bytes.Add(int64(len(q.data)))
	p.beginFirst()
	q.attrs = nil // from here on they may change
	return q.overtakes
}

// compose turns an Input into what is to be queued, or says why it cannot be sent,
// and says how much of a line is then typed. What there is of it comes with a
// refusal too.
func (p *inputPart) compose(in Input) (q *queued, partial int, refusal *Error) {
	if err := p.writable(in); err != nil {
		return nil, 0, err
	}
	t, err := p.typeAll(in)
	if err != nil {
		return &queued{data: t.data}, 0, err
	}
	if p.j.term == nil {
		if in.AppendNewline {
			t.add('\n')
		}
		return &queued{data: t.data, close: in.EOF}, 0, nil
	}
	if in.AppendNewline {
		t.add('\r')
	}
	attrs, attrsErr := p.j.term.Attrs()
	if attrsErr != nil {
		return &queued{data: t.data}, 0, errorf(CodeInternal, "the terminal of job %d cannot be asked for its modes: %v", p.j.id, attrsErr)
	}
	partial, err = p.composeLine(t, in.EOF, attrs)
	q = &queued{data: t.data, attrs: &attrs, person: in.person}
	q.overtakes, q.keysOnly = signalKeys(q.data, attrs)
	return q, partial, err
}

// writable refuses input that nothing would take.
func (p *inputPart) writable(in Input) *Error {
	switch {
	case p.j.st.exit != nil:
		e := errorf(CodeJobExited, "job %d %s; start it again to write to it", p.j.id, exitText(p.j.st.exit))
		e.Handle, e.Exit = p.j.id, p.j.st.exit
		return e
	case p.j.ending.closing:
		return errorf(CodeShuttingDown, "the server is shutting down; job %d takes no more input", p.j.id)
	case p.queue.closed != "":
		return p.notInteractive("job %d takes no more input: %s", p.j.id, p.queue.closed)
	case p.to == nil:
		return p.noInput()
	case in.IfWaiting != "" && (p.j.waiting.watch.now == nil || p.j.waiting.watch.now.ID != in.IfWaiting || p.queue.typed()):
		return p.notExpected(in.IfWaiting)
	}
	return nil
}

// notExpected refuses what was meant for a wait for input that is over.
func (p *inputPart) notExpected(id string) *Error {
	why := "that wait is over, and the job waits for nothing that is known"
	switch now := p.j.waiting.watch.now; {
	case p.j.waiting.watch.looker == nil:
		why = "this server cannot tell when this job waits, so no wait of its has an id"
	case now != nil && now.ID == id:
		why = "other input is on its way to it"
	case now != nil:
		why = "that wait is over; the one that goes on now is " + now.ID
	}
	e := errorf(CodeInputNotExpected, "job %d does not wait for input as %q: %s; look what it does now, or send it without ifWaiting", p.j.id, id, why)
	e.Handle = p.j.id
	return e
}

func (p *inputPart) notInteractive(format string, args ...any) *Error {
	e := errorf(CodeNotInteractive, format, args...)
	e.Handle = p.j.id
	return e
}

// composeLine adds the terminal's end-of-file character where it was asked for, and
// refuses a line that the kernel would cut short without a word.
func (p *inputPart) composeLine(t *typing, eof bool, attrs proc.Attrs) (partial int, refusal *Error) {
	partial, longest := lineLengths(t.data, p.queue.partial, attrs)
	if attrs.Canonical && longest > proc.CanonicalLineLimit {
		e := errorf(CodeLineTooLong, "a line of %d bytes is over the terminal's limit of %d, whose end the kernel would drop; send shorter lines, or start the job in pipe mode", longest, proc.CanonicalLineLimit)
		e.Handle, e.Max, e.Length = p.j.id, proc.CanonicalLineLimit, int64(longest)
		return 0, e
	}
	if !attrs.Canonical {
		partial = 0 // the program reads characters: no line is begun
	}
	if eof {
		char := attrs.EOF
		if char == 0 {
			char = 4 // Ctrl-D, where the program has switched the character off
		}
		t.add(char)
		if partial > 0 {
			t.add(char) // the first one only ends the partial line
		}
		partial = 0
	}
	return partial, nil
}

// lineLengths follows data, typed behind partial bytes of a line, and returns what
// is on the last line and the longest line, without its end.
func lineLengths(data []byte, partial int, a proc.Attrs) (last, longest int) {
	for _, c := range data {
		switch {
		case c == '\n', c == '\r' && a.CRToNL, c == a.EOF && c != 0, c == a.EOL && c != 0:
			partial = 0
		case c != 0 && a.Canonical && c == a.Kill, a.IsSignal(c) && !a.NoFlush:
			partial = 0 // the line is thrown away
		case a.IsSignal(c): // it is no part of a line
		case c != 0 && a.Canonical && c == a.Erase:
			partial = max(partial-1, 0)
		default:
			partial++
			longest = max(longest, partial)
		}
	}
	return partial, longest
}

// checkQueue refuses what there is no room for. In the way of an input that
// overtakes is only what it does not drop.
func (p *inputPart) checkQueue(q *queued) *Error {
	if err := p.checkSize(len(q.data)); err != nil {
		return err
	}
	held := p.queue.bytes.Load()
	if q.overtakes {
		held = p.queue.keyBytes()
	}
	if held+int64(len(q.data)) <= p.j.mgr.settings.limits.InputQueueBytes {
		return nil
	}
	return p.queueFull("job %d has %d bytes of input that it has not read; wait until it reads, or raise limits.inputQueueBytes", p.j.id, p.queue.bytes.Load())
}

// checkSize refuses an input that can never be queued.
func (p *inputPart) checkSize(n int) *Error {
	if limit := p.j.mgr.settings.limits.InputQueueBytes; int64(n) > limit {
		return p.queueFull("this input of %d bytes and more is over limits.inputQueueBytes (%d); send it in parts, each when the one before is answered", n, limit)
	}
	return nil
}

func (p *inputPart) queueFull(format string, args ...any) *Error {
	e := errorf(CodeInputQueueFull, format, args...)
	e.Handle, e.Max = p.j.id, p.j.mgr.settings.limits.InputQueueBytes
	return e
}

// beginFirst arms the wait of the item that is now first, before its first byte is
// written. Items that have no bytes are over at once.
func (p *inputPart) beginFirst() {
	for len(p.queue.items) > 0 && !p.queue.writing {
		q := p.queue.items[0]
		if p.j.waiting.denyLate(q) {
			continue
		}
		p.noteTyped(q)
		if q.spec != nil && q.wait == nil {
			p.armWrite(q)
		}
		if len(p.queue.next()) > 0 || !p.queue.broken.IsZero() {
			return // inputReady offers it to the writeLoop
		}
		p.finishFirst()
	}
}

func (p *inputPart) armWrite(q *queued) {
	from, _ := p.j.waits.origin(q.spec, FromNow) // onWrite has seen that it holds
	q.wait = &wait{spec: q.spec, from: from, tok: q.reply.tok, typed: q.typed, afterInput: true, input: q}
	q.wait.done = func(o Outcome) {
		q.outcome = &o
		p.answerWrite(q)
	}
	q.wait.abort = func(e *Error) { p.withdraw(q, e) }
	p.j.waits.arm(q.wait)
	q.wait.deadline = q.deadline
}

// handInput has written what is next, and reports whether there is anything new for it:
// what the kernel takes at once is written here, the rest by the writeLoop.
func (p *inputPart) handInput() (wrote bool) {
	if p.to == nil || !p.queue.ready() || p.j.shell.blocksWrite(p.queue.items[0]) {
		return false
	}
	o := p.queue.order()
	if !o.overtake && len(o.data) <= fewBytes {
		if n, err := p.writeNow(o.data); n > 0 || err != nil {
			p.onWrote(writeDone{n, err})
			return true
		}
	}
	p.queue.items[0].recorded, _ = p.j.files.seen(p.queue.items[0])
	p.orders <- o // has room: the writeLoop has nothing else
	p.queue.writing = true
	p.queue.writes++
	return false
}

// onWrote takes what came of a write.
func (p *inputPart) onWrote(w writeDone) {
	p.queue.writing = false
	q := p.queue.items[0]
	if p.j.shell.watch != nil && !q.trigger && !q.answer {
		p.j.shell.watch.noteTyped(q.data[q.written:][:w.n])
	}
	q.written += int64(w.n)
	p.queue.count(q, -int64(w.n))
	if w.n > 0 {
		p.j.waiting.noteInput(q.answer)
	}
	switch {
	case int(q.written) == len(q.data):
		p.finishFirst()
	case q.end != nil:
		p.withdraw(q, q.end)
	case q.expired:
		p.expire(q)
	case q.short != nil:
		p.drop(q, q.short)
	case w.err != nil && !errors.Is(w.err, proc.ErrInterrupted):
		p.inputBroken(w.err)
	}
	p.beginFirst()
}

// finishFirst is done with the first item, whose bytes the kernel has taken.
func (p *inputPart) finishFirst() {
	q := p.queue.items[0]
	p.queue.remove(0)
	if q.close && p.to != nil {
		_ = p.to.Close() // Best effort: the program sees the end of its input.
		p.to = nil
	}
	if q.end != nil {
		p.withdraw(q, q.end)
		return
	}
	p.answerWrite(q)
}

// answerWrite answers once the bytes are taken and the wait, if any, is over.
func (p *inputPart) answerWrite(q *queued) {
	if int(q.written) == len(q.data) && (q.spec == nil || q.outcome != nil) {
		q.reply.ok(WriteResult{q.written, q.outcome})
	}
}

// withdraw answers an item with an error that says how much of it was written. One
// that the writeLoop has is answered when that is back.
func (p *inputPart) withdraw(q *queued, err *Error) {
	p.j.actor.lock.Check()
	if p.queue.writing && p.queue.items[0] == q {
		q.end = err
		p.interrupt()
		return
	}
	p.takeOut(q)
	told, n := *err, q.written // err may be told to others too
	told.BytesWritten = &n
	if q.outcome != nil && told.Outcome == nil {
		told.Outcome = q.outcome
	}
	q.reply.fail(&told)
}

// partialAfter is how much of a line is typed where an input was not typed to its end.
func (p *inputPart) partialAfter(q *queued) int {
	if q.written == 0 || p.j.term == nil {
		return q.before
	}
	attrs, err := p.j.term.Attrs()
	if err != nil || !attrs.Canonical {
		return 0 // as after any other input
	}
	partial, _ := lineLengths(q.data[:q.written], q.before, attrs)
	return partial
}

// takeOut takes an item out of the queue, if it is there, with what was to come of
// it. The writeLoop does not have it.
func (p *inputPart) takeOut(q *queued) {
	i := slices.Index(p.queue.items, q)
	if i < 0 {
		return
	}
	if q.close {
		p.queue.closed = "" // it was not
	}
	if i == len(p.queue.items)-1 && int(q.written) < len(q.data) {
		p.queue.partial = p.partialAfter(q)
	}
	p.queue.remove(i)
}

// interrupt makes the writeLoop give back what it has. Where the input is closed it
// does so by itself.
func (p *inputPart) interrupt() {
	if p.to != nil {
		p.to.Interrupt(p.queue.writes)
	}
}

// fail answers what is queued when the loop ends.
func (p *inputPart) fail(err *Error) {
	for i, q := range p.queue.items {
		q.reply.fail(err)
		if q.secret && !(i == 0 && p.queue.writing) {
			clear(q.data)
		}
	}
	p.queue.items = nil
}

// cancel withdraws a write. One whose wait is armed is withdrawn with that.
func (p *inputPart) cancel(tok *token) bool {
	for _, q := range p.queue.items {
		if q.reply.tok == tok && q.end == nil && !slices.Contains(p.j.waits.armed, q.wait) {
			p.withdraw(q, p.j.canceled())
			return true
		}
	}
	return false
}

// dropInput withdraws everything that is queued, each with an error of its own. The
// item that the writeLoop has may turn out to be written already, as an interrupt
// key is that ended the job; then it is answered as such.
func (p *inputPart) dropInput(why func() *Error) { p.dropItems(slices.Clone(p.queue.items), why) }

// dropItems is dropInput for some of the items; the slice is the caller's own.
func (p *inputPart) dropItems(items []*queued, why func() *Error) {
	for _, q := range slices.Backward(items) {
		if p.queue.writing && q == p.queue.items[0] {
			if q.short == nil {
				q.short = why()
			}
			p.interrupt()
			continue
		}
		p.drop(q, why())
	}
}

// drop withdraws an item, and its wait with it.
func (p *inputPart) drop(q *queued, err *Error) {
	if p.dropWait(q.wait) {
		reason := "exit"
		if err.Code == CodeCanceled {
			reason = "canceled"
		}
		err.withOutcome(p.j.waits.outcome(q.wait, reason, -1))
	}
	p.withdraw(q, err)
}

// dropWait ends a wait without a word, and reports whether it was going on.
func (p *inputPart) dropWait(w *wait) bool {
	i := slices.Index(p.j.waits.armed, w)
	if w == nil || i < 0 {
		return false
	}
	p.j.waits.armed = slices.Delete(p.j.waits.armed, i, i+1)
	p.j.waits.disarm(w)
	return true
}

// brokenTime is how long input that nobody reads any more waits for the leader's
// end. A process that ends closes its descriptors before anybody can be told that
// it has ended, so the kernel's word that nobody reads is mostly the first of the
// two, and the end, with its status, what a client wants to hear of.
const brokenTime = 100 * time.Millisecond

// inputBroken is told that nobody reads the input any more.
func (p *inputPart) inputBroken(err error) {
	p.j.log.Debug("input broken", "job", p.j.id, "error", err)
	p.queue.broken = time.Now()
}

// review gives up input whose time is over, and input that nobody reads, where
// the leader lives on. What is then first is begun.
func (p *inputPart) review(now time.Time) {
	p.reviewExpiry(now)
	if !p.queue.broken.IsZero() && len(p.queue.items) > 0 && !now.Before(p.queue.broken.Add(brokenTime)) {
		const why = "the program has closed its standard input"
		p.dropInput(func() *Error { return p.notInteractive("job %d takes no more input: %s", p.j.id, why) })
		p.queue.closed = why
	}
	p.beginFirst()
}

// due is when the time of an input is over, or when input that nobody reads is given up.
func (p *inputPart) due(time.Time) time.Time {
	t := p.inputDeadline()
	if !p.queue.broken.IsZero() && len(p.queue.items) > 0 {
		t = earliest(t, p.queue.broken.Add(brokenTime))
	}
	return t
}

func (p *inputPart) pending() int { return len(p.queue.items) }

func (p *inputPart) shutdown(why func() *Error) { p.dropInput(why) }

func (p *inputPart) exited(why func() *Error) { p.dropInput(why) }
