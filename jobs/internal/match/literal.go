package match

import "bytes"

// A textSearch finds a text in output that comes in pieces. A piece from which nothing has to be removed is searched as
// it stands; any other one in a lane. Between pieces the lane holds the end of the output so far, in which a match may
// have begun.
type textSearch struct {
	query *Query
	lane  lane
	from  int64  // no match starts before this position of the lane
	lower []byte // buffer of folded
	plain []byte // buffer of lacks
}

func newTextSearch(q *Query) *textSearch {
	t := &textSearch{query: q}
	if !q.raw {
		t.lane.strip = new(Stripper)
	}
	return t
}

// lead takes the output before the place where matches begin.
func (t *textSearch) lead(before []byte) {
	t.lane.put(before, 0) // its offset is never used
	t.lane.replaceHeld()
	t.from = t.lane.end()
	t.lane.cut(t.from)
}

// feed searches the next piece, which is at a raw offset.
func (t *textSearch) feed(found []*Match, b []byte, at int64) []*Match {
	edge := len(t.query.literal) - 1
	simple := t.lane.nheld == 0 && !t.query.foreign && len(b) > 2*edge
	switch {
	case simple && (t.lane.strip == nil || t.lane.strip.atText()) && t.query.clean(b):
		return t.quick(found, b, at)
	case simple && t.lane.strip != nil && t.lacks(b, at):
		return found
	}
	t.lane.put(b, at)
	return t.inLane(found)
}

// quick searches a piece from which nothing has to be removed.
func (t *textSearch) quick(found []*Match, b []byte, at int64) []*Match {
	edge := len(t.query.literal) - 1
	done := 0 // end of the part of b that matches have used up
	if edge > 0 && t.lane.end() > t.from {
		known := len(found)
		t.lane.put(b[:edge], at)
		if found = t.inLane(found); len(found) > known {
			done = max(int(found[len(found)-1].End-at), 0)
		}
	}
	found, done = t.asItStands(found, b, at, done)
	rest := max(done, len(b)-edge)
	t.lane.restart()
	t.from = t.lane.end()
	t.lane.put(b[rest:], at+int64(rest))
	return found
}

// sparePlain is the number of bytes at the end of a piece that are put into the lane in addition to the length of the
// text, since part of them is removed.
const sparePlain = 512

// lacks reports whether no match ends in a piece; if so, it takes the piece. It finds this out without recording
// offsets. If it returns false, nothing has changed.
func (t *textSearch) lacks(b []byte, at int64) bool {
	edge := len(t.query.literal) - 1
	cut := max(len(b)-edge-sparePlain, 0)
	strip := *t.lane.strip
	t.plain = append(t.plain[:0], t.lane.view(t.from, t.lane.end())...)
	t.plain = strip.Append(t.plain, b[:cut])
	atCut, before := strip, len(t.plain)
	t.plain = strip.Append(t.plain, b[cut:])
	if len(t.plain)-before < edge || bytes.Contains(t.folded(t.plain), t.query.literal) {
		return false
	}
	t.lane.restart()
	*t.lane.strip = atCut
	t.from = t.lane.end()
	t.lane.put(b[cut:], at+int64(cut))
	t.from = max(t.from, t.lane.floor(t.lane.end()-int64(edge)))
	return true
}

// asItStands searches b from a place on, and returns the end of the part that is used up: the end of the last match, or
// of its line if no further match on it is wanted.
func (t *textSearch) asItStands(found []*Match, b []byte, at int64, from int) ([]*Match, int) {
	text := t.folded(b)
	size := len(t.query.literal)
	firsts := t.query.places && t.query.InLines() // as in a watch
	for {
		i := bytes.Index(text[from:], t.query.literal)
		if i < 0 {
			return found, from
		}
		start := from + i
		from = start + size
		m := &Match{Start: at + int64(start), End: at + int64(from)}
		found = append(found, m)
		if !t.query.places {
			m.Text = string(b[start:from])
		}
		if firsts {
			lf := bytes.IndexByte(b[from:], '\n')
			from += max(lf, 0)
			firsts = lf >= 0 // or each match would search the rest for it
		}
	}
}

// inLane searches the text in the lane, and keeps its end, in which a match may have begun.
func (t *textSearch) inLane(found []*Match) []*Match {
	l, size := &t.lane, int64(len(t.query.literal))
	view := l.view(t.from, l.end())
	text, base := t.folded(view), t.from
	for {
		i := bytes.Index(text[t.from-base:], t.query.literal)
		if i < 0 {
			break
		}
		start := t.from + int64(i)
		t.from = start + size
		found = append(found, &Match{
			Start: l.offset(start), End: l.offset(t.from-1) + 1, Text: string(view[start-base : t.from-base]),
		})
	}
	t.from = max(t.from, l.floor(l.end()-size+1))
	l.cut(t.from)
	return found
}

// folded returns the form of b in which the literal is searched.
func (t *textSearch) folded(b []byte) []byte {
	if !t.query.fold {
		return b
	}
	t.lower = appendLower(t.lower[:0], b)
	return t.lower
}

// isPlain reports whether a Stripper outside of any sequence leaves b as it is.
func isPlain(b []byte) bool { return plainLength(b) == len(b) }
