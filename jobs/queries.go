package jobs

import (
	"math"
	"slices"

	"shelld/jobs/internal/proc"
	"shelld/screen"
)

// A program asks its terminal what it is, what it can do and what it shows, and waits
// for the answer, some for seconds and some for ever. The job answers, whoever watches:
//
//	readLoop -> display     what was asked, once the output with it is stored
//	         -> takeQueries in a turn: the answers, in order
//	         -> typeAnswer  into the input, as if typed
//
// A terminal types its answer in between what a person types, and never in the middle of
// a key. So an answer goes behind what is being written and before all that waits: the
// program may read nothing else before it has it. It is nobody's input: no request waits
// for it, no echo of it is looked for, and it takes no room in the input queue.
//
// Where others answer, who feed a terminal of their own, the job does not: by where in the
// output a query ends it is certain who does.

// mostAnswers is how many bytes of answers wait for a job to read; more are dropped. A
// program that asks without end and reads nothing must not take memory without end.
const mostAnswers = 16 << 10

// mostQueries is how many queries wait for an answer.
const mostQueries = mostAnswers / 16

// queries are what a job's programs have asked and nobody has answered yet. They belong
// to whoever has the turn.
type queries struct {
	others  bool           // answer what is asked from now on
	waiting []screen.Query // in order
	lost    bool           // some were dropped, and the log has it
	full    bool           // an answer was dropped: so are those that come before the others are read
	drawing int64          // the end of the query whose answer is being drawn
	drawn   *answeredMsg   // which it was
}

// takeQueries answers what was asked by now.
func (p *displayPart) takeQueries() { p.takeQueriesTo(math.MaxInt64) }

// leaveQueries leaves it to others, or to the job, to answer what is asked in the output
// behind an offset up to which there is some.
func (p *displayPart) leaveQueries(others bool, at int64) {
	if others != p.queries.others {
		p.heard.reached(at)
		p.takeQueriesTo(at)
		p.queries.others = others
	}
}

// takeQueriesTo answers what was asked in the output before an offset.
func (p *displayPart) takeQueriesTo(end int64) {
	if p.heard == nil {
		return
	}
	asked, dropped := p.heard.takeAsked(end)
	if p.queries.others || p.j.spec.Unanswered {
		p.dropQueries(asked)
		asked, dropped = nil, 0
	}
	if !p.answers() {
		p.queries.waiting, p.queries.drawn = nil, nil
		return
	}
	if room := mostQueries - len(p.queries.waiting); len(asked) > room {
		dropped += len(asked) - room
		asked = asked[:room]
	}
	p.noteDropped(dropped)
	p.queries.waiting = append(p.queries.waiting, asked...)
	for len(p.queries.waiting) > 0 {
		q := p.queries.waiting[0]
		answer, ready := p.answerTo(q)
		if !ready {
			return // those behind it wait with it
		}
		p.queries.waiting = p.queries.waiting[1:]
		if len(answer) > 0 {
			p.typeAnswer(answer, q.Colour)
		}
	}
	p.queries.waiting = nil
}

// dropQueries leaves queries to others.
func (p *displayPart) dropQueries(asked []screen.Query) {
	if len(asked) == 0 {
		return
	}
	behind := int64(-1)
	if n := len(p.queries.waiting); n > 0 {
		behind = p.queries.waiting[n-1].To // which is the job's still
	}
	p.heard.screen.Drop(behind, asked[len(asked)-1].To)
}

// answers says whether anybody is to be answered: the leader, or who else reads the input
// while it lives.
func (p *displayPart) answers() bool {
	return p.j.input.to != nil && p.j.st.exit == nil && p.j.input.queue.closed == ""
}

// answerTo is what a terminal answers, if that is known yet.
func (p *displayPart) answerTo(q screen.Query) (answer []byte, ready bool) {
	if q.Screen {
		return p.answerFromScreen(q)
	}
	return q.Answer(screen.Display{Cols: p.j.info.Cols, Rows: p.j.info.Rows, Version: p.j.mgr.own.version}), true
}

