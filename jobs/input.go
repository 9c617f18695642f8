package jobs

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"shelld.dev/shelld/jobs/internal/proc"
)

type (
	// A writeConfirmer asks a person whether input may be typed.
	writeConfirmer interface {
		confirmWrite(m writeMsg) bool
		dropAsked(why func() *Error)
	}
	// An inputRecorder writes input, and records it.
	inputRecorder interface {
		seen(q *queued) (seen, raw bool)
		writeNow(q *queued, data []byte) (n int, err error)
		recordWritten(q *queued, data []byte)
	}
	// A shellInput is the shell that reads the input.
	shellInput interface {
		blocksWrite(q *queued) bool
		lastQueued() int64
		noteTyped(p []byte)
		strike()
	}
	// An inputWaiter knows whether the job waits for input, and for whose.
	inputWaiter interface {
		holdWrite(m writeMsg) bool
		dropHeld(why func() *Error)
		noteInput(answer bool)
	}
	// A secretKeeper refuses input that only the person at the client may type.
	secretKeeper interface {
		deny(q *queued) *Error
		denyLate(q *queued) bool
		secretRefused(err *Error)
	}
	// A typingChecker knows which client may type.
	typingChecker interface{ refuseOthers(owner string) *Error }
	// A writeWaiter has the waits of writes.
	writeWaiter interface {
		origin(spec *WaitSpec, byDefault OriginKind) (map[Stream]int64, *Error)
		outcome(w *wait, reason string, index int) Outcome
		arm(w *wait)
		isArmed(w *wait) bool
		drop(w *wait) bool
	}
)

// inputPart writes input to the job.
type inputPart struct {
	noPart
	j *base

	asking  writeConfirmer
	files   inputRecorder
	lease   typingChecker
	shell   shellInput
	waiting inputWaiter
	secrets secretKeeper
	waits   writeWaiter

	orders   chan inputOrder // a turn -> writeLoop; capacity 1: the writeLoop has at most one
	wrote    chan writeDone  // writeLoop -> run, one per order
	queue    inputQueue      // guarded by turns
	typed    *typedInput     // the last write that was begun; nil = no echo to expect
	wentOnAt time.Time       // the end of the start's wait (awaitBefore); zero: the start did not wait
}

func (p *inputPart) onWrite(m writeMsg) {
	if m.at.Before(p.wentOnAt) {
		m.at = p.wentOnAt // deadlines do not run while a start waits for the login shell or a person
	}
	if err := p.refuseOthers(m.in); err != nil {
		m.fail(err)
		return
	}
	if !p.asking.confirmWrite(m) && p.passWrite(m) {
		p.asking.dropAsked(p.overtaken)
	}
}

// refuseOthers returns the error for input of a client that does not hold the job's input; nil: it may type.
func (p *inputPart) refuseOthers(in Input) *Error {
	err := p.lease.refuseOthers(in.Owner)
	if err == nil {
		return nil
	}
	in.IfWaiting = "" // That takes a probe, which the answer need not wait for.
	return cmp.Or(p.writable(in), err)
}

// passWrite handles a write that needs no confirmation, or is confirmed. It reports whether the write overtakes queued
// input.
func (p *inputPart) passWrite(m writeMsg) bool {
	p.j.lock.Check()
	if p.waiting.holdWrite(m) || !p.enqueue(m) {
		return false
	}
	p.waiting.dropHeld(p.overtaken)
	return true
}

// enqueue queues input or refuses it. It reports whether the input overtakes queued input.
func (p *inputPart) enqueue(m writeMsg) bool {
	q, partial, err := p.compose(m.in)
	m.in.wipe()
	// A terminal that reads lines with echo off: the program asks for a password, which policy may leave to a person.
	hidden := q != nil && q.attrs != nil && q.attrs.Canonical && !q.attrs.Echo
	if err == nil && hidden {
		err = p.secrets.deny(q)
	}
	if err == nil {
		err = p.checkQueue(q)
	}
	if err == nil && m.in.Wait != nil {
		_, err = p.waits.origin(m.in.Wait, FromNow)
	}
	if err != nil {
		if q != nil && (m.in.Secret || hidden) {
			clear(q.data)
		}
		if m.in.person {
			p.secrets.secretRefused(err)
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
	q.reply, q.owner, q.spec, q.secret = m.reply, m.in.Owner, m.in.Wait, m.in.Secret || hidden
	if q.spec != nil && q.spec.Timeout >= 0 {
		q.deadline = m.at.Add(q.spec.Timeout)
	}
	q.before, p.queue.partial = p.queue.partial, partial
	if q.close {
		p.queue.closed = "its standard input was closed by an earlier eof"
	}
	q.behind = p.shell.lastQueued()
	p.queue.items = append(p.queue.items, q)
	p.queue.bytes.Add(int64(len(q.data)))
	p.beginFirst()
	q.attrs = nil // the modes may change from here on
	return q.overtakes
}

// compose converts an Input into an item for the queue, or returns why it cannot be sent. It also returns the length of
// the partial line after this input. If it refuses the input, the item holds the part that was composed, if any.
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
		return &queued{data: t.data}, 0, errorf(CodeInternal, "the modes of job %d's terminal cannot be read: %v", p.j.id, attrsErr)
	}
	partial, err = p.composeLine(t, in.EOF, attrs)
	q = &queued{data: t.data, attrs: &attrs, person: in.person}
	q.overtakes, q.keysOnly = signalKeys(q.data, attrs)
	return q, partial, err
}

