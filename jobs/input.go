package jobs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"shelld/jobs/internal/proc"
	"shelld/screen"
)

// An Input is what a client types: the text, then the keys, then the line end, then
// the end of input.
type Input struct {
	Text          string
	Keys          []string
	AppendNewline bool // CR on a terminal, LF on a pipe
	EOF           bool // closes a pipe; types the end-of-file character on a terminal
	Wait          *WaitSpec
}

// A WriteResult says what the kernel has taken, and how the wait ended.
type WriteResult struct {
	BytesWritten int64
	Outcome      *Outcome
}

// Write queues input behind what is queued already. *Error at once if a pattern of
// its wait does not compile.
func (j *Job) Write(in Input) (Pending[WriteResult], *Error) {
	if err := in.Wait.compile(); err != nil {
		return Pending[WriteResult]{}, err
	}
	r := newReply[WriteResult]()
	j.post(writeMsg{in, r})
	return pend(j, r), nil
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

	begun bool        // its first byte was about to be written
	typed *typedInput // what was known of it then; nil = nobody echoes it
}

// An inputQueue is what was not yet written. Only its first item is on its way.
type inputQueue struct {
	items   []*queued
	bytes   int64     // in items, not yet written
	writing bool      // the writeLoop has the first item
	writes  uint64    // handed to the writeLoop so far
	closed  string    // why nothing more can be written; "" = it can
	broken  time.Time // when the kernel said that nobody reads; zero: it has not
	partial int       // bytes typed since the last line end, counting what is queued
}

// ready says whether there is something to hand to the writeLoop.
func (q *inputQueue) ready() bool { return !q.writing && q.broken.IsZero() && len(q.next()) > 0 }

func (q *inputQueue) next() []byte {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0].data[q.items[0].written:]
}

// remove takes item i out.
func (q *inputQueue) remove(i int) {
	q.bytes -= int64(len(q.items[i].data)) - q.items[i].written
	q.items = slices.Delete(q.items, i, i+1)
}

func (j *Job) onWrite(m writeMsg) {
	data, partial, err := j.compose(m.in)
	if err == nil {
		err = j.checkQueue(data)
	}
	if err == nil && m.in.Wait != nil {
		_, err = j.origin(m.in.Wait, FromNow)
	}
	if err != nil {
		m.reply.fail(err)
		return
	}
	q := &queued{data: data, close: m.in.EOF && j.term == nil, spec: m.in.Wait, reply: m.reply, before: j.queue.partial}
	j.queue.partial = partial
	if q.close {
		j.queue.closed = "its standard input was closed by an earlier eof"
	}
	j.queue.items = append(j.queue.items, q)
	j.queue.bytes += int64(len(data))
	j.beginFirst()
}

// compose turns an Input into the bytes to send, or says why it cannot be sent, and
// says how much of a line is then typed.
func (j *Job) compose(in Input) (data []byte, partial int, refusal *Error) {
	if err := j.writable(in); err != nil {
		return nil, 0, err
	}
	data = []byte(in.Text)
	keys, err := screen.Encode(in.Keys, j.modes())
	if err != nil {
		e := errorf(CodeInvalidKey, "%v; nothing was sent", err)
		e.Valid, e.Name = screen.KeyNames(), badKey(in.Keys)
		return nil, 0, e
	}
	data = append(data, keys...)
	if j.term == nil {
		if in.AppendNewline {
			data = append(data, '\n')
		}
		return data, 0, nil
	}
	if in.AppendNewline {
		data = append(data, '\r')
	}
	return j.composeLine(data, in.EOF)
}

// badKey is the first of the names that there is no key for.
func badKey(names []string) string {
	for _, n := range names {
		if _, err := screen.Encode([]string{n}, screen.Modes{}); err != nil {
			return n
		}
	}
	return ""
}

// writable refuses input that nothing would take.
func (j *Job) writable(in Input) *Error {
	switch {
	case j.st.exit != nil:
		e := errorf(CodeJobExited, "job %d %s; start it again to write to it", j.id, exitText(j.st.exit))
		e.Handle, e.Exit = j.id, j.st.exit
		return e
	case j.closing:
		return errorf(CodeShuttingDown, "the server is shutting down; job %d takes no more input", j.id)
	case j.queue.closed != "":
		return j.notInteractive("job %d takes no more input: %s", j.id, j.queue.closed)
	case j.input == nil:
		return j.noInput()
	case j.term == nil && len(in.Keys) > 0:
		return j.notInteractive("job %d has a pipe and no terminal: send text, or start it in pty mode to press keys", j.id)
	}
	return nil
}

