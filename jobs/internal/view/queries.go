package view

import (
	"math"
	"slices"
	"sync"

	"shelld.dev/shelld/screen"
)

// Queries holds the queries of a terminal's programs that only the drawn screen can answer, such as the position of
// the cursor. The answer depends on the screen at the query's place in the output, so that every caller of a view that
// draws past it takes the answer along, whether or not it is asked for yet. The zero value is ready for use. Any
// goroutine may call its methods.
type Queries struct {
	mu      sync.Mutex
	pending []screen.Query   // in the order of the output
	answers map[int64][]byte // of pending ones that are drawn, by their To
}

// Add adds those of the queries that need the screen, as long as fewer than most are pending. It must be called before
// the output that contains them is stored, so that no view draws past them.
func (s *Queries) Add(asked []screen.Query, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range asked {
		if q.Screen && len(s.pending) < most {
			s.pending = append(s.pending, q)
		}
	}
}

// Drop removes the queries that end behind one offset and not behind another. They are not answered.
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

// Len returns the number of pending queries.
func (s *Queries) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// next returns the first pending query that ends behind an offset.
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

// answer stores the answer to a query, unless that was dropped.
func (s *Queries) answer(q screen.Query, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.pending, func(p screen.Query) bool { return p.To == q.To }) {
		return
	}
	if s.answers == nil {
		s.answers = map[int64][]byte{}
	}
	s.answers[q.To] = data
}

// take returns the answer to a query, and removes all queries up to that one.
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

// Answer draws up to the end of a query, unless that is done, and returns its answer: nil if its output is not kept
// any more. This query and those before it are no longer pending then.
func (v *View) Answer(q screen.Query) []byte {
	v.busy.Lock()
	defer v.busy.Unlock()
	v.draw(q.To, nil)
	return v.src.Queries.take(q)
}

// queryStop returns the next offset at which a query begins or ends. Drawing stops there, so that exactly the reply to
// the query is found.
func (v *View) queryStop() int64 {
	q, ok := v.src.Queries.next(v.next)
	switch {
	case !ok:
		return math.MaxInt64
	case v.next < q.From:
		return q.From
	}
	return q.To
}

// takeReplies takes the terminal's replies to the output from an offset to the cursor. Only replies to pending queries
// are kept; all others are given without a view.
func (v *View) takeReplies(from int64) {
	data := v.term.Replies()
	if q, ok := v.src.Queries.next(from); ok && v.next == q.To {
		v.src.Queries.answer(q, data)
	}
}
