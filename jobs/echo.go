package jobs

import (
	"bytes"
	"slices"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/proc"
)

// Echo (protocol section 4): what a terminal shows of what was just typed is no
// answer to it. Where the kernel echoes, what it shows is known byte for byte
// (echo_kernel.go) and is taken out. Where a program reads single keys, it may show
// them itself, in its own way: then the text that was typed is looked for in what
// can be seen of the output, and nothing is matched before it was found, or before
// it is known that it does not come: for a key, by what is printed first
// (echo_lead.go). It may come again (echo_redraw.go). An echoFinder (echo_find.go)
// does all this; it follows the output with a cursor of its own, in front of the
// matching.

// A typedInput is input whose first byte is about to be written, as the terminal
// was then.
type typedInput struct {
	data  []byte
	attrs proc.Attrs
	begun bool   // a part of a line stood before it
	st    Stream // where its echo comes
	armed int64  // and behind which offset
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
		data = lineEnds(data) // of which the terminal shows something
	} else if q.secret {
		data = slices.Clone(data) // the queue wipes its own
	}
	data = j.redaction.bytes(data) // as the output is
	q.typed = &typedInput{data, attrs, q.before > 0, out.name, out.spool.End()}
	if len(q.data) <= rememberedInput && !q.secret {
		j.typed = q.typed
	}
}

// lineEnds is input with all but its line ends made unknown: what is typed while echo is off
// is to be in no copy.
func lineEnds(data []byte) []byte {
	masked := bytes.Repeat([]byte{'x'}, len(data))
	for i, c := range data {
		if c == '\r' || c == '\n' {
			masked[i] = c
		}
	}
	return masked
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

// An echoPlan is what to look for.
type echoPlan struct {
	needles []needle

	// raw: the needles are bytes, as the kernel sends them; else what can be seen of
	// a program's own echo, without blanks, control characters and escape sequences.
	raw bool

	// held: nothing counts before the first line was found, or given up.
	held bool

	room int64 // how much output is searched for a needle; then it does not come
}

// A needle is a part of an echo that comes in one piece.
type needle struct {
	text []byte
	last bool // it ends a line of the input

	// What may follow in a program's own echo, and then belongs to it.
	blanks int
	enter  bool // a line end
}

const (
	// inFlight is how much output may have been written before the echo and not have
	// been read yet: as much as a terminal holds.
	inFlight = 64 << 10

	// seenRoom is added to twice the input's length, for what a program draws around
	// the echo that it makes itself.
	seenRoom = 256
)

// plan says what to look for; nil where there will be no echo, or none that could be
// told from anything else.
func (t *typedInput) plan() *echoPlan {
	length := 2 * int64(len(t.data))
	if t.attrs.Echo || t.attrs.Canonical {
		k := echoOf(t.data, t.attrs, t.begun)
		if k.exact {
			return rawPlan(k, length+inFlight)
		}
		if !t.attrs.Echo {
			return nil
		}
	}
	needles := seenNeedles(t.data)
	if needles == nil {
		return nil
	}
	return &echoPlan{needles: needles, held: true, room: length + seenRoom}
}

func rawPlan(k kernelEcho, room int64) *echoPlan {
	if len(k.lines) == 0 {
		return nil
	}
	p := &echoPlan{raw: true, held: k.flushed, room: room}
	for _, line := range k.lines {
		p.needles = append(p.needles, needle{text: line, last: true})
	}
	return p
}

// maxSeen bounds the input whose echo is looked for in what can be seen, since what
// was seen is remembered meanwhile. More is no typing.
const maxSeen = 64 << 10

// seenNeedles cuts input into the runs of visible characters that a program which
// echoes keys would show: it acts on what stands between them, as a completion or a
// movement of the cursor.
func seenNeedles(data []byte) []needle {
	if len(data) > maxSeen {
		return nil
	}
	var (
		all    []needle
		run    needle
		strip  match.Stripper
		buf    [1]byte
		before byte
		first  int // needle of the present line
	)
	end := func() {
		if len(run.text) > 0 {
			all = append(all, run)
		}
		run = needle{}
	}
	for i, c := range data {
		single := i >= 2 && before == 'O' && data[i-2] == 0x1b // the end of a key such as F1
		visible := len(strip.Append(buf[:0], data[i:i+1])) > 0 && !single
		before = c
		switch {
		case visible && c == '\r', visible && c == '\n':
			end()
			if n := len(all); n > first {
				all[n-1].last, all[n-1].enter, first = true, true, n
			}
		case visible && c == ' ':
			run.blanks++
		case visible && c > ' ':
			run.text, run.blanks = append(run.text, c), 0
		default:
			end()
		}
	}
	end()
	if n := len(all); n > first {
		all[n-1].last = true
	}
	return slices.Clip(all)
}

// Echo returns where in an outcome's output the echo of what was typed is. Only what
// stands in the output counts, never when it was read.
func (o *Outcome) Echo(name Stream) (found []Range) {
	if !o.Spec.StripEcho || o.typed == nil || o.typed.st != name {
		return nil
	}
	st, r := o.Job.stream(name), o.Output[name]
	if st == nil {
		return nil
	}
	f := newEchoFinder(o.typed, st.spool)
	if f == nil {
		return nil
	}
	add := func(e echoFound, ok bool) {
		if e.From, e.To = max(e.From, r.From), min(e.To, r.To); ok && e.From < e.To {
			found = append(found, e.Range)
		}
	}
	buf := feedBuffers.Get().(*[]byte)
	defer feedBuffers.Put(buf)
	for !f.done && f.next < r.To {
		n, at := st.spool.Read(*buf, f.next)
		if n == 0 || at != f.next {
			break // dropped: what is left of it cannot be told
		}
		part := (*buf)[:min(int64(n), r.To-at)]
		for used := int64(0); used >= 0 && used < int64(len(part)) && !f.done; used = f.next - at {
			add(f.feed(part[used:])) // which may go back
		}
	}
	add(f.end())
	return found
}