func (j *Job) notInteractive(format string, args ...any) *Error {
	e := errorf(CodeNotInteractive, format, args...)
	e.Handle = j.id
	return e
}

// composeLine adds the terminal's end-of-file character where it was asked for, and
// refuses a line that the kernel would cut short without a word.
func (j *Job) composeLine(data []byte, eof bool) ([]byte, int, *Error) {
	attrs, err := j.term.Attrs()
	if err != nil {
		return nil, 0, errorf(CodeInternal, "the terminal of job %d cannot be asked for its modes: %v", j.id, err)
	}
	partial, longest := lineLengths(data, j.queue.partial, attrs)
	if attrs.Canonical && longest > proc.CanonicalLineLimit {
		e := errorf(CodeLineTooLong, "a line of %d bytes is over the terminal's limit of %d, whose end the kernel would drop; send shorter lines, or start the job in pipe mode", longest, proc.CanonicalLineLimit)
		e.Handle, e.Max = j.id, proc.CanonicalLineLimit
		return nil, 0, e
	}
	if !attrs.Canonical {
		partial = 0 // the program reads characters: no line is begun
	}
	if eof {
		char := attrs.EOF
		if char == 0 {
			char = 4 // Ctrl-D, where the program has switched the character off
		}
		data = append(data, char)
		if partial > 0 {
			data = append(data, char) // the first one only ends the partial line
		}
		partial = 0
	}
	return data, partial, nil
}

// lineLengths follows data, typed behind partial bytes of a line, and returns what
// is on the last line and the longest line, without its end.
func lineLengths(data []byte, partial int, a proc.Attrs) (last, longest int) {
	for _, c := range data {
		switch {
		case c == '\n', c == '\r' && a.CRToNL, c == a.EOF && c != 0, c == a.EOL && c != 0:
			partial = 0
		case c != 0 && a.Canonical && c == a.Kill, c != 0 && a.Signals && (c == a.Intr || c == a.Quit || c == a.Susp):
			partial = 0 // the line is thrown away
		case c != 0 && a.Canonical && c == a.Erase:
			partial = max(partial-1, 0)
		default:
			partial++
			longest = max(longest, partial)
		}
	}
	return partial, longest
}

func (j *Job) checkQueue(data []byte) *Error {
	if limit := j.mgr.limits.InputQueueBytes; j.queue.bytes+int64(len(data)) > limit {
		e := errorf(CodeInputQueueFull, "job %d has %d bytes of input that it has not read; wait until it reads, or raise limits.inputQueueBytes", j.id, j.queue.bytes)
		if int64(len(data)) > limit {
			e.Message = fmt.Sprintf("this input of %d bytes is over limits.inputQueueBytes (%d); send it in parts, each when the one before is answered", len(data), limit)
		}
		e.Handle, e.Max = j.id, limit
		return e
	}
	return nil
}

// beginFirst arms the wait of the item that is now first, before its first byte is
// written. Items that have no bytes are over at once.
func (j *Job) beginFirst() {
	for len(j.queue.items) > 0 && !j.queue.writing {
		q := j.queue.items[0]
		j.noteTyped(q)
		if q.spec != nil && q.wait == nil {
			j.armWrite(q)
		}
		if len(j.queue.next()) > 0 || !j.queue.broken.IsZero() {
			return // inputReady offers it to the writeLoop
		}
		j.finishFirst()
	}
}

func (j *Job) armWrite(q *queued) {
	from, _ := j.origin(q.spec, FromNow) // onWrite has seen that it holds
	q.wait = &wait{spec: q.spec, from: from, tok: q.reply.tok, typed: q.typed, afterInput: true}
	q.wait.done = func(o Outcome) {
		q.outcome = &o
		j.answerWrite(q)
	}
	q.wait.abort = func(e *Error) { j.withdraw(q, e) }
	j.arm(q.wait)
}