// writable refuses input that the job cannot take.
func (p *inputPart) writable(in Input) *Error {
	switch {
	case p.j.st.exit != nil:
		e := errorf(CodeJobExited, "job %d %s; start it again to write to it", p.j.id, exitText(p.j.st.exit))
		e.Handle, e.Exit = p.j.id, p.j.st.exit
		return e
	case p.j.closing:
		return errorf(CodeShuttingDown, "the server is shutting down; job %d takes no more input", p.j.id)
	case p.queue.closed != "":
		return p.j.notInteractive("job %d takes no more input: %s", p.j.id, p.queue.closed)
	case p.j.stdin == nil:
		return p.noInput()
	case in.IfWaiting != "" && (p.j.waitingFor == nil || p.j.waitingFor.ID != in.IfWaiting || p.queue.typed()):
		return p.notExpected(in.IfWaiting)
	}
	return nil
}

// notExpected returns the error for input that was meant for a wait for input that is over.
func (p *inputPart) notExpected(id string) *Error {
	why := "that wait is over, and no other wait is known"
	switch now := p.j.waitingFor; {
	case p.j.looker == nil:
		why = "this server cannot detect waits of this job, so they have no ids"
	case now != nil && now.ID == id:
		why = "other input is on its way to it"
	case now != nil:
		why = "that wait is over; the current one is " + now.ID
	}
	e := errorf(CodeInputNotExpected, "job %d does not wait for input as %q: %s; check the job, or send the input without ifWaiting", p.j.id, id, why)
	e.Handle = p.j.id
	return e
}

// composeLine adds the terminal's end-of-file character if eof is set. It refuses a line that the kernel would truncate
// silently.
func (p *inputPart) composeLine(t *typing, eof bool, attrs proc.Attrs) (partial int, refusal *Error) {
	partial, longest := lineLengths(t.data, p.queue.partial, attrs)
	if attrs.Canonical && longest > proc.CanonicalLineLimit {
		e := errorf(CodeLineTooLong, "a line of %d bytes is over the terminal's limit of %d, and the kernel would drop its end; send shorter lines, or start the job in pipe mode", longest, proc.CanonicalLineLimit)
		e.Handle, e.Max, e.Length = p.j.id, proc.CanonicalLineLimit, int64(longest)
		return 0, e
	}
	if !attrs.Canonical {
		partial = 0 // the program reads single characters, so there is no partial line
	}
	if eof {
		char := attrs.EOF
		if char == 0 {
			char = 4 // Ctrl-D, if the program has switched the character off
		}
		t.add(char)
		if partial > 0 {
			t.add(char) // the first one only ends the partial line
		}
		partial = 0
	}
	return partial, nil
}

// checkQueue refuses input for which the queue has no room. For an input that overtakes, only the items count that it
// does not drop.
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
	return p.queueFull("job %d has %d bytes of unread input; wait until it reads, or raise limits.inputQueueBytes", p.j.id, p.queue.bytes.Load())
}

// checkSize refuses an input that is too long to be queued at any time.
func (p *inputPart) checkSize(n int) *Error {
	if limit := p.j.mgr.settings.limits.InputQueueBytes; int64(n) > limit {
		return p.queueFull("this input of at least %d bytes is over limits.inputQueueBytes (%d); send it in parts, each after the answer to the previous one", n, limit)
	}
	return nil
}

func (p *inputPart) queueFull(format string, args ...any) *Error {
	e := errorf(CodeInputQueueFull, format, args...)
	e.Handle, e.Max = p.j.id, p.j.mgr.settings.limits.InputQueueBytes
	return e
}

