package match

import "bytes"

// searchPiece is how much a Search looks at in one go.
const searchPiece = 32 << 10

// Behind is how much of what stands before a search it may have to be told of.
const Behind = lookback + maxSequence

// A Search finds the matches of a query in output that it is fed from one offset on,
// without a gap. It belongs to one caller.
type Search struct {
	query *Query
	began int64 // raw offset of the first byte
	next  int64 // and of the next
	stop  func() bool

	stopped bool // stop was true: there is output that no pattern was asked about

	text *textSearch // of a literal
	set  *Set        // of a pattern; nil where lines were passed over

	lineStart bool // the next byte begins a line, and no sequence and no character is under way
}

// Begin begins a search at a raw offset. before is what stands in front of it, as far as
// it is kept and up to Behind; with gap, what stood before that is gone. stop is asked now
// and then; see [Search.Stopped].
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

// set has the pattern see what stands before the place where its matches begin.
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

// Stopped reports whether stop was true. What Step had found before that it has returned, and
// what is before Decided was looked at; of the rest the search takes no notice any more.
func (s *Search) Stopped() bool { return s.stopped }

// Step takes the first of the next raw bytes, and says how many. It returns the matches
// that no further byte can change, in order. After an error, which is [ErrTimeLimit] or
// [ErrStackLimit], nothing is found any more.
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
			s.set = nil // how far a match is followed counts from where a long line begins, wherever the search has
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

// lines gives those of some whole lines to the pattern that it can match.
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

// pass leaves out whole lines.
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

// Decided is the raw offset before which no match begins that was not returned.
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

// clean reports whether the query sees b as it stands, where no sequence is under way.
func (q *Query) clean(b []byte) bool { return q.raw || isPlain(b) }

// End says that nothing follows, and returns the matches that lean on the end.
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