// typeAnswer puts an answer into the input, where it can do no harm.
func (p *displayPart) typeAnswer(data []byte, colour bool) {
	attrs, err := p.j.term.Attrs()
	if err != nil {
		return // the terminal is gone
	}
	if colour && attrs.Canonical {
		p.j.log.Debug("a program asks for a colour while its terminal edits lines: it is not told", "job", p.j.id)
		return
	}
	i := p.j.input.queue.afterFirst()
	full := p.queries.full && p.j.input.queue.answers > 0
	if p.queries.full = full || p.j.input.queue.answers+len(data) > mostAnswers || !p.j.input.queue.fits(data, i, attrs); p.queries.full {
		p.noteDropped(1)
		return
	}
	p.j.input.queue.answers += len(data)
	if i > 0 && p.j.input.queue.items[i-1].answer && !(i == 1 && p.j.input.queue.writing) {
		p.j.input.queue.items[i-1].data = append(p.j.input.queue.items[i-1].data, data...)
	} else {
		p.j.input.queue.insert(i, &queued{data: data, answer: true, before: p.j.input.queue.partialAt(i), reply: newReply[WriteResult]()})
		i++
	}
	p.j.input.queue.answered(data, i, attrs)
}

// mostLine is how much of a line answers may be the end of. A terminal that edits lines
// takes them for a part of one, and has no more room than proc.CanonicalLineLimit: output
// alone must not use up that of what a client types.
const mostLine = proc.CanonicalLineLimit / 4

// lineChunk is how much of an input is followed at once.
const lineChunk = 4 << 10

// partialAt is how much of a line is typed before item i.
func (q *inputQueue) partialAt(i int) int {
	if i < len(q.items) {
		return q.items[i].before
	}
	return q.partial
}

// fits says whether an answer before item i leaves whole the lines that are typed.
func (q *inputQueue) fits(data []byte, i int, attrs proc.Attrs) bool {
	if !attrs.Canonical {
		return true // there are none
	}
	partial, longest := lineLengths(data, q.partialAt(i), attrs)
	return longest <= mostLine && q.follow(i, partial, attrs, false) <= proc.CanonicalLineLimit
}

// answered counts an answer, which was put before item i, as a part of a line.
func (q *inputQueue) answered(data []byte, i int, attrs proc.Attrs) {
	switch {
	case attrs.Canonical:
		partial, _ := lineLengths(data, q.partialAt(i), attrs)
		q.follow(i, partial, attrs, true)
	case i == len(q.items):
		q.partial = 0 // as after any other input
	}
}

// follow follows the lines in the items from i on, before which there is now another
// partial one, as far as that matters, and returns the longest. It counts them so on
// demand.
func (q *inputQueue) follow(i, partial int, attrs proc.Attrs, count bool) (longest int) {
	was := q.partialAt(i)
	for _, in := range q.items[i:] {
		if count {
			in.before = partial
		}
		for data := range slices.Chunk(in.data, lineChunk) {
			if was == partial {
				return longest // the line has ended
			}
			n := 0
			was, _ = lineLengths(data, was, attrs)
			partial, n = lineLengths(data, partial, attrs)
			longest = max(longest, n)
		}
	}
	if count {
		q.partial = partial
	}
	return longest
}

// afterFirst is the place behind the item that is being written, if any, and behind the
// answers that are there.
func (q *inputQueue) afterFirst() (i int) {
	if len(q.items) > 0 && (q.writing || q.items[0].written > 0) {
		i = 1
	}
	for i < len(q.items) && q.items[i].answer {
		i++
	}
	return i
}

// noteDropped has the log say that answers were dropped, once for a job: there may be
// millions.
func (p *displayPart) noteDropped(n int) {
	if n > 0 && !p.queries.lost {
		p.queries.lost = true
		p.j.log.Warn("a program asks its terminal and does not read the answers: some are dropped", "job", p.j.id)
	}
}

// Only the drawn screen can answer some queries, such as the position of the cursor. The view draws up to the query and
// answers it as of that place, in a goroutine of its own, one query at a time:
//
//	readLoop -> view.Queries  the query, before a view can draw past it
//	a turn   -> View.Answer   in a goroutine
//	         -> answeredMsg   in a turn
//
// A job whose programs send no such query needs no view for them.

// answeredMsg brings the answer to a query.
type answeredMsg struct {
	to   int64 // where the query ends
	data []byte
}

func (m answeredMsg) deliver(j *Job) { j.display.onAnswered(m) }

// answerFromScreen returns the answer to the first waiting query if it is there, and otherwise has it drawn.
func (p *displayPart) answerFromScreen(q screen.Query) (answer []byte, ready bool) {
	if a := p.queries.drawn; a != nil && a.to == q.To {
		p.queries.drawn = nil
		return a.data, true
	}
	if p.queries.drawing != q.To {
		p.queries.drawing = q.To
		v, release := p.theView(), p.j.Hold()
		p.j.output.loops.Go(func() {
			defer release()
			p.j.ask(answeredMsg{q.To, v.Answer(q)})
		})
	}
	return nil, false
}

func (p *displayPart) onAnswered(m answeredMsg) {
	p.queries.drawn = &m
	p.takeQueries()
}
