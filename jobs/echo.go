package jobs

import (
	"slices"
	"sync"

	"shelld/jobs/internal/echo"
	"shelld/jobs/internal/proc"
)

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
