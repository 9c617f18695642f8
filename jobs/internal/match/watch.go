package match

import (
	"bytes"
	"time"
	"unicode/utf8"
)

const (
	// lookback is how far before the present block a match may begin and a
	// look-behind may see, in bytes of the text that the pattern sees.
	lookback = 64 << 10
	// blockSize is the grid, counted from where a pattern joined, at which the
	// lookback moves. That it moves on a grid and not with each Feed is what
	// makes matches independent of how the bytes were read.
	blockSize = 16 << 10
	// near is how far the first search after a match looks. The engine decodes
	// all that it is given, which would make many matches in a block quadratic.
	near = 64
	// perMatch is what each search has for nothing: a text full of matches is no
	// exploding pattern.
	perMatch = 20 * time.Microsecond
	// longLine is how much of an unfinished line is searched again at every Feed.
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
	bare    bool // nobody asks for the texts of a match
	firsts  bool // nor for further ones on its line, where none reaches into the next
	lane    *lane

	origin  int64   // nothing before this position is seen, ever
	block   int64   // start of the present block
	from    int64   // no match starts before this position
	state   outcome // what the attempt at from came to: open, spent, or anything else
	leaning bool    // there may be a match that more bytes may change
	strikes int     // scans in a row that ran out of time
	givenUp int64   // a start was given up that had read on to this position, or a match cut there; -1: none was
}

// restart begins afresh: matches start at from, and what can be looked back at
// begins at origin.
func (w *watch) restart(origin, from int64) {
	w.origin, w.from, w.block, w.state, w.leaning = origin, from, from, refused, false
	w.givenUp = -1
}

// low is how far back a match may begin in the present block.
func (w *watch) low() int64 { return max(w.origin, w.block-lookback) }

// sees is where the text begins that a search from w.from is given. One
// character more than can be looked at is left in front, for ^ must not take
// the edge of the window for the start of the stream.
func (w *watch) sees() int64 {
	if behind := w.pattern.shape.behind; behind <= lookback/utf8.UTFMax {
		return w.lane.floor(max(w.origin, w.from-int64(utf8.UTFMax*behind)))
	}
	return w.lane.floor(max(w.origin, w.low()-1))
}

// needs is the first position that has to stay in the window.
func (w *watch) needs() int64 {
	return min(w.lane.floor(max(w.origin, w.from-maxLine)), w.sees())
}

// A scan is one run of a watch over what is new in its window.
type scan struct {
	*watch
	machine *machine
	scratch *scratch
	final   bool          // what came so far is all for now
	whole   bool          // what is searched is a line that has come to its end
	used    time.Duration // by searches
	began   time.Duration // processTime when used began to count; 0 before the first search
	careful bool          // one took long: what is used is the processor's time
	struck  bool          // one ran out of time
	found   []Hit
	line    lineCache
	places  []place // find's

	most   int     // Set.Most
	last   []place // the last match that is not in found
	passed int64   // how many are not, beside that
}

// run searches what is in the window. An error means that the pattern has to go.
func (s *scan) run() error {
	if s.lines {
		if err := s.wholeLines(); err != nil || s.done() {
			return err
		}
	}
	return s.blocks(s.lane.end(), s.final)
}

// wholeLines searches the lines that have come to their end, each as if it were all that
// there is.
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

// blocks searches block by block up to end; with all, nothing follows that matters.
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

// hits is what the scan has to tell.
func (s *scan) hits() []Hit {
	if s.last != nil {
		s.found = append(s.found, Hit{ID: s.id, Match: s.match(s.last), Passed: s.passed})
	}
	return s.found
}

// done reports whether a pattern that counts once has counted.
func (s *scan) done() bool { return s.once && len(s.found) > 0 }

// strike decides whether a failed search removes the pattern. A search that
// ran out of time may have met a stalled machine, so it has a second chance, at
// the latest with Settle: nothing that it may have missed is passed over.
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

// leaveBlock moves on to the next block. A match that could begin no more in
// that one counts as far as it has come: it is as long as the lookback allows.
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

// find searches for the first match from s.from on in what lies before limit. The
// places are good until the next call.
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

// waits reports whether no search up to stop is worth its time. While the start
// s.from is open no other one counts, so a long line or an unfinished block
// costs one attempt a Feed; where even that took too many steps, the next look
// is taken at the edge of the block. Whether there is a match that leans is left
// to Settle.
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

// search accepts, one after another, the matches in what lies before stop: those
// that count now, or all if final. It leaves s.from where the next one can
// begin at the earliest.
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

// skipEmpty moves s.from over characters at which the pattern can only match
// empty, for which the engine would be asked one by one.
func (s *scan) skipEmpty(stop int64) {
	if sh := &s.pattern.shape; sh.empty && s.from < stop {
		text := s.lane.view(s.from, stop)
		for len(text) > 0 && text[0] < utf8.RuneSelf && !sh.first[text[0]] {
			text = text[1:]
		}
		s.from = stop - int64(len(text))
	}
}

// accept reports the match m, and moves on to where the next one may begin. An
// empty match is never reported: a pattern that can be empty would match for
// ever without telling anything. As in ECMAScript, the next match then begins
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

// lineLeft is where the line ends that a match ends on before to, and to where that is not known: where
// its end has not come, or where something was removed in between, in which a line of the raw stream
// may have ended.
func (s *scan) lineLeft(to int64) int64 {
	n := bytes.IndexByte(s.lane.view(to, s.lane.end()), '\n')
	if n < 0 || !s.lane.adjacent(to-1, to+int64(n)) {
		return to
	}
	return to + int64(n)
}

// settled decides whether no byte after limit can change the match m, the first
// from s.from on. If it may, first is the earliest start of what it may become.
//
// A match is settled if nothing that was tried to find it, here or at any start
// before, can have looked at the end of the text. Mostly the shape of the
// pattern tells; otherwise the machine tries again what the engine has tried.
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
	// Should machine and engine ever disagree, the match waits.
	return first, result == matched && first == m.from && end == m.to
}

// firstOpen moves s.from to the first start at which a match may yet begin when
// more bytes come; the engine has found none up to limit.
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
	// The end of an ordinary line is searched again sooner than surveyed.
	if !bounded && (limit-s.from > longLine || !sh.lf && !sh.cr) {
		s.from, s.state, _ = s.survey(limit, limit)
	}
}

// survey tries the starts from s.from to last, and stops at the first that does
// not refuse. The result is refused, at last, if all of them do.
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
