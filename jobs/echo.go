package jobs

import (
	"slices"

	"shelld/jobs/internal/echo"
	"shelld/jobs/internal/proc"
)

// A typedInput is input whose echo patterns must not match (protocol section 4).
type typedInput struct {
	echo.Typed
	st Stream // where its echo comes
}

// rememberedInput bounds the input that a job keeps for later waits to refer to. A
// wait of the write itself knows longer input too.
const rememberedInput = 4 << 10

// noteTyped is called when an input's first byte is about to be written.
func (j *Job) noteTyped(q *queued) {
	if q.begun || q.answer || q.trigger || j.term == nil {
		return
	}
	q.begun = true
	if len(q.data) == 0 {
		return // nothing is typed: what was typed last stays that
	}
	j.typed = nil
	attrs, err := j.attrsFor(q)
	if err != nil || attrs.Canonical && !attrs.Echo && !attrs.Shown.Newline {
		return // nobody shows it
	}
	out := j.streams[0]
	data := q.data
	if attrs.Canonical && !attrs.Echo {
		data = echo.LineEnds(data) // of which the terminal shows something
	} else if q.secret {
		data = slices.Clone(data) // the queue wipes its own
	}
	data = j.redaction.bytes(data) // as the output is
	q.typed = &typedInput{echo.Typed{Data: data, Attrs: attrs, Begun: q.before > 0, Armed: out.spool.End()}, out.name}
	if len(q.data) <= rememberedInput && !q.secret {
		j.typed = q.typed
	}
}

// attrsFor asks the terminal, unless that was done just now.
func (j *Job) attrsFor(q *queued) (proc.Attrs, error) {
	if q.attrs != nil {
		return *q.attrs, nil
	}
	return j.term.Attrs()
}

// on is t where a stream is the one that shows it.
func (t *typedInput) on(st *stream) *typedInput {
	if t == nil || t.st != st.name {
		return nil
	}
	return t
}

// skips is the input whose echo does not match a condition.
func (w *wait) skips(c Condition) *typedInput {
	if c.AfterInput == nil && w.afterInput || c.AfterInput != nil && *c.AfterInput {
		return w.typed
	}
	return nil
}

// Echo returns where in an outcome's output the echo of what was typed is. Only what
// stands in the output counts, never when it was read.
func (o *Outcome) Echo(name Stream) []Range {
	if !o.Spec.StripEcho || o.typed == nil || o.typed.st != name {
		return nil
	}
	st := o.Job.stream(name)
	if st == nil {
		return nil
	}
	buf := feedBuffers.Get().(*[]byte)
	defer feedBuffers.Put(buf)
	return echo.Find(&o.typed.Typed, st.spool, o.Output[name], *buf)
}
