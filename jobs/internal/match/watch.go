package match

import (
	"bytes"
	"time"
	"unicode/utf8"
)

const (
	// lookback is the distance before the present block at which a match may begin and that a look-behind may see, in
	// bytes of the text that the pattern sees.
	lookback = 64 << 10
	// blockSize is the grid, counted from the place where a pattern was added, at which the lookback moves. It moves on
	// a grid and not with each Feed, so that matches do not depend on how the bytes were read.
	blockSize = 16 << 10
	// near is the distance that the first search after a match covers. The engine decodes its whole input, which would
	// make many matches in a block quadratic.
	near = 64
	// perMatch is the part of each search's time that is not counted: a text full of matches does not make an exploding
	// pattern.
	perMatch = 20 * time.Microsecond
	// longLine is the length of an unfinished line that is searched again at every Feed.
	longLine = 256
	// wide is the reach from which a pattern counts as unbounded.
	wide = 1024
)

// A watch is one pattern on its way along a lane.
type watch struct {
	// Immutable.
	id      int
	pattern *Pattern
	once    bool
	lines   bool // each line is matched by itself
	bare    bool // the texts of matches are not needed
	firsts  bool // nor further matches on the same line, if none reaches into the next
	lane    *lane

	origin  int64   // nothing before this position is ever seen
	block   int64   // start of the present block
	from    int64   // no match starts before this position
	state   outcome // result of the attempt at from: open, spent, or anything else
	leaning bool    // there may be a match that more bytes may change
	strikes int     // scans in a row that ran out of time
	givenUp int64   // a start was given up that had read up to this position, or a match was cut there; -1: none
}

// restart begins afresh: matches start at from, and the visible text begins at origin.
func (w *watch) restart(origin, from int64) {
	w.origin, w.from, w.block, w.state, w.leaning = origin, from, from, refused, false
	w.givenUp = -1
}

// low returns the position from which a match may begin in the present block.
func (w *watch) low() int64 { return max(w.origin, w.block-lookback) }

// sees returns the position where the input of a search from w.from begins. It includes one character more than the
// pattern can see, because ^ must not take the edge of the window for the start of the stream.
func (w *watch) sees() int64 {
	if behind := w.pattern.shape.behind; behind <= lookback/utf8.UTFMax {
		return w.lane.floor(max(w.origin, w.from-int64(utf8.UTFMax*behind)))
	}
	return w.lane.floor(max(w.origin, w.low()-1))
}

// needs returns the first position that has to stay in the window.
func (w *watch) needs() int64 {
	return min(w.lane.floor(max(w.origin, w.from-maxLine)), w.sees())
}

// A scan is one run of a watch over the new text in its window.
type scan struct {
	*watch
	machine *machine
	scratch *scratch
	final   bool          // no more output is expected for now
	whole   bool          // the searched text is a complete line
	used    time.Duration // by searches
	began   time.Duration // processTime when used began to count; 0 before the first search
	careful bool          // one took long: used counts processor time
	struck  bool          // one ran out of time
	found   []Hit
	line    lineCache
	places  []place // buffer of find

	most   int     // Set.Most
	last   []place // the last match that is not in found
	passed int64   // number of matches not in found, besides that
}

// run searches the text in the window. An error means that the pattern must be removed.
func (s *scan) run() error {
	if s.lines {
		if err := s.wholeLines(); err != nil || s.done() {
			return err
		}
	}
	return s.blocks(s.lane.end(), s.final)
}

// wholeLines searches the complete lines, each as if it were the whole text.
func (s *scan) wholeLines() error {
	for !s.done() {
		n := bytes.IndexByte(s.lane.view(s.from, s.lane.end()), '\n')
		if n < 0 {
			break
		}
		lf := s.from + int64(n)
		s.whole = true
		err := s.blocks(lf, true)
		if s.whole = false; err != nil {
			return err
		}
		if s.strikes > 0 { // it is tried once more
			s.used, s.began = 0, 0
			continue
		}
		s.restart(lf+1, lf+1)
	}
	return nil
}

