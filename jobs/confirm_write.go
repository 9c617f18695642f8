package jobs

import (
	"slices"
	"strings"
	"time"

	"shelld.dev/shelld/jobs/internal/roots"
)

// A write that needs a person's confirmation holds back the writes behind it, so that input is typed in the order in
// which it came. Only writes of signal keys alone may pass, and drop the input that they pass, as always. Input that
// the person types (secret.go) may pass as well: it is for one wait and no other.

// An askedWrite waits for a person's answer, or for the answers to the writes before it.
type askedWrite struct {
	msg     writeMsg
	bytes   int           // length of its input, or of the text that is shown to the person
	stop    chan struct{} // closed when the question is not needed any more
	allowed bool
}

// A writeAnsweredMsg brings the answer to the question about a write.
type writeAnsweredMsg struct {
	write *askedWrite
	err   *Error // why it may not be typed; nil: it may
}

func (writeAnsweredMsg) message() {}

// confirmWrite reports whether it has taken over a write: the write waits for a person, or was refused. If it returns
// false, the caller must go on with the write.
func (p *askingPart) confirmWrite(m writeMsg) bool {
	if v := p.j.mgr.settings.confirm.Write; v == "" || v == VerdictAllow || m.in.person {
		return false
	}
	shown, typed, err := p.showWrite(m.in)
	nothing := err == nil && len(typed.data) == 0 && !typed.close
	if err == nil && typed.keysOnly || nothing && len(p.askedWrites) == 0 {
		return false
	}
	if nothing { // There is no question, but its wait begins after the writes before it.
		p.askedWrites = append(p.askedWrites, &askedWrite{msg: m, stop: make(chan struct{}), allowed: true})
		return true
	}
	size := 0
	if err == nil {
		size = len(typed.data)
		err = p.j.mgr.refuseUnasked(ActionWrite, p.j.id)
	}
	var q *Question
	if err == nil {
		// The server cannot know what a program does with its input.
		q, err = p.question(ActionWrite, m.in.Asker, p.j.id, shown, p.j.place, roots.Found{Why: "it is input"})
	}
	h := &askedWrite{msg: m, bytes: max(size, len(shown)), stop: make(chan struct{})}
	if err == nil {
		err = p.checkAsked(h)
	}
	if err != nil {
		m.fail(err)
		return true
	}
	p.askedWrites = append(p.askedWrites, h)
	p.j.background(func() { p.j.post(writeAnsweredMsg{h, p.awaitAnswer(q, h.stop)}) })
	return true
}

// showWrite returns the text of an input as it is shown to a person, if the input can be typed now, and the bytes to
// type. The bytes are wiped if the input is hidden.
func (p *askingPart) showWrite(in Input) (shown string, q *queued, refusal *Error) {
	now := in
	now.IfWaiting = "" // That is checked when it is typed.
	q, _, err := p.input.compose(now)
	hidden := in.Secret
	if q != nil && q.attrs != nil && q.attrs.Canonical && !q.attrs.Echo {
		hidden = true
		if err == nil {
			err = p.waiting.deny(q)
		}
	}
	if q != nil && hidden {
		clear(q.data)
	}
	if err != nil { // It may be longer than any input that could be typed.
		return "", nil, err
	}
	return shownInput(in, hidden), q, nil
}

// checkAsked refuses a write if there is no room for it.
func (p *askingPart) checkAsked(h *askedWrite) *Error {
	held := h.bytes
	for _, other := range p.askedWrites {
		held += other.bytes
	}
	if int64(held) <= p.j.mgr.settings.limits.InputQueueBytes {
		return nil
	}
	return p.input.queueFull("job %d has %d bytes of input that wait for confirmation; wait for the answer, or raise limits.inputQueueBytes", p.j.id, held-h.bytes)
}

func (p *askingPart) onWriteAnswered(m writeAnsweredMsg) {
	i := slices.Index(p.askedWrites, m.write)
	switch {
	case i < 0:
		return // It was answered meanwhile.
	case m.err != nil:
		p.askedWrites = slices.Delete(p.askedWrites, i, i+1)
		m.write.msg.fail(m.err)
	default:
		m.write.allowed = true
	}
	for len(p.askedWrites) > 0 && p.askedWrites[0].allowed {
		msg := p.askedWrites[0].msg
		p.askedWrites = p.askedWrites[1:]
		msg.at = time.Now() // its deadline has not run so far
		p.input.passWrite(msg)
	}
}

// dropAsked refuses all writes that wait for a person.
func (p *askingPart) dropAsked(why func() *Error) {
	for _, h := range p.askedWrites {
		close(h.stop)
		h.msg.fail(why())
	}
	p.askedWrites = nil
}

// cancelAskedWrite cancels one of them.
func (p *askingPart) cancelAskedWrite(tok *token) bool {
	i := slices.IndexFunc(p.askedWrites, func(h *askedWrite) bool { return h.msg.reply.tok == tok })
	if i < 0 {
		return false
	}
	p.dropAskedWrite(p.askedWrites[i], p.j.canceled())
	return true
}

// dropAskedWrite refuses one of them. Those behind it may be allowed already, and are typed.
func (p *askingPart) dropAskedWrite(h *askedWrite, why *Error) {
	close(h.stop)
	p.onWriteAnswered(writeAnsweredMsg{h, why})
}

// shownInput returns an input as it is shown to a person: text as it is, and everything else in angle brackets. For
// hidden input it returns only ***.
func shownInput(in Input, hidden bool) string {
	if hidden {
		return "***"
	}
	var b strings.Builder
	name := func(name string) { b.WriteString("<" + name + ">") }
	b.WriteString(in.Text)
	for _, key := range in.Keys {
		name(key)
	}
	for _, item := range in.Send {
		b.WriteString(item.Text)
		switch {
		case item.Paste != nil:
			b.WriteString(*item.Paste)
		case item.Mouse != nil:
			name("mouse")
		case item.Bytes != nil:
			b.WriteString(strings.ToValidUTF8(string(item.Bytes), "\ufffd"))
		case item.Key != "":
			for range max(item.Count, 1) {
				name(item.Key)
			}
		}
	}
	if in.AppendNewline {
		b.WriteByte('\n')
	}
	if in.EOF {
		name("end of input")
	}
	return b.String()
}
