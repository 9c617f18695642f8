package jobs

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"shelld.dev/shelld/jobs/internal/plain"
	"shelld.dev/shelld/screen"
)

// Two requests need to know once whether a job waits for input: job/get, and a write that is meant for one wait
// alone. Both wait for a probe that begins after the request.

// An infoWait is a job/get that waits for a probe.
type infoWait struct {
	asked infoMsg
	info  Info      // the rest of the answer
	need  int       // number of the probe
	until time.Time // deadline: then it is answered from the known state
	knows time.Time // when a later probe can be certain; zero: the first probe is
}

// A heldWrite is a write that waits for a probe, or for another held write before it.
type heldWrite struct {
	msg   writeMsg
	need  int       // number of the probe; 0: none
	until time.Time // deadline: then it is refused, or answered if timed; zero: none
	timed bool      // the deadline is that of its own wait
}

// confirmTime bounds how long a write waits for a probe that sees the wait that it is meant for. One probe is
// enough, unless output never pauses.
const confirmTime = time.Second

// soon bounds how long a job/get waits for a probe that is certain. If the first probe could not decide, a later
// one nearly always can within this time. A probe that does not return delays the answer by no more than this.
const soon = 300 * time.Millisecond

// answerLookedAt answers a job/get as soon as it is known whether the job waits for input.
func (p *waitingPart) answerLookedAt(m infoMsg, info Info) {
	if !p.j.canWait() {
		info.Waiting = p.nowWaiting()
		m.reply.ok(info)
		return
	}
	p.watch.infos = append(p.watch.infos, infoWait{asked: m, info: info, need: p.needLook(), until: time.Now().Add(soon)})
}

// answerLooked answers each job/get for which the probes are done or the time is over, and goes on with the held
// writes.
func (p *waitingPart) answerLooked(now time.Time) {
	l := &p.watch
	can := p.j.canWait()
	infos := l.infos
	l.infos = nil
	for _, i := range infos {
		behind, unknown := i.need > l.looked, p.j.waitingFor == nil && l.again > 0
		if !behind && unknown && i.knows.IsZero() {
			i.knows = now.Add(l.again)
		}
		unknown = unknown && l.lookedAt.Before(i.knows) || !l.doubt.IsZero()
		switch {
		case can && now.Before(i.until) && (behind || unknown):
			l.infos = append(l.infos, i)
		case can && behind:
			i.info.Waiting = &WaitingForInput{Why: fmt.Sprintf("the probe of what it is blocked on has not finished within %v", soon)}
			i.asked.reply.ok(i.info)
		default:
			i.info.Waiting = p.nowWaiting()
			i.asked.reply.ok(i.info)
		}
	}
	p.writeHeld(now)
}

// infosUntil returns the earliest deadline of a job/get that waits for a probe; zero: none waits.
func (p *waitingPart) infosUntil() (t time.Time) {
	for _, i := range p.watch.infos {
		t = earliest(t, i.until)
	}
	return t
}

// cancelInfo cancels a job/get that waits for a probe. It reports whether there is one with this token.
func (p *waitingPart) cancelInfo(tok *token) bool {
	l := &p.watch
	i := slices.IndexFunc(l.infos, func(i infoWait) bool { return i.asked.reply.tok == tok })
	if i < 0 {
		return false
	}
	asked := l.infos[i].asked
	l.infos = slices.Delete(l.infos, i, i+1)
	asked.fail(p.j.canceled())
	return true
}

// nowWaiting returns the known wait for input, or the reason why none is known; nil if the job cannot wait for
// input, for example because it has ended.
func (p *waitingPart) nowWaiting() *WaitingForInput {
	switch l := &p.watch; {
	case p.j.stdin == nil && p.j.st.exit == nil && p.j.term == nil:
		return &WaitingForInput{Why: "input is impossible: its standard input is closed, or not a pipe of the server"}
	case !p.j.canWait():
		return nil
	case p.j.waitingFor != nil:
		return p.j.waitingFor
	default:
		return &WaitingForInput{Why: l.not}
	}
}

// holdWrite holds a write until it is known whether the wait that it answers is over, and also any write behind a
// held one, except a signal key. It returns false if the write need not be held.
func (p *waitingPart) holdWrite(m writeMsg) bool {
	l := &p.watch
	need := 0
	if m.in.IfWaiting != "" && p.j.canWait() {
		need = p.needLook()
	}
	if need == 0 && (len(l.writeQ) == 0 || p.interrupts(m.in)) {
		return false
	}
	h := heldWrite{msg: m, need: need}
	if need > 0 {
		h.until = time.Now().Add(confirmTime)
	}
	if w := m.in.Wait; w != nil && w.Timeout >= 0 {
		// A timeout of zero asks for the present state, which takes a probe.
		if until := m.at.Add(max(w.Timeout, partingTime)); h.until.IsZero() || until.Before(h.until) {
			h.until, h.timed = until, true
		}
	}
	l.writeQ = append(l.writeQ, h)
	return true
}

