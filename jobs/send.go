package jobs

import (
	"fmt"
	"slices"
	"sync"

	"shelld.dev/shelld/jobs/internal/echo"
	"shelld.dev/shelld/jobs/internal/names"
	"shelld.dev/shelld/jobs/internal/proc"
	"shelld.dev/shelld/screen"
)

// A typing collects the bytes of an input. When it grows, it wipes its old memory, since that may contain a secret.
type typing struct{ data []byte }

func (t *typing) add(p ...byte) {
	t.grow(len(p))
	t.data = append(t.data, p...)
}

func (t *typing) addText(s string) {
	t.grow(len(s))
	t.data = append(t.data, s...)
}

func (t *typing) grow(n int) {
	if need := len(t.data) + n; need > cap(t.data) {
		old := t.data
		t.data = append(make([]byte, 0, max(2*cap(old), need+spareBytes)), old...)
		clear(old)
	}
}

// spareBytes is room for the bytes after the text: a line end, two ends of file.
const spareBytes = 8

// typeAll turns an Input into bytes, without its line end and end of file. With an error it returns the bytes before
// the invalid item.
func (p *inputPart) typeAll(in Input) (*typing, *Error) {
	t := &typing{data: make([]byte, 0, len(in.Text)+spareBytes)}
	t.addText(in.Text)
	for _, name := range in.Keys {
		if err := p.typeKey(t, name, 1); err != nil {
			return t, err
		}
	}
	for i, item := range in.Send {
		err := p.typeItem(t, item, fmt.Sprintf("/send/%d", i))
		if err == nil {
			err = p.checkSize(len(t.data)) // checked per item, since a few key names may expand to gigabytes
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

func (p *inputPart) typeItem(t *typing, item SendItem, pointer string) *Error {
	switch {
	case item.Key != "":
		return p.typeKey(t, item.Key, max(item.Count, 1))
	case item.Mouse != nil:
		return p.typeMouse(t, *item.Mouse, pointer+"/mouse")
	case item.Paste != nil && p.j.term == nil:
		t.addText(*item.Paste)
	case item.Paste != nil:
		b := screen.Paste(*item.Paste, p.j.modes())
		t.add(b...)
		clear(b) // it may be a secret
	default:
		t.addText(item.Text)
		t.add(item.Bytes...)
	}
	return nil
}

func (p *inputPart) typeKey(t *typing, name string, count int) *Error {
	if p.j.term == nil {
		return p.j.notInteractive("job %d has a pipe and no terminal: send text, or start it in pty mode to press keys", p.j.id)
	}
	b, err := screen.Encode([]string{name}, p.j.modes())
	if err != nil {
		e := errorf(CodeInvalidKey, "%v%s; nothing was sent", err, names.KeyAdvice(name))
		e.Valid, e.Name, e.Near = screen.KeyNames(), name, names.NearKey(name)
		return e
	}
	for range count {
		t.add(b...)
	}
	return nil
}

func (p *inputPart) typeMouse(t *typing, m screen.MouseEvent, pointer string) *Error {
	if p.j.term == nil {
		return p.j.notInteractive("job %d has a pipe and no terminal: there is no mouse; start it in pty mode", p.j.id)
	}
	if m.Row >= p.j.info.Rows || m.Col >= p.j.info.Cols {
		return Invalid(pointer, "row %d, column %d is outside the terminal of %d rows and %d columns, counted from 0; nothing was sent",
			m.Row, m.Col, p.j.info.Rows, p.j.info.Cols)
	}
	b, err := screen.EncodeMouse(m, p.j.modes())
	if err != nil {
		return Invalid(pointer, "%v; nothing was sent", err)
	}
	t.add(b...)
	return nil
}

// noInput returns the error for a write to a job whose input is not connected to the server.
func (p *inputPart) noInput() *Error {
	const otherwise = `; start it with "stdin": "open" to write to it`
	switch {
	case p.j.spec.StdinText != nil:
		return p.j.notInteractive("job %d reads only the text that it was started with"+otherwise, p.j.id)
	case p.j.spec.StdinFile != "":
		return p.j.notInteractive("job %d reads the file %s"+otherwise, p.j.id, p.j.spec.StdinFile)
	}
	return p.j.notInteractive("job %d has no standard input; start it with \"stdin\": \"open\", or in pty mode", p.j.id)
}

// A writeDone is the result of one write to the job.
type writeDone struct {
	n   int
	err error
}

// writeLoop owns the blocking write to the job's input.
func (p *inputPart) writeLoop(in input, term terminal) {
	defer p.j.output.loops.Done()
	for {
		select {
		case o := <-p.orders:
			n, err := p.write(in, term, o)
			select {
			case p.wrote <- writeDone{n, err}:
			case <-p.j.done:
				return
			}
		case <-p.j.ended:
			return // A job that is only remembered needs no input.
		case <-p.j.done:
			return
		}
	}
}

// rememberedInput bounds the input that a job keeps for waits of later requests. A wait of the write itself has longer
// input, too.
const rememberedInput = 4 << 10

// noteTyped notes the terminal's state for the echo of q. It must be called just before the first
// byte of q is written.
func (p *inputPart) noteTyped(q *queued) {
	if q.begun || q.answer || q.trigger || p.j.term == nil {
		return
	}
	q.begun = true
	if len(q.data) == 0 {
		return // no input is typed: the last input remains the one before
	}
	p.typed = nil
	attrs, err := p.attrsFor(q)
	if err != nil || attrs.Canonical && !attrs.Echo && !attrs.Shown.Newline {
		return // there is no echo
	}
	out := p.j.output.streams[0]
	data := q.data
	if attrs.Canonical && !attrs.Echo {
		data = echo.LineEnds(data) // the terminal echoes only these
	} else if q.secret {
		data = slices.Clone(data) // the queue overwrites its own copy
	}
	data = p.j.redaction.bytes(data) // redacted like the output
	q.typed = &typedInput{echo.Typed{Data: data, Attrs: attrs, Begun: q.before > 0, Armed: out.spool.End()}, out.name}
	if len(q.data) <= rememberedInput && !q.secret {
		p.typed = q.typed
	}
}

// attrsFor returns the terminal's modes, from q if they were read just now.
func (p *inputPart) attrsFor(q *queued) (proc.Attrs, error) {
	if q.attrs != nil {
		return *q.attrs, nil
	}
	return p.j.term.Attrs()
}

// feedBuffers has buffers for reading a spool in pieces.
var feedBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// Echo returns the ranges of the echo within the outcome's output of a stream, if the wait requested StripEcho. They
// depend on the output alone, never on the time at which it was read.
func (o *Outcome) Echo(name Stream) []Range {
	if !o.Spec.StripEcho || o.typed == nil || o.typed.st != name {
		return nil
	}
	st := o.Job.output.stream(name)
	if st == nil {
		return nil
	}
	buf := feedBuffers.Get().(*[]byte)
	defer feedBuffers.Put(buf)
	return echo.Find(&o.typed.Typed, st.spool, o.Output[name], *buf)
}

func (p *inputPart) lastTyped() *typedInput { return p.typed }