// beginFirst arms the wait of the first item before the item's first byte is written. It finishes items without bytes
// at once.
func (p *inputPart) beginFirst() {
	for len(p.queue.items) > 0 && !p.queue.writing {
		q := p.queue.items[0]
		if p.secrets.denyLate(q) {
			continue
		}
		p.noteTyped(q)
		if q.spec != nil && q.wait == nil {
			p.armWrite(q)
		}
		if len(p.queue.next()) > 0 || !p.queue.broken.IsZero() {
			return // handInput hands it to the writeLoop
		}
		p.finishFirst()
	}
}

func (p *inputPart) armWrite(q *queued) {
	from, _ := p.waits.origin(q.spec, FromNow) // enqueue has checked it
	q.wait = &wait{spec: q.spec, from: from, tok: q.reply.tok, typed: q.typed, afterInput: true, input: q}
	q.wait.done = func(o Outcome) {
		q.outcome = &o
		p.answerWrite(q)
	}
	q.wait.abort = func(e *Error) { p.withdraw(q, e) }
	p.waits.arm(q.wait)
	q.wait.deadline = q.deadline
}

// handInput writes the next input: what the kernel takes at once it writes itself, and it leaves the rest to the
// writeLoop. It reports whether it has written anything, so that there may be more to do.
func (p *inputPart) handInput() (wrote bool) {
	if p.j.stdin == nil || !p.queue.ready() || p.shell.blocksWrite(p.queue.items[0]) {
		return false
	}
	o := p.queue.order()
	if !o.overtake && len(o.data) <= fewBytes {
		if n, err := p.files.writeNow(p.queue.items[0], o.data); n > 0 || err != nil {
			p.onWrote(writeDone{n, err})
			return true
		}
	}
	p.queue.items[0].recorded, _ = p.files.seen(p.queue.items[0])
	p.orders <- o // does not block: the writeLoop has no other order
	p.queue.writing = true
	p.queue.writes++
	return false
}

