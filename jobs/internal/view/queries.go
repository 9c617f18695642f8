package view

import (
	"math"
	"slices"
	"sync"

	"shelld/screen"
)

// What only the drawn screen knows is answered from the job's view, as it was when the
// program asked: where the cursor was, what the margins were. Whoever draws takes the
// answers along as he passes the queries, so that it does not matter who was there first:
//
//	readLoop -> Queries        where they stand, before anybody can draw the output
//	a turn   -> View.Answer    a goroutine draws up to the query, unless that was done
//	         -> answeredMsg    the answer, in its turn
//
// A job whose programs never ask for that has no view for it.

// Queries are the queries of a job that have to be drawn to be answered.
type Queries struct {
	mu      sync.Mutex
	pending []screen.Query   // in order
	answers map[int64][]byte // of those that were drawn, by where they end
}

// Add is told of queries before the output that they are in is stored. So many wait at most.
func (s *Queries) Add(asked []screen.Query, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range asked {
		if q.Screen && len(s.pending) < most {
			s.pending = append(s.pending, q)
		}
	}
}

// next is the first query that ends behind an offset.
func (s *Queries) next(off int64) (screen.Query, bool) {
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
func (s *Queries) answer(q screen.Query, data []byte) {
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

// Drop forgets the queries behind an offset that end by another one: they are not to be
// answered.
func (s *Queries) Drop(behind, end int64) {
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
func (s *Queries) take(q screen.Query) (data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data = s.answers[q.To]
	for len(s.pending) > 0 && s.pending[0].To <= q.To {
		delete(s.answers, s.pending[0].To)
		s.pending = s.pending[1:]
	}
	return data
}

// Len is how many queries wait.
func (s *Queries) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// asks returns where the view has to stop to see a query begin or end.
func (v *View) asks() int64 {
	q, ok := v.src.Queries.next(v.next)
	switch {
	case !ok:
		return math.MaxInt64
	case v.next < q.From:
		return q.From
	}
	return q.To
}

// replied takes what the terminal has answered to what was drawn last, from an offset
// on. All but the answer to one of these queries is given by those who need no view.
func (v *View) replied(from int64) {
	data := v.term.Replies()
	if q, ok := v.src.Queries.next(from); ok && v.next == q.To {
		v.src.Queries.answer(q, data)
	}
}

// Answer draws up to a query, if nobody has, and returns its answer. There is none where
// its output is not kept any more.
func (v *View) Answer(q screen.Query) []byte {
	v.busy.Lock()
	defer v.busy.Unlock()
	v.draw(q.To, nil)
	return v.src.Queries.take(q)
}