// interrupts reports whether an input begins with a signal key, which overtakes all other input.
func (p *waitingPart) interrupts(in Input) bool {
	if p.j.term == nil {
		return false
	}
	q, _, err := p.writes.compose(in)
	if q != nil {
		clear(q.data) // echo may be off
	}
	return err == nil && q.overtakes
}

// writeHeld queues the held writes that need not wait any longer, in their order, and answers those whose deadline
// has passed.
func (p *waitingPart) writeHeld(now time.Time) {
	l := &p.watch
	for before := -1; before != len(l.writeQ); {
		before = len(l.writeQ)
		p.releaseHeld()
		l.writeQ = slices.DeleteFunc(l.writeQ, func(h heldWrite) bool {
			if h.until.IsZero() || now.Before(h.until) {
				return false
			}
			p.giveUpHeld(h)
			return true
		})
	}
}

// releaseHeld queues held writes from the front until one still has to wait for its probe.
func (p *waitingPart) releaseHeld() {
	l := &p.watch
	for len(l.writeQ) > 0 {
		h := l.writeQ[0]
		over := p.j.waitingFor == nil || p.j.waitingFor.ID != h.msg.in.IfWaiting
		if p.j.canWait() && h.need > l.ofTaken && (h.need > l.looked || !over) {
			return
		}
		l.writeQ = l.writeQ[1:]
		p.writes.enqueue(h.msg) // It refuses the write if the wait is over.
	}
}

// giveUpHeld answers a held write whose deadline has passed: with the outcome of its wait if it is timed, and
// otherwise with an error.
func (p *waitingPart) giveUpHeld(h heldWrite) {
	if h.timed {
		from, err := p.waits.origin(h.msg.in.Wait, FromNow)
		if err != nil {
			h.msg.fail(err)
			return
		}
		h.msg.in.wipe()
		h.msg.reply.ok(WriteResult{0, ptr(p.waits.outcome(&wait{spec: h.msg.in.Wait, from: from}, "timeout", -1))})
		return
	}
	if h.msg.in.person {
		p.askAgain()
	}
	h.msg.fail(p.notSeen(h.msg.in.IfWaiting))
}

// notSeen returns the error for a write if no probe has shown that the wait that it is meant for goes on.
func (p *waitingPart) notSeen(id string) *Error {
	e := errorf(CodeInputNotExpected, "it could not be determined whether job %d still waits for input as %q within %v: %s; check the job, or send the input without ifWaiting", p.j.id, id, confirmTime, cmp.Or(p.watch.not, "output is still coming"))
	e.Handle = p.j.id
	return e
}

// heldUntil returns the earliest deadline of a held write; zero: there is none.
func (p *waitingPart) heldUntil() (t time.Time) {
	for _, h := range p.watch.writeQ {
		t = earliest(t, h.until)
	}
	return t
}

// cancelHeld cancels a held write. It reports whether there is one with this token.
func (p *waitingPart) cancelHeld(tok *token) bool {
	l := &p.watch
	for i, h := range l.writeQ {
		if h.msg.reply.tok == tok {
			l.writeQ = append(l.writeQ[:i:i], l.writeQ[i+1:]...)
			h.msg.fail(p.j.canceled())
			return true
		}
	}
	return false
}

// fail answers all requests that wait for a probe that will not come: each job/get without the wait for input, and
// each write with err.
func (p *waitingPart) fail(err *Error) {
	l := &p.watch
	for _, i := range l.infos {
		i.asked.reply.ok(i.info)
	}
	for _, h := range l.writeQ {
		h.msg.fail(err)
	}
	l.infos, l.writeQ = nil, nil
}

// asksInput reports whether a request that times out must still wait for its last probe, and requests that probe
// on the first call.
func (p *waitingPart) asksInput(l *parting, now time.Time) bool {
	if !p.j.canWait() {
		return false
	}
	if l.number == 0 {
		l.number, l.until = p.needLook(), now.Add(partingTime)
	}
	return p.watch.looked < l.number && now.Before(l.until)
}

const (
	promptBytes = 8 << 10 // bytes of output that are searched for the prompt
	promptRunes = 1 << 10 // maximum length of the reported prompt
	promptWork  = 4 << 20 // work limit for drawing it on a screen: some milliseconds
)

// promptReader returns a function that reads the line with the cursor, as a person sees it, and reports whether
// that is another line than it was at the offset since. The function may run in any goroutine. On a full screen it
// reads the drawn screen, on the normal screen of a terminal it draws the last output, and for pipes it takes the
// last line of the output; on a full screen and for pipes it always reports another line.
func (p *waitingPart) promptReader(since int64) func() (line string, moved bool) {
	switch {
	case p.j.heard == nil:
		return func() (string, bool) { return p.lastLine(), true }
	case p.j.modes().AlternateScreen:
		v, end := p.display.theView(), p.j.End(PTY)
		return func() (string, bool) { return cursorLine(v.Show(end, 0, nil).Snapshot), true }
	}
	st, cols, rows := p.j.output.stream(PTY), p.j.info.Cols, p.j.info.Rows
	return func() (string, bool) { return st.drawnLine(cols, rows, since) }
}

