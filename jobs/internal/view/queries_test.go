package view

import (
	"testing"

	"shelld.dev/shelld/screen"
)

// asks is a query for the position of the cursor.
const asks = "\x1b[6n"

// asks writes a query, which is then pending.
func (p *played) asks() screen.Query {
	end := p.src.Spool.End()
	q := screen.Query{From: end, To: end + int64(len(asks)), Screen: true}
	p.src.Queries.Add([]screen.Query{q}, 10)
	p.says(asks)
	return q
}

// A query is answered as of its place in the output, even if the view is past it, and leaves nothing behind.
func TestQueriesAreAnsweredInPlace(t *testing.T) {
	v := play(32 << 20)
	v.says("one")
	first := v.asks()
	v.says("two")
	second := v.asks()
	v.says("three")
	if v.screen(0); len(v.src.Queries.answers) != 2 {
		t.Errorf("%d answers are kept while both queries wait", len(v.src.Queries.answers))
	}
	for _, c := range []struct {
		query screen.Query
		want  string
	}{{first, "\x1b[1;4R"}, {second, "\x1b[1;7R"}} {
		if got := string(v.Answer(c.query)); got != c.want {
			t.Errorf("answered %q, want %q", got, c.want)
		}
	}
	v.empty(t)
}

// Dropped queries are not answered, drawn or not.
func TestQueriesAreDropped(t *testing.T) {
	v := play(32 << 20)
	drawn := v.asks()
	v.screen(0)
	later := v.asks()
	v.src.Queries.Drop(-1, later.To-1)
	if got := v.Answer(drawn); got != nil {
		t.Errorf("answered %q to a dropped query", got)
	}
	if n := v.src.Queries.Len(); n != 1 {
		t.Errorf("%d queries wait, want the one behind those that were dropped", n)
	}
	v.src.Queries.Drop(drawn.To, later.To)
	v.screen(0)
	v.empty(t)
}

func (p *played) empty(t *testing.T) {
	t.Helper()
	if s := p.src.Queries; len(s.pending)+len(s.answers) > 0 {
		t.Errorf("left: %+v, %v", s.pending, s.answers)
	}
}
