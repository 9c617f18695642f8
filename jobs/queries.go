package jobs

import (
	"math"

	"shelld.dev/shelld/screen"
)

// A program queries its terminal for its type, its abilities and its contents, and waits for the answer: some programs
// wait for seconds, some forever. The job answers, whether or not a client watches:
//
//	readLoop -> display     the queries, once the output that contains them is stored
//	         -> takeQueries in a turn: the answers, in order
//	         -> typeAnswer  into the input, as if typed
//
// A terminal types its answer between the keys that a person types, and never in the middle of a key. So an answer
// goes behind the input that is being written and before all input that waits: the program may read nothing else
// before it has the answer. The answer belongs to no request: no request waits for it, no echo of it is expected, and
// it takes no room in the input queue.
//
// If a client feeds the output to a terminal of its own, that terminal may answer. Then the job does not. The offset
// at which a query ends in the output decides which of the two answers it.

// queries has the queries of a job's programs that are not answered yet. Only the goroutine that holds the turn uses
// it.
type queries struct {
	others  bool           // others answer the queries from now on
	waiting []screen.Query // in order
	lost    bool           // some answers were dropped, and that was logged
	full    bool           // an answer was dropped: later ones are dropped, too, until the others are read
	drawing int64          // the end of the query whose answer is being drawn
	drawn   *answeredMsg   // the drawn answer
}

// takeQueries answers the queries that have come so far.
func (p *displayPart) takeQueries() { p.takeQueriesTo(math.MaxInt64) }

// leaveQueries sets whether others or the job answer the queries in the output behind the offset at. The stored output
// reaches at least up to that offset.
func (p *displayPart) leaveQueries(others bool, at int64) {
	if others != p.queries.others {
		p.j.heard.reached(at)
		p.takeQueriesTo(at)
		p.queries.others = others
	}
}

// takeQueriesTo answers the queries in the output before an offset.
func (p *displayPart) takeQueriesTo(end int64) {
	if p.j.heard == nil {
		return
	}
	asked, dropped := p.j.heard.takeAsked(end)
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
			return // the queries behind it wait as well
		}
		p.queries.waiting = p.queries.waiting[1:]
		if len(answer) > 0 {
			p.typeAnswer(answer, q.Colour)
		}
	}
	p.queries.waiting = nil
}

// dropQueries drops queries that others answer.
func (p *displayPart) dropQueries(asked []screen.Query) {
	if len(asked) == 0 {
		return
	}
	behind := int64(-1)
	if n := len(p.queries.waiting); n > 0 {
		behind = p.queries.waiting[n-1].To // the job still answers this one
	}
	p.j.heard.screen.Drop(behind, asked[len(asked)-1].To)
}

// answers reports whether queries are to be answered at all. They are while the leader lives and its input is open:
// the leader reads the answer, or another process that reads the input.
func (p *displayPart) answers() bool {
	return p.j.stdin != nil && p.j.st.exit == nil && p.input.isOpen()
}

// answerTo returns a terminal's answer to q, if it is known yet.
func (p *displayPart) answerTo(q screen.Query) (answer []byte, ready bool) {
	if q.Screen {
		return p.answerFromScreen(q)
	}
	return q.Answer(screen.Display{Cols: p.j.info.Cols, Rows: p.j.info.Rows, Version: p.j.mgr.own.version}), true
}

// typeAnswer puts an answer into the input queue, at a place where it does no harm.
func (p *displayPart) typeAnswer(data []byte, colour bool) {
	attrs, err := p.j.term.Attrs()
	if err != nil {
		return // the terminal is gone
	}
	if colour && attrs.Canonical {
		p.j.log.Debug("a program queried a colour while its terminal is in line-editing mode: no answer is sent", "job", p.j.id)
		return
	}
	if p.queries.full = !p.input.typeAnswer(data, attrs, p.queries.full); p.queries.full {
		p.noteDropped(1)
	}
}

// noteDropped logs that answers were dropped. It logs that once for a job: there may be millions.
func (p *displayPart) noteDropped(n int) {
	if n > 0 && !p.queries.lost {
		p.queries.lost = true
		p.j.log.Warn("a program queries its terminal and does not read the answers: some are dropped", "job", p.j.id)
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

func (answeredMsg) message() {}

// answerFromScreen returns the answer to the first waiting query if it is there, and otherwise has it drawn.
func (p *displayPart) answerFromScreen(q screen.Query) (answer []byte, ready bool) {
	if a := p.queries.drawn; a != nil && a.to == q.To {
		p.queries.drawn = nil
		return a.data, true
	}
	if p.queries.drawing != q.To {
		p.queries.drawing = q.To
		v, release := p.theView(), p.j.Hold()
		p.j.background(func() {
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

// owesAnswer reports whether a query is not answered yet.
func (p *displayPart) owesAnswer() bool { return len(p.queries.waiting) > 0 }
