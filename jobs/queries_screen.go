package jobs

import (
	"slices"
	"sync"

	"shelld/screen"
)

// What only the drawn screen knows is answered from the job's view, as it was when the
// program asked: where the cursor was, what the margins were. Whoever draws takes the
// answers along as he passes the queries, so that it does not matter who was there first:
//
//	readLoop -> screenQueries  where they stand, before anybody can draw the output
//	a turn   -> view.answer    a goroutine draws up to the query, unless that was done
//	         -> answeredMsg    the answer, in its turn
//
// A job whose programs never ask for that has no view for it.

// screenQueries are the queries of a job that have to be drawn to be answered.
type screenQueries struct {
	mu      sync.Mutex
	pending []screen.Query   // in order; at most mostQueries
	answers map[int64][]byte // of those that were drawn, by where they end
}

// add is told of queries before the output that they are in is stored.
func (s *screenQueries) add(asked []screen.Query) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range asked {
		if q.Screen && len(s.pending) < mostQueries {
			s.pending = append(s.pending, q)
		}
	}
}

// next is the first query that ends behind an offset.
func (s *screenQueries) next(off int64) (screen.Query, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.pending {
		if q.To > off {
			return q, true
		}
	}
	return screen.Query{}, false
}

// answer keeps what the terminal has answered to a query that was drawn.
func (s *screenQueries) answer(q screen.Query, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.pending, func(p screen.Query) bool { return p.To == q.To }) {
		return // it was dropped meanwhile
	}
	if s.answers == nil {
		s.answers = map[int64][]byte{}
	}
	s.answers[q.To] = data
}

// drop forgets the queries behind an offset that end by another one: they are not to be
// answered.
func (s *screenQueries) drop(behind, end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = slices.DeleteFunc(s.pending, func(q screen.Query) bool {
		if q.To <= behind || q.To > end {
			return false
		}
		delete(s.answers, q.To)
		return true
	})
}

// take returns the answer to a query, and forgets all queries up to that one.
func (s *screenQueries) take(q screen.Query) (data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data = s.answers[q.To]
	for len(s.pending) > 0 && s.pending[0].To <= q.To {
		delete(s.answers, s.pending[0].To)
		s.pending = s.pending[1:]
	}
	return data
}

// asks returns where the view has to stop to see a query begin or end.
func (v *view) asks() int64 {
	q, ok := v.job.display.heard.screen.next(v.next)
	switch {
	case !ok:
		return noHold
	case v.next < q.From:
		return q.From
	}
	return q.To
}

// replied takes what the terminal has answered to what was drawn last, from an offset
// on. All but the answer to one of these queries is given by those who need no view.
func (v *view) replied(from int64) {
	data := v.term.Replies()
	if q, ok := v.job.display.heard.screen.next(from); ok && v.next == q.To {
		v.job.display.heard.screen.answer(q, data)
	}
}

// answer draws up to a query, if nobody has, and returns its answer. There is none where
// its output is not kept any more.
func (v *view) answer(q screen.Query) []byte {
	v.busy.Lock()
	defer v.busy.Unlock()
	v.draw(q.To, anyway)
	return v.job.display.heard.screen.take(q)
}

// answeredMsg brings the answer to a query.
type answeredMsg struct {
	to   int64 // where the query ends
	data []byte
}

func (m answeredMsg) deliver(j *Job) { j.display.onAnswered(m) }

// answerFromScreen returns the answer to the first query that waits, and has it looked
// for if it is not there.
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
			p.j.ask(answeredMsg{q.To, v.answer(q)})
		})
	}
	return nil, false
}

func (p *displayPart) onAnswered(m answeredMsg) {
	p.queries.drawn = &m
	p.takeQueries()
}
