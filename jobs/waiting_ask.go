package jobs

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"shelld/screen"
)

// Who wants to know once whether a job waits for input: job/get, and a write that is meant
// for one wait alone. Both wait for a look that begins after them.

// An infoWait is a job/get that waits for a look.
type infoWait struct {
	asked infoMsg
	info  Info      // what else is answered
	need  int       // the look
	until time.Time // when it is answered with what is known
	knows time.Time // when a look will know what the first one could not know yet; zero: it has
}

// A heldWrite is a write that waits for a look, or behind one that does.
type heldWrite struct {
	msg   writeMsg
	need  int       // 0: none
	until time.Time // when it is answered, if none has seen the wait by then; zero: never
	timed bool      // its own time is over then
}

// confirmTime bounds how long a write waits for a look that sees the wait that it is for.
// One is enough, unless output comes without end.
const confirmTime = time.Second

// soon is the longest for which a job/get waits for a look that knows. Where the first one could
// not know yet, nearly all that can be known is by then; and one that does not come back keeps
// nobody waiting.
const soon = 300 * time.Millisecond

// answerLookedAt answers a job/get, once it is known whether the job waits for input.
func (p *waitingPart) answerLookedAt(m infoMsg, info Info) {
	if !p.canWait() {
		info.Waiting = p.nowWaiting()
		m.reply.ok(info)
		return
	}
	p.watch.infos = append(p.watch.infos, infoWait{asked: m, info: info, need: p.needLook(), until: time.Now().Add(soon)})
}