// drawnLine returns the line with the cursor on the normal screen, and reports whether it is another line than at
// the offset since. It draws only the last promptBytes of the output, which contain the visible prompt. If since
// lies before them, or drawing takes too much work, it reports another line.
func (s *stream) drawnLine(cols, rows int, since int64) (line string, moved bool) {
	defer func() {
		if recover() != nil { // If drawing panics, use the text of the last line. A view would start again.
			line, moved = s.lastLine(), true
		}
	}()
	b, end := s.tail(promptBytes)
	b = fromLineOrEscape(b)
	t := screen.NewTerminal(cols, rows, 0)
	old := len(b) - int(min(end-since, int64(len(b))))
	n := t.WriteSome(b[:old], promptWork)
	was := t.CursorLine()
	t.WriteSome(b[n:], promptWork)
	return cursorLine(t.Snapshot(0)), old == 0 || n < old || was != t.CursorLine()
}

// cursorLine returns the line with the cursor up to the cursor's row. The line may take several rows.
func cursorLine(s *screen.Snapshot) string {
	if s == nil || s.Cursor.Row >= len(s.Lines) {
		return ""
	}
	first, text := s.Cursor.Row, ""
	for first > 0 && s.Lines[first-1].Wrapped {
		first--
	}
	for _, l := range s.Lines[first : s.Cursor.Row+1] {
		if l.Wrapped {
			text += l.FullText()
		} else {
			text += l.Text()
		}
	}
	return shortLine(text)
}

// fromLineOrEscape cuts off everything before the first line feed or escape, which may be the end of a line or of
// an escape sequence. Output shorter than promptBytes is complete and returned unchanged.
func fromLineOrEscape(b []byte) []byte {
	if len(b) < promptBytes {
		return b
	}
	if i := bytes.IndexAny(b, "\n\x1b"); i >= 0 {
		return b[i:]
	}
	return b
}

// tail returns up to most bytes from the end of the output, and the offset at which they end.
func (s *stream) tail(most int64) (b []byte, end int64) {
	end = s.spool.End()
	b = make([]byte, min(end, most))
	n, at := s.spool.Read(b, end-int64(len(b)))
	return b[:n], at + int64(n)
}

func (s *stream) lastLine() string {
	b, _ := s.tail(promptBytes)
	lines := plain.Text(b)
	return shortLine(lines[strings.LastIndexByte(lines, '\n')+1:])
}

// lastLine returns the incomplete last line of output to pipes: that of the stream that was written last or, if it
// has none, that of the other one.
func (p *waitingPart) lastLine() (line string) {
	streams := slices.Clone(p.j.output.streams)
	slices.SortStableFunc(streams, func(a, b *stream) int { return cmp.Compare(b.last.Load(), a.last.Load()) })
	for _, st := range streams {
		if line = st.lastLine(); line != "" {
			break
		}
	}
	return line
}

func shortLine(line string) string {
	line = strings.TrimRight(line, " \t")
	if utf8.RuneCountInString(line) > promptRunes {
		line = string([]rune(line)[:promptRunes])
	}
	return line
}

// due returns when the next probe begins, the next report is due, or the deadline of a request that waits for a
// probe passes.
func (p *waitingPart) due(time.Time) (t time.Time) {
	for _, at := range []time.Time{p.lookAt(), p.heldUntil(), p.infosUntil(), p.tellAt(), p.hiddenAt(), p.storeLookAt()} {
		t = earliest(t, at)
	}
	return t
}

func (p *waitingPart) cancel(tok *token) bool { return p.cancelInfo(tok) || p.cancelHeld(tok) }

func (p *waitingPart) pending() int { return len(p.watch.infos) + len(p.watch.writeQ) }

// dropHeld drops the writes that are held back until a probe, except other signal keys. It is called for a key that
// came after all of them.
func (p *waitingPart) dropHeld(why func() *Error) {
	p.dropHeldIf(func(h *heldWrite) bool { return !p.interrupts(h.msg.in) }, why)
}

func (p *waitingPart) dropHeldIf(drop func(*heldWrite) bool, why func() *Error) {
	p.watch.writeQ = slices.DeleteFunc(p.watch.writeQ, func(h heldWrite) bool {
		if !drop(&h) {
			return false
		}
		h.msg.fail(why())
		return true
	})
}

// dropOthers drops the writes of others that wait for a probe.
func (p *waitingPart) dropOthers(holder string, why func() *Error) {
	p.dropHeldIf(func(h *heldWrite) bool { return isOthers(h.msg.in.Owner, holder) }, why)
}
