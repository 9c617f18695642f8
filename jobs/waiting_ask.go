package jobs

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Who wants to know once whether a job waits for input: job/get, and a write that is meant
// for one wait alone. Both wait for a look that begins after them.

// An infoWait is a job/get that waits for a look.
type infoWait struct {
	asked infoMsg
	info  Info      // what else is answered
	need  int       // the look
	until time.Time // when a look will know what the first one could not know yet
}

// A heldWrite is a write that waits for a look, or behind one that does.
type heldWrite struct {
	msg  writeMsg
	need int
}

// soon is the longest for which a job/get waits for a look that knows, where the first one
// could not know yet: nearly all that can be known is by then.
const soon = 300 * time.Millisecond

// answerLookedAt answers a job/get, once it is known whether the job waits for input.
func (j *Job) answerLookedAt(m infoMsg, info Info) {
	if !j.canWait() {
		m.reply.ok(info)
		return
	}
	j.inputs.infos = append(j.inputs.infos, infoWait{asked: m, info: info, need: j.needLook()})
}

// answerLooked answers those for whom enough was looked at.
func (j *Job) answerLooked() {
	l := &j.inputs
	can := j.canWait()
	infos := l.infos
	l.infos = nil
	for _, i := range infos {
		switch {
		case can && (i.need > l.looked || !l.doubt.IsZero()):
			l.infos = append(l.infos, i)
		case can && l.now == nil && l.again > 0 && i.waits(l.again):
			l.infos = append(l.infos, i)
		default:
			i.info.Waiting = j.nowWaiting()
			i.asked.reply.ok(i.info)
		}
	}
	j.writeHeld(can)
}

// waits says whether it waits for a look that is to come in time again.
func (i *infoWait) waits(again time.Duration) bool {
	if i.until.IsZero() {
		i.until = time.Now().Add(min(again, soon))
	}
	return time.Now().Before(i.until)
}

// nowWaiting is what a look has just found.
func (j *Job) nowWaiting() *WaitingForInput {
	switch l := &j.inputs; {
	case !j.canWait():
		return nil
	case l.now != nil:
		return l.now
	default:
		return &WaitingForInput{Why: l.not}
	}
}

// holdWrite keeps a write back until it is known whether the wait that it answers is
// over, and those behind it. It returns false for one that need not wait.
func (j *Job) holdWrite(m writeMsg) bool {
	l := &j.inputs
	need := 0
	if m.in.IfWaiting != "" && j.canWait() {
		need = j.needLook()
	}
	if need == 0 && len(l.writeQ) == 0 {
		return false
	}
	l.writeQ = append(l.writeQ, heldWrite{m, need})
	return true
}

// writeHeld goes on with writes that wait no longer.
func (j *Job) writeHeld(can bool) {
	l := &j.inputs
	for len(l.writeQ) > 0 && (!can || l.writeQ[0].need <= l.looked && (l.writeQ[0].need == 0 || l.doubt.IsZero())) {
		m := l.writeQ[0].msg
		l.writeQ = l.writeQ[1:]
		j.enqueue(m)
	}
}

// cancelHeld withdraws a write that is held back.
func (j *Job) cancelHeld(tok *token) bool {
	l := &j.inputs
	for i, h := range l.writeQ {
		if h.msg.reply.tok == tok {
			l.writeQ = append(l.writeQ[:i:i], l.writeQ[i+1:]...)
			h.msg.reply.fail(j.canceled())
			return true
		}
	}
	return false
}

// failHeld answers all who wait for a look that will not come.
func (j *Job) failHeld(err *Error) {
	l := &j.inputs
	for _, i := range l.infos {
		i.asked.reply.ok(i.info)
	}
	for _, h := range l.writeQ {
		h.msg.reply.fail(err)
	}
	l.infos, l.writeQ = nil, nil
}

const (
	promptBytes = 4 << 10 // of output, in which the prompt is looked for
	promptRunes = 1 << 10 // that are told of it
)

// promptReader returns what reads the line on which the cursor stands, as a person sees
// it. That may be called in any goroutine. Of a full screen it is drawn, and else the last
// line of the output.
func (j *Job) promptReader() func() string {
	st := j.lastWritten()
	switch {
	case st == nil:
		return func() string { return "" }
	case j.display != nil && j.modes().AlternateScreen:
		v, end := j.theView(), j.End(PTY)
		return func() string { return v.cursorLine(end) }
	}
	return st.lastLine
}

// cursorLine is the row with the cursor, once everything up to end is drawn.
func (v *view) cursorLine(end int64) string {
	s := v.show(end, 0, anyway)
	if row := s.Cursor.Row; row < len(s.Lines) {
		return shortLine(s.Lines[row].Text())
	}
	return ""
}

func (s *stream) lastLine() string {
	end := s.spool.End()
	raw := make([]byte, min(end, promptBytes))
	n, _ := s.spool.Read(raw, end-int64(len(raw)))
	lines := Plain(raw[:n])
	return shortLine(lines[strings.LastIndexByte(lines, '\n')+1:])
}

// lastWritten is the stream to which something was written last.
func (j *Job) lastWritten() (last *stream) {
	for _, st := range j.streams {
		if last == nil || st.last.Load() > last.last.Load() {
			last = st
		}
	}
	return last
}

func shortLine(line string) string {
	line = strings.TrimRight(line, " \t")
	if utf8.RuneCountInString(line) > promptRunes {
		line = string([]rune(line)[:promptRunes])
	}
	return line
}