// onWrote handles the result of a write.
func (p *inputPart) onWrote(w writeDone) {
	p.queue.writing = false
	q := p.queue.items[0]
	if !q.trigger && !q.answer {
		p.shell.noteTyped(q.data[q.written:][:w.n])
	}
	q.written += int64(w.n)
	p.queue.count(q, -int64(w.n))
	if w.n > 0 {
		p.waiting.noteInput(q.answer)
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

// finishFirst removes the first item, whose bytes the kernel has taken, and answers it.
func (p *inputPart) finishFirst() {
	q := p.queue.items[0]
	p.queue.remove(0)
	if q.close && p.j.stdin != nil {
		_ = p.j.stdin.Close() // Best effort: the program sees the end of its input.
		p.j.stdin = nil
	}
	if q.end != nil {
		p.withdraw(q, q.end)
		return
	}
	p.answerWrite(q)
}

// answerWrite answers an item once its bytes are taken and its wait, if any, is over.
func (p *inputPart) answerWrite(q *queued) {
	if int(q.written) == len(q.data) && (q.spec == nil || q.outcome != nil) {
		q.reply.ok(WriteResult{q.written, q.outcome})
	}
}

// withdraw answers an item with an error that contains the number of bytes written. An item that the writeLoop has is
// answered when the writeLoop returns it.
func (p *inputPart) withdraw(q *queued, err *Error) {
	p.j.lock.Check()
	if p.queue.writing && p.queue.items[0] == q {
		q.end = err
		p.interrupt()
		return
	}
	p.takeOut(q)
	told, n := *err, q.written // err may go to other requests too
	told.BytesWritten = &n
	if q.outcome != nil && told.Outcome == nil {
		told.Outcome = q.outcome
	}
	q.reply.fail(&told)
}

// partialAfter returns the length of the partial line after an input that was not written completely.
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

// takeOut removes an item from the queue, if it is there, and undoes the effects that it would have had on the queue's
// state. The writeLoop must not have the item.
func (p *inputPart) takeOut(q *queued) {
	i := slices.Index(p.queue.items, q)
	if i < 0 {
		return
	}
	if q.close {
		p.queue.closed = "" // the item had not closed it yet
	}
	if i == len(p.queue.items)-1 && int(q.written) < len(q.data) {
		p.queue.partial = p.partialAfter(q)
	}
	p.queue.remove(i)
}

// interrupt makes the writeLoop return the item that it has. If the input is closed, the writeLoop does so by itself.
func (p *inputPart) interrupt() {
	if p.j.stdin != nil {
		p.j.stdin.Interrupt(p.queue.writes)
	}
}

// fail answers all queued items when the loop ends.
func (p *inputPart) fail(err *Error) {
	for i, q := range p.queue.items {
		q.reply.fail(err)
		if q.secret && !(i == 0 && p.queue.writing) {
			clear(q.data)
		}
	}
	p.queue.items = nil
}

// cancel withdraws a write. A write with an armed wait is withdrawn together with the wait.
func (p *inputPart) cancel(tok *token) bool {
	for _, q := range p.queue.items {
		if q.reply.tok == tok && q.end == nil && !p.waits.isArmed(q.wait) {
			p.withdraw(q, p.j.canceled())
			return true
		}
	}
	return false
}

// dropInput withdraws all queued items, each with an error of its own. The item that the writeLoop has may already be
// written, such as an interrupt key that ended the job. It is then answered as written.
func (p *inputPart) dropInput(why func() *Error) { p.dropItems(slices.Clone(p.queue.items), why) }

// dropItems does the same as dropInput for some of the items. The caller must own the slice.
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

// drop withdraws an item and its wait.
func (p *inputPart) drop(q *queued, err *Error) {
	if p.waits.drop(q.wait) {
		reason := "exit"
		if err.Code == CodeCanceled {
			reason = "canceled"
		}
		err.withOutcome(p.waits.outcome(q.wait, reason, -1))
	}
	p.withdraw(q, err)
}

// brokenTime is how long input without a reader waits for the leader's end. A process that ends closes its descriptors
// before its end can be reported. So the kernel's error that the input has no reader usually comes first, but the
// client needs to know of the end and its status.
const brokenTime = 100 * time.Millisecond

// inputBroken notes that the input has no reader any more.
func (p *inputPart) inputBroken(err error) {
	p.j.log.Debug("input broken", "job", p.j.id, "error", err)
	p.queue.broken = time.Now()
}

// review gives up input whose deadline has passed. It also gives up input without a reader if the leader lives on. It
// then begins the item that is first.
func (p *inputPart) review(now time.Time) {
	p.reviewExpiry(now)
	if !p.queue.broken.IsZero() && len(p.queue.items) > 0 && !now.Before(p.queue.broken.Add(brokenTime)) {
		const why = "the program has closed its standard input"
		p.dropInput(func() *Error { return p.j.notInteractive("job %d takes no more input: %s", p.j.id, why) })
		p.queue.closed = why
	}
	p.beginFirst()
}

// due returns when the deadline of an input passes, or when input without a reader is given up.
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

func (p *inputPart) isOpen() bool { return p.queue.closed == "" }

// typeAnswer puts the terminal's answer to a query into the queue, at a place where it does no harm. It returns false if
// there is no room for it. If full is set, an answer was dropped, and there is no room as long as others wait.
func (p *inputPart) typeAnswer(data []byte, attrs proc.Attrs, full bool) bool {
	q := &p.queue
	i := q.afterFirst()
	full = full && q.answers > 0
	if full || q.answers+len(data) > mostAnswers || !q.fits(data, i, attrs) {
		return false
	}
	q.answers += len(data)
	if i > 0 && q.items[i-1].answer && !(i == 1 && q.writing) {
		q.items[i-1].data = append(q.items[i-1].data, data...)
	} else {
		q.insert(i, &queued{data: data, answer: true, before: q.partialAt(i), reply: newReply[WriteResult]()})
		i++
	}
	q.answered(data, i, attrs)
	return true
}

func (p *inputPart) isWriting() bool { return p.queue.writing }

// onWritten handles the result of a write by the writeLoop, which may have taken long.
func (p *inputPart) onWritten(w writeDone) {
	if q := p.queue.items[0]; w.n > 0 && q.recorded {
		p.files.recordWritten(q, q.data[q.written:][:w.n])
	}
	p.onWrote(w)
}

// first returns the item that is first in the queue, or nil.
func (p *inputPart) first() *queued {
	if len(p.queue.items) == 0 {
		return nil
	}
	return p.queue.items[0]
}

// isTyped reports whether a client has typed input that is not written yet.
func (p *inputPart) isTyped() bool { return p.queue.typed() }

// owesAnswer reports whether the terminal's answer to a query is not written yet.
func (p *inputPart) owesAnswer() bool { return p.queue.answers > 0 }

// typeTrigger types the server's own keys, before all other input that waits.
func (p *inputPart) typeTrigger(keys []byte) {
	q := &queued{data: keys, trigger: true, reply: newReply[WriteResult]()}
	p.queue.insert(p.queue.afterFirst(), q)
	p.queue.bytes.Add(int64(len(q.data)))
}

func (p *inputPart) hasTrigger() bool {
	return slices.ContainsFunc(p.queue.items, func(q *queued) bool { return q.trigger })
}
