package match

import "bytes"

// searchPiece is the number of bytes that a Search examines in one step.
const searchPiece = 32 << 10

// Behind is the maximum number of bytes before a search that can affect it.
const Behind = lookback + maxSequence

// A Search finds the matches of a query in output that it is fed from one offset on, without a gap. It belongs to one
// caller.
type Search struct {
	query *Query
	began int64 // raw offset of the first byte
	next  int64 // raw offset of the next byte
	stop  func() bool

	stopped bool // stop was true: some output was not searched

	text *textSearch // of a literal
	set  *Set        // of a pattern; nil after lines were skipped

	lineStart bool // the next byte begins a line, and no sequence and no character is unfinished
}

// Begin begins a search at a raw offset. before is the output in front of it, as far as it is kept and up to Behind;
// with gap, the output before that is gone. stop is called now and then; see [Search.Stopped].
func (q *Query) Begin(at int64, before []byte, gap bool, stop func() bool) *Search {
	s := &Search{query: q, began: at, next: at, stop: stop}
	if q.literal != nil {
		s.text = newTextSearch(q)
		s.text.lead(before)
		return s
	}
	s.set = q.set(at, before, gap, stop)
	s.lineStart = (len(before) == 0 && !gap || bytes.HasSuffix(before, []byte{'\n'})) && s.set.AtStart()
	return s
}

// set returns a Set whose pattern sees the output before the place where its matches begin.
func (q *Query) set(at int64, before []byte, gap bool, stop func() bool) *Set {
	s := NewSet(at - int64(len(before)))
	s.Stop = stop
	s.Add(0, q.pattern, Options{Raw: q.raw, Lines: q.lines, Places: q.places})
	l := &s.plain
	if q.raw {
		l = &s.raw
	}
	if gap {
		l.gap()
	}
	s.plain.put(before, s.next)
	s.plain.replaceHeld()
	if q.raw {
		l.put(before, s.next)
	}
	s.next = at
	l.replaceHeld()
	origin := l.base
	if q.lines {
		origin += int64(bytes.LastIndexByte(l.text, '\n') + 1)
	}
	l.watches[0].restart(origin, l.end())
	return s
}

// Stopped reports whether stop was true. Step has returned the matches found before that, and the output before Decided
// was searched; the search ignores the rest.
func (s *Search) Stopped() bool { return s.stopped }

// Step takes the first of the next raw bytes, and returns their number. It returns the matches that no further byte can
// change, in order. After an error, which is [ErrTimeLimit] or [ErrStackLimit], it finds no more matches.
func (s *Search) Step(b []byte) (n int, found []*Match, err error) {
	n = min(len(b), searchPiece)
	if s.stopped {
		return n, nil, nil
	}
	if s.text != nil {
		found = s.text.feed(nil, b[:n], s.next)
		s.next += int64(n)
		return n, found, nil
	}
	lf := bytes.LastIndexByte(b[:n], '\n')
	switch {
	case lf < 0:
		if s.lineStart && s.next > s.began && s.query.InLines() {
			s.set = nil // a match is followed from the beginning of a long line, wherever the search began
		}
	case s.lineStart:
		if n = lf + 1; s.query.must != nil && s.query.clean(b[:n]) {
			found, err = s.lines(b[:n])
			return n, found, err
		}
	default:
		n = bytes.IndexByte(b[:n], '\n') + 1
	}
	found, err = s.match(nil, b[:n])
	return n, found, err
}

// lines gives the pattern those of some whole lines that it can match.
func (s *Search) lines(b []byte) (found []*Match, err error) {
	for len(b) > 0 && err == nil && !s.stopped {
		first := bytes.Index(b, s.query.must[0])
		if first < 0 {
			s.pass(len(b))
			break
		}
		from := bytes.LastIndexByte(b[:first], '\n') + 1
		s.pass(from)
		n := first + bytes.IndexByte(b[first:], '\n') + 1
		if line := b[from:n]; s.query.pattern.shape.canMatch(line) {
			found, err = s.match(found, line)
		} else {
			s.pass(len(line))
		}
		b = b[n:]
	}
	return found, err
}

// pass skips whole lines.
func (s *Search) pass(n int) {
	if n > 0 {
		s.set = nil
		s.next += int64(n)
	}
}

// match gives a piece to the pattern.
func (s *Search) match(found []*Match, b []byte) ([]*Match, error) {
	if s.set == nil {
		s.set = s.query.set(s.next, []byte{'\n'}, false, s.stop)
	}
	hits := s.set.Feed(b)
	s.next += int64(len(b))
	s.stopped = s.set.Stopped()
	s.lineStart = b[len(b)-1] == '\n' && s.set.AtStart()
	return collect(found, hits)
}

// Decided returns the raw offset before which no further match begins: all of them were returned.
func (s *Search) Decided() int64 {
	switch {
	case s.text != nil:
		return s.text.lane.rawFrom(s.text.from, s.next)
	case s.set == nil:
		return s.next
	}
	for _, l := range s.set.lanes() {
		if len(l.watches) > 0 {
			return min(l.rawFrom(l.watches[0].from, s.set.next), s.set.Unseen())
		}
	}
	return s.next // the pattern failed
}

// clean reports whether the query sees b as it is, outside of any sequence.
func (q *Query) clean(b []byte) bool { return q.raw || isPlain(b) }

// End ends the output, and returns the matches that depend on the end.
func (s *Search) End() ([]*Match, error) {
	if s.set == nil || s.stopped {
		return nil, nil
	}
	return collect(nil, s.set.Settle())
}

func collect(found []*Match, hits []Hit) ([]*Match, error) {
	for _, h := range hits {
		if h.Removed != nil {
			return found, h.Removed
		}
		found = append(found, h.Match)
	}
	return found, nil
}