// onWrote takes the writeLoop's report.
func (j *Job) onWrote(w writeDone) {
	j.queue.writing = false
	q := j.queue.items[0]
	q.written += int64(w.n)
	j.queue.bytes -= int64(w.n)
	switch {
	case int(q.written) == len(q.data):
		j.finishFirst()
	case q.end != nil:
		j.withdraw(q, q.end)
	case q.short != nil:
		j.drop(q, q.short)
	case w.err != nil && !errors.Is(w.err, proc.ErrInterrupted):
		j.inputBroken(w.err)
	}
	j.beginFirst()
}

// finishFirst is done with the first item, whose bytes the kernel has taken.
func (j *Job) finishFirst() {
	q := j.queue.items[0]
	j.queue.remove(0)
	if q.close && j.input != nil {
		_ = j.input.Close() // Best effort: the program sees the end of its input.
		j.input = nil
	}
	if q.end != nil {
		j.withdraw(q, q.end)
		return
	}
	j.answerWrite(q)
}

// answerWrite answers once the bytes are taken and the wait, if any, is over.
func (j *Job) answerWrite(q *queued) {
	if int(q.written) == len(q.data) && (q.spec == nil || q.outcome != nil) {
		q.reply.ok(WriteResult{q.written, q.outcome})
	}
}

// withdraw answers an item with an error that says how much of it was written. One
// that the writeLoop has is answered when that is back.
func (j *Job) withdraw(q *queued, err *Error) {
	i := slices.Index(j.queue.items, q)
	if i == 0 && j.queue.writing {
		q.end = err
		j.interrupt()
		return
	}
	if i >= 0 {
		if q.close {
			j.queue.closed = "" // it was not
		}
		if i == len(j.queue.items)-1 && q.written == 0 {
			j.queue.partial = q.before
		}
		j.queue.remove(i)
	}
	n := q.written
	err.BytesWritten = &n
	if q.outcome != nil && err.Outcome == nil {
		err.Outcome = q.outcome
	}
	q.reply.fail(err)
}

// interrupt makes the writeLoop give back what it has. Where the input is closed it
// does so by itself.
func (j *Job) interrupt() {
	if j.input != nil {
		j.input.Interrupt(j.queue.writes)
	}
}

// cancelWrite withdraws a write that has no wait armed.
func (j *Job) cancelWrite(tok *token) {
	for _, q := range j.queue.items {
		if q.reply.tok == tok && q.end == nil {
			j.withdraw(q, j.canceled())
			return
		}
	}
}

// dropInput withdraws everything that is queued, each with an error of its own. The
// item that the writeLoop has may turn out to be written already, as an interrupt
// key is that ended the job; then it is answered as such.
func (j *Job) dropInput(why func() *Error) {
	for i, q := range slices.Backward(slices.Clone(j.queue.items)) {
		if i == 0 && j.queue.writing {
			if q.short == nil {
				q.short = why()
			}
			j.interrupt()
			continue
		}
		j.drop(q, why())
	}
}

// drop withdraws an item, and its wait with it.
func (j *Job) drop(q *queued, err *Error) {
	if i := slices.Index(j.waits, q.wait); q.wait != nil && i >= 0 {
		j.waits = slices.Delete(j.waits, i, i+1)
		j.disarm(q.wait)
		err.withOutcome(j.outcome(q.wait, "exit", -1))
	}
	j.withdraw(q, err)
}

// brokenTime is how long input that nobody reads any more waits for the leader's
// end. A process that ends closes its descriptors before anybody can be told that
// it has ended, so the kernel's word that nobody reads is mostly the first of the
// two, and the end, with its status, what a client wants to hear of.
const brokenTime = 100 * time.Millisecond

// inputBroken is told that nobody reads the input any more.
func (j *Job) inputBroken(err error) {
	j.log.Debug("input broken", "job", j.id, "error", err)
	j.queue.broken = time.Now()
}

// reviewInput gives up input that nobody reads, where the leader lives on.
func (j *Job) reviewInput(now time.Time) {
	if j.queue.broken.IsZero() || len(j.queue.items) == 0 || now.Before(j.queue.broken.Add(brokenTime)) {
		return
	}
	j.queue.closed = "the program has closed its standard input"
	j.dropInput(func() *Error {
		return j.notInteractive("job %d takes no more input: %s", j.id, j.queue.closed)
	})
}