// blocks searches block by block up to end; with all, nothing after end matters.
func (s *scan) blocks(end int64, all bool) error {
	for {
		edge := s.block + blockSize
		stop := end
		if edge < end {
			stop = s.lane.floor(edge)
		}
		final := all && stop == end
		if final || !s.waits(stop, edge < end) {
			if err := s.search(stop, final); err != nil {
				return s.strike(err)
			}
			s.strikes = 0
		}
		if edge >= end || s.done() {
			break
		}
		if err := s.leaveBlock(stop); err != nil {
			return s.strike(err)
		}
	}
	return nil
}

// hits returns the hits of the scan.
func (s *scan) hits() []Hit {
	if s.last != nil {
		s.found = append(s.found, Hit{ID: s.id, Match: s.match(s.last), Passed: s.passed})
	}
	return s.found
}

// done reports whether a pattern with Once has matched.
func (s *scan) done() bool { return s.once && len(s.found) > 0 }

// strike decides whether a failed search removes the pattern. A search that ran out of time may have met a stalled
// machine, so it gets a second chance, at the latest with Settle: the text that it may have missed is not skipped.
func (s *scan) strike(err error) error {
	if err != errTimeout {
		return err
	}
	s.leaning, s.struck = true, true
	if s.strikes++; s.strikes < 2 {
		return nil
	}
	return ErrTimeLimit
}

// leaveBlock moves on to the next block. A match that could not begin so far back in that block counts as far as it has
// come: it is as long as the lookback allows.
func (s *scan) leaveBlock(stop int64) error {
	low := s.lane.floor(max(s.origin, s.block+blockSize-lookback))
	if s.from < low {
		s.givenUp = stop
	}
	for s.from < low && !s.done() {
		s.state = refused
		m, err := s.find(stop)
		if err != nil {
			return err
		}
		if m == nil || m[0].from >= low {
			s.from = low
			break
		}
		s.accept(m)
	}
	s.block += blockSize
	return nil
}

// A place is a span in positions of the lane.
type place struct{ from, to int64 }

// find searches for the first match from s.from on in the text before limit. The places are valid until the next call.
func (s *scan) find(limit int64) ([]place, error) {
	if !s.pattern.shape.canMatch(s.lane.view(s.from, limit)) {
		return nil, nil
	}
	origin := s.sees()
	spans, err := s.timed(s.lane.view(origin, limit), int(s.from-origin))
	if err != nil || spans == nil {
		return nil, err
	}
	s.places = s.places[:0]
	for _, sp := range spans {
		p := place{none, none}
		if sp.from >= 0 {
			p = place{origin + int64(sp.from), origin + int64(sp.to)}
		}
		s.places = append(s.places, p)
	}
	return s.places, nil
}

// waits reports whether no search up to stop is worth its time. While the start s.from is open no other one counts, so
// a long line or an unfinished block costs one attempt per Feed; if even that took too many steps, the next attempt is
// made at the edge of the block. Whether there is a match that depends on the end is left to Settle.
func (s *scan) waits(stop int64, atEdge bool) bool {
	switch s.state {
	case open:
		first, result, _ := s.survey(s.from, stop)
		s.state, s.leaning = result, first == s.from && result == open
	case spent:
		s.leaning = !atEdge
	default:
		return false
	}
	return s.leaning
}

// search accepts, one after another, the matches in the text before stop: those that count now, or all if final. It
// leaves s.from at the earliest start of the next one.
func (s *scan) search(stop int64, final bool) error {
	s.leaning = false
	limit := stop
	s.skipEmpty(stop)
	for s.from < stop {
		s.state = refused
		m, err := s.find(limit)
		if err != nil {
			return err
		}
		first, settled := s.from, false
		switch last := final && limit == stop; {
		case last && s.whole:
			settled = m != nil
		case m != nil:
			first, settled = s.settled(m[0], limit)
			settled = settled || last
		}
		switch {
		case settled && m[0].from == stop: // empty, and nothing to step over yet
			return nil
		case settled:
			s.accept(m)
			if s.done() {
				return nil
			}
			s.skipEmpty(stop)
			limit = s.lane.floor(min(stop, s.from+near))
		case limit < stop:
			limit = s.lane.floor(min(stop, s.from+8*(limit-s.from)))
		case m == nil:
			if !final || !s.whole {
				s.firstOpen(limit)
			}
			return nil
		default:
			s.from = first
			s.leaning = m[0].from < stop
			return nil
		}
	}
	return nil
}