// answerLooked answers those for whom enough was looked at.
func (p *waitingPart) answerLooked(now time.Time) {
	l := &p.watch
	can := p.canWait()
	infos := l.infos
	l.infos = nil
	for _, i := range infos {
		behind, unknown := i.need > l.looked, l.now == nil && l.again > 0
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

// infosUntil is when a job/get waits for no look any more; zero: none waits.
func (p *waitingPart) infosUntil() (t time.Time) {
	for _, i := range p.watch.infos {
		t = earliest(t, i.until)
	}
	return t
}

// cancelInfo withdraws a job/get that waits for a look.
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

// nowWaiting is what a look has just found, or why none could be taken; nil where there is
// nothing to be said.
func (p *waitingPart) nowWaiting() *WaitingForInput {
	switch l := &p.watch; {
	case p.j.input.to == nil && p.j.st.exit == nil && p.j.term == nil:
		return &WaitingForInput{Why: "input is impossible: its standard input is closed, or not a pipe of the server"}
	case !p.canWait():
		return nil
	case l.now != nil:
		return l.now
	default:
		return &WaitingForInput{Why: l.not}
	}
}

// holdWrite keeps a write back until it is known whether the wait that it answers is
// over, and those behind it. It returns false for one that need not wait.
func (p *waitingPart) holdWrite(m writeMsg) bool {
	l := &p.watch
	need := 0
	if m.in.IfWaiting != "" && p.canWait() {
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
		// With no time at all it is asked what is the case, and that takes a look.
		if until := m.at.Add(max(w.Timeout, partingTime)); h.until.IsZero() || until.Before(h.until) {
			h.until, h.timed = until, true
		}
	}
	l.writeQ = append(l.writeQ, h)
	return true
}

// interrupts says whether an input begins with a signal key, which waits for nothing.
func (p *waitingPart) interrupts(in Input) bool {
	if p.j.term == nil {
		return false
	}
	q, _, err := p.j.input.compose(in)
	if q != nil {
		clear(q.data) // echo may be off
	}
	return err == nil && q.overtakes
}

// writeHeld goes on with writes that wait no longer, in their order.
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

// releaseHeld queues those for which enough was looked at, and before which none is held.
func (p *waitingPart) releaseHeld() {
	l := &p.watch
	for len(l.writeQ) > 0 {
		h := l.writeQ[0]
		over := l.now == nil || l.now.ID != h.msg.in.IfWaiting
		if p.canWait() && h.need > l.ofTaken && (h.need > l.looked || !over) {
			return
		}
		l.writeQ = l.writeQ[1:]
		p.j.input.enqueue(h.msg) // which refuses it if the wait is over
	}
}

// giveUpHeld answers a write that has waited for long enough.
func (p *waitingPart) giveUpHeld(h heldWrite) {
	if h.timed {
		from, err := p.j.waits.origin(h.msg.in.Wait, FromNow)
		if err != nil {
			h.msg.fail(err)
			return
		}
		h.msg.in.wipe()
		h.msg.reply.ok(WriteResult{0, ptr(p.j.waits.outcome(&wait{spec: h.msg.in.Wait, from: from}, "timeout", -1))})
		return
	}
	if h.msg.in.person {
		p.askAgain()
	}
	h.msg.fail(p.notSeen(h.msg.in.IfWaiting))
}

// notSeen refuses what was meant for a wait of which nobody knows whether it goes on.
func (p *waitingPart) notSeen(id string) *Error {
	e := errorf(CodeInputNotExpected, "it could not be determined whether job %d still waits for input as %q within %v: %s; check the job, or send the input without ifWaiting", p.j.id, id, confirmTime, cmp.Or(p.watch.not, "output is still coming"))
	e.Handle = p.j.id
	return e
}

// heldUntil is when a write is refused that waits for a look; zero: none is.
func (p *waitingPart) heldUntil() (t time.Time) {
	for _, h := range p.watch.writeQ {
		t = earliest(t, h.until)
	}
	return t
}

// cancelHeld withdraws a write that is held back.
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

// fail answers all who wait for a look that will not come.
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

// A parting is the last look of somebody whose time is over: what the job does then is worth to be
// known.
type parting struct {
	number int       // 0: it was not asked for
	until  time.Time // when nobody waits for it any more
}

// partingTime bounds how long an answer whose time is over waits for it.
const partingTime = 100 * time.Millisecond

// asksInput says whether one waits for its last look.
func (p *waitingPart) asksInput(l *parting, now time.Time) bool {
	if !p.canWait() {
		return false
	}
	if l.number == 0 {
		l.number, l.until = p.needLook(), now.Add(partingTime)
	}
	return p.watch.looked < l.number && now.Before(l.until)
}

// later is when one whose time is over has to be answered; zero where there is no deadline, or
// no more.
func (l *parting) later(deadline time.Time) time.Time {
	if l.number != 0 && !deadline.IsZero() {
		return l.until
	}
	return deadline
}

const (
	promptBytes = 8 << 10 // of output, in which the prompt is looked for
	promptRunes = 1 << 10 // that are told of it
	promptWork  = 4 << 20 // for a screen on which it is drawn: some milliseconds
)

// promptReader returns what reads the line on which the cursor stands, as a person sees
// it, and says whether that is another line than at an offset. It may be called in any
// goroutine. Of a full screen it is drawn, and else the last line of the output.
func (p *waitingPart) promptReader(since int64) func() (line string, moved bool) {
	switch {
	case p.j.display.heard == nil:
		return func() (string, bool) { return p.lastLine(), true }
	case p.j.display.modes().AlternateScreen:
		v, end := p.j.display.theView(), p.j.End(PTY)
		return func() (string, bool) { return cursorLine(v.Show(end, 0, nil).Snapshot), true }
	}
	st, cols, rows := p.j.output.stream(PTY), p.j.info.Cols, p.j.info.Rows
	return func() (string, bool) { return st.drawnLine(cols, rows, since) }
}

// drawnLine is the line with the cursor on the normal screen, and whether it is another one
// than at an offset. What a person sees of a prompt is drawn by the last of the output, so
// that nothing else is; of what was before that nobody can say.
func (s *stream) drawnLine(cols, rows int, since int64) (line string, moved bool) {
	defer func() {
		if recover() != nil { // as a view begins anew then
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

// cursorLine is the line with the cursor, which may take several rows.
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

// fromLineOrEscape cuts what may be the end of a line or of a sequence off the front.
func fromLineOrEscape(b []byte) []byte {
	if len(b) < promptBytes {
		return b
	}
	if i := bytes.IndexAny(b, "\n\x1b"); i >= 0 {
		return b[i:]
	}
	return b
}

// tail is the last of what was written, and where it ends.
func (s *stream) tail(most int64) (b []byte, end int64) {
	end = s.spool.End()
	b = make([]byte, min(end, most))
	n, at := s.spool.Read(b, end-int64(len(b)))
	return b[:n], at + int64(n)
}

func (s *stream) lastLine() string {
	b, _ := s.tail(promptBytes)
	lines := Plain(b)
	return shortLine(lines[strings.LastIndexByte(lines, '\n')+1:])
}

// lastLine is the last line of what was written to pipes: of the two the one that was written
// last, unless that has come to the end of its line.
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

// due is when a look is to begin, when something is to be told, or when somebody has waited long enough
// for a look.
func (p *waitingPart) due(time.Time) (t time.Time) {
	for _, at := range []time.Time{p.lookAt(), p.heldUntil(), p.infosUntil(), p.watch.tellAt(), p.hiddenAt(), p.storeLookAt()} {
		t = earliest(t, at)
	}
	return t
}

func (p *waitingPart) cancel(tok *token) bool { return p.cancelInfo(tok) || p.cancelHeld(tok) }

func (p *waitingPart) pending() int { return len(p.watch.infos) + len(p.watch.writeQ) }
