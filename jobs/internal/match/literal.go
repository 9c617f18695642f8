package match

import (
	"bytes"
	"encoding/binary"
)

// A textSearch finds a text in output that comes in pieces. Where nothing has to be
// removed from a piece it is searched as it stands; else in a lane. Between pieces the
// lane has the end of what came, in which a match may have begun.
type textSearch struct {
	query *Query
	lane  lane
	from  int64 // no match starts before this position of the lane
	lower []byte
}

func newTextSearch(q *Query) *textSearch {
	t := &textSearch{query: q}
	if !q.raw {
		t.lane.strip = new(Stripper)
	}
	return t
}

// lead takes what stands before the place where matches begin.
func (t *textSearch) lead(before []byte) {
	t.lane.put(before, 0) // where it was is never asked
	t.lane.replaceHeld()
	t.from = t.lane.end()
	t.lane.cut(t.from)
}

// feed searches the next piece, which stands at a raw offset.
func (t *textSearch) feed(found []*Match, b []byte, at int64) []*Match {
	edge := len(t.query.literal) - 1
	quick := (t.lane.strip == nil || t.lane.strip.atText()) && t.lane.nheld == 0 && !t.query.foreign && len(b) > 2*edge && t.query.clean(b)
	if !quick {
		t.lane.put(b, at)
		return t.inLane(found)
	}
	done := 0 // how far a match has used b up
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

// asItStands searches b from a place on, and returns where the last match ends.
func (t *textSearch) asItStands(found []*Match, b []byte, at int64, from int) ([]*Match, int) {
	text := t.folded(b)
	size := len(t.query.literal)
	for {
		i := bytes.Index(text[from:], t.query.literal)
		if i < 0 {
			return found, from
		}
		start := from + i
		from = start + size
		found = append(found, &Match{Start: at + int64(start), End: at + int64(from), Text: string(b[start:from])})
	}
}

// inLane searches what the lane has, and keeps the end of it in which a match may have
// begun.
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

// folded is the text in which the literal is looked for.
func (t *textSearch) folded(b []byte) []byte {
	if !t.query.fold {
		return b
	}
	t.lower = appendLower(t.lower[:0], b)
	return t.lower
}

// isPlain reports whether a Stripper that is in no sequence leaves b as it is.
func isPlain(b []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		// A byte below 0x20, or 0x7f; what is above 0x7f is neither.
		low := (w - ones*0x20) &^ w & highs
		x := w ^ ones*0x7f
		del := (x - ones) &^ x & highs
		if low|del != 0 && !allStay(b[:8]) {
			return false
		}
		b = b[8:]
	}
	return allStay(b)
}

func allStay(b []byte) bool {
	for _, c := range b {
		if !stays[c] {
			return false
		}
	}
	return true
}