// skipEmpty moves s.from over characters at which the pattern can only match empty; otherwise the engine would search
// at each of them.
func (s *scan) skipEmpty(stop int64) {
	if sh := &s.pattern.shape; sh.empty && s.from < stop {
		text := s.lane.view(s.from, stop)
		for len(text) > 0 && text[0] < utf8.RuneSelf && !sh.first[text[0]] {
			text = text[1:]
		}
		s.from = stop - int64(len(text))
	}
}

// accept reports the match m, and moves on to the earliest start of the next one. An empty match is never reported: a
// pattern that can be empty would match for ever without any information. As in ECMAScript, the next match then begins
// one character on.
func (s *scan) accept(m []place) {
	whole := m[0]
	switch {
	case whole.to == whole.from:
		s.from = s.lane.next(whole.from)
		return
	case s.most == 0 || len(s.found) < s.most-1:
		s.found = append(s.found, Hit{ID: s.id, Match: s.match(m)})
	default:
		if s.last != nil {
			s.passed++
		}
		s.last = append(s.last[:0], m...)
	}
	s.from = whole.to
	if s.firsts {
		s.from = s.lineLeft(whole.to)
	}
}

// lineLeft returns the end of the line that the match before to ends on. It returns to if that end is not known: it has
// not come, or something was removed in between, which may contain the end of a line of the raw stream.
func (s *scan) lineLeft(to int64) int64 {
	n := bytes.IndexByte(s.lane.view(to, s.lane.end()), '\n')
	if n < 0 || !s.lane.adjacent(to-1, to+int64(n)) {
		return to
	}
	return to + int64(n)
}

// settled decides whether no byte after limit can change the match m, the first from s.from on. If one may, first is
// the earliest start of the match that it may become.
//
// A match is settled if no attempt to find it, here or at any start before, can have read the end of the text. Mostly
// the shape of the pattern decides; otherwise the machine tries again what the engine has tried.
func (s *scan) settled(m place, limit int64) (first int64, ok bool) {
	sh := &s.pattern.shape
	if sh.reach <= wide && limit-m.from >= int64(utf8.UTFMax*sh.reach) {
		return m.from, true
	}
	if ahead := s.lane.view(m.from, limit); sh.lf && bytes.IndexByte(ahead, '\n') >= 0 || sh.cr && bytes.IndexByte(ahead, '\r') >= 0 {
		return m.from, true
	}
	first, result, end := s.survey(m.from, limit)
	s.state = result
	if m.from == m.to && result == refused {
		return m.from, true // no start before it can match, and here nothing but this
	}
	// If machine and engine ever disagree, the match waits.
	return first, result == matched && first == m.from && end == m.to
}

// firstOpen moves s.from to the first start at which a match may yet begin when more bytes come; the engine has found
// none up to limit.
func (s *scan) firstOpen(limit int64) {
	sh := &s.pattern.shape
	bounded := sh.reach <= wide
	if bounded {
		s.from = max(s.from, s.lane.floor(min(limit, limit-int64(utf8.UTFMax*sh.reach)+1)))
	}
	text, last := s.lane.view(s.from, limit), -1
	if sh.lf {
		last = bytes.LastIndexByte(text, '\n')
	}
	if sh.cr {
		last = max(last, bytes.LastIndexByte(text, '\r'))
	}
	s.from += int64(last + 1)
	// A search of the end of an ordinary line is faster than a survey.
	if !bounded && (limit-s.from > longLine || !sh.lf && !sh.cr) {
		s.from, s.state, _ = s.survey(limit, limit)
	}
}

// survey tries the starts from s.from to last, and stops at the first that does not refuse. The result is refused, at
// last, if all of them do.
func (s *scan) survey(last, limit int64) (start int64, result outcome, end int64) {
	origin := s.sees()
	text := s.lane.view(origin, limit)
	s.machine.load(s.pattern.prog, text)
	can := &s.pattern.shape.first
	for pos := int(s.from - origin); ; {
		here := origin + int64(pos)
		if here == limit {
			return here, refused, 0
		}
		c := text[pos]
		if c >= utf8.RuneSelf || can[c] {
			if result, to := s.machine.try(pos); result != refused {
				return here, result, origin + int64(to)
			}
		}
		if here >= last {
			return last, refused, 0
		}
		_, pos = s.machine.ahead(pos)
	}
}
