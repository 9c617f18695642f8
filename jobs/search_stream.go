package jobs

import (
	"errors"
	"slices"

	"shelld/jobs/internal/match"
	"shelld/jobs/internal/spool"
)

// A searching is a search that goes on. It belongs to one goroutine.
type searching struct {
	*SearchSpec
	cancel, ending <-chan struct{}
	late           func() bool // says whether time is over; nil: it never is
	key            string      // of its cursors
	progress       bool        // the next search would begin further on: time may be over

	res  SearchResult
	used int // of MaxBytes
	err  *Error

	buf []byte // for reading; its bytes are good until the next read
}

const searchRead = 256 << 10

// ended says whether the search is over.
func (s *searching) ended() bool { return s.err != nil || s.res.End != SearchedAll }

// over says whether it has to be, and notes why.
func (s *searching) over() bool {
	if s.ended() {
		return true
	}
	select {
	case <-s.cancel:
		s.err = errSearchCanceled()
	case <-s.ending:
		s.err = errSearchEnding()
	default:
		if !s.progress || s.late == nil || !s.late() {
			return false
		}
		s.res.End = SearchTimedOut
	}
	return true
}

// targets searches jobs, which are given in the order of their handles.
func (s *searching) targets(m *Manager, all []SearchTarget) {
	if s.Reverse {
		slices.Reverse(all)
	}
	for _, t := range all {
		if s.target(m, t); s.ended() {
			break
		}
	}
}

// target searches the streams of a job.
func (s *searching) target(m *Manager, t SearchTarget) {
	j := t.job
	if t.release == nil {
		defer j.Hold()()
		if !m.Knows(j.id) { // removed meanwhile
			return
		}
	}
	looked := false
	for i := range j.streams {
		if s.Reverse {
			i = len(j.streams) - 1 - i
		}
		st := j.streams[i]
		p := searchedStream{searching: s, job: j, spool: st.spool, name: st.name, end: t.ends[i]}
		if s.Stream != "" && s.Stream != st.name || p.isBehind() {
			continue
		}
		looked = true
		if p.search(); s.ended() {
			break
		}
	}
	if looked {
		s.res.Jobs++
	}
}

// isBehind says whether the search goes on behind this stream.
func (p *searchedStream) isBehind() bool {
	c := p.Cursor
	if c == nil {
		return false
	}
	before := c.compare(p.job.id, p.name)
	return before != 0 && (before < 0) == p.Reverse
}

// search searches the stream, and counts what was looked at.
func (p *searchedStream) search() {
	from, to := p.bounds()
	if from >= to {
		return
	}
	gaps := len(p.res.Gaps)
	if p.Reverse {
		p.backward(from, to)
	} else {
		p.forward(from, to)
	}
	if n := p.res.Next; n != nil && p.Reverse {
		from = min(max(from, n.Offset), to)
	} else if n != nil {
		to = max(min(to, n.Offset), from)
	}
	p.res.Bytes += to - from
	for _, g := range p.res.Gaps[gaps:] {
		p.res.Bytes -= max(min(g.To, to)-max(g.From, from), 0)
	}
}

// A searchedStream is a stream that is being searched, as far as it had come.
type searchedStream struct {
	*searching
	job   *Job
	spool *spool.Spool
	name  Stream
	end   int64
	clean Range // has no escape character; see lastEscape
	marks searchMarks
}

// bounds are where in the stream a match may begin.
func (p *searchedStream) bounds() (from, to int64) {
	end := p.counted()
	at := func(off *int64, otherwise int64) int64 {
		switch {
		case off == nil:
			return otherwise
		case *off < 0:
			return max(end+*off, 0)
		}
		return min(*off, p.end)
	}
	from, to = at(p.From, 0), at(p.To, p.end)
	switch c := p.place(); {
	case c == nil:
		return from, to
	case p.Reverse:
		return from, min(to, c.Offset)
	default:
		return max(from, c.Offset), to
	}
}

// place is the cursor where it is in this stream, and else nil.
func (p *searchedStream) place() *SearchPlace {
	if c := p.Cursor; c != nil && c.compare(p.job.id, p.name) == 0 {
		return c
	}
	return nil
}

// counted is the end from which negative bounds are counted: as it was when the search came to the
// stream. Counted anew by each answer, while the job goes on writing, they would leave out what lies
// between.
func (p *searchedStream) counted() int64 {
	if c := p.place(); c != nil && c.End > 0 {
		return c.End
	}
	return p.end
}

// compare says whether the stream of a place comes before another one, or after it, in
// the order of a search.
func (c *SearchPlace) compare(id ID, name Stream) int {
	if c.Job != id {
		return int(c.Job - id)
	}
	rank := func(s Stream) int { return slices.Index([]Stream{PTY, Stdout, Stderr}, s) }
	return rank(c.Stream) - rank(name)
}

// stop ends the search, whose next one goes on at an offset of this stream.
func (p *searchedStream) stop(why SearchEnd, at int64) {
	p.res.End = why
	p.res.Next = &SearchPlace{Job: p.job.id, Stream: p.name, Offset: at, Reverse: p.Reverse, Marks: p.marks.before(at), Search: p.key}
	if p.fromEnd() {
		p.res.Next.End = p.counted()
	}
}

// gap tells what of the range to be searched is not kept.
func (p *searchedStream) gap(from, to int64) {
	if from < to {
		p.res.Gaps = append(p.res.Gaps, SearchGap{p.job.id, p.name, Range{From: from, To: to}})
	}
}

// forward tells the matches that begin in [from, to), in order.
func (p *searchedStream) forward(from, to int64) {
	decided := p.pass(from, to, func(m *match.Match) bool {
		told := p.told(m)
		if !p.add(&told) {
			p.stop(p.res.End, m.Start)
			return false
		}
		return p.err == nil // not if time was over meanwhile: what was found before that is told
	})
	if p.res.End == SearchTimedOut {
		p.stop(SearchTimedOut, decided)
	}
}

// pass gives the matches that begin in [from, to) to take, until that returns false. It
// returns before which offset all were given.
func (p *searchedStream) pass(from, to int64, take func(*match.Match) bool) (decided int64) {
	before, cut := p.before(from)
	run := p.query.Begin(from, before, cut, p.over)
	if p.buf == nil {
		p.buf = make([]byte, searchRead)
	}
	for off := from; ; {
		room := max(p.until(to)-off, 0)
		n, at, err := p.spool.TryRead(p.buf[:min(searchRead, room)], off)
		if err != nil {
			p.unreadable(off, err)
			return off
		}
		n = int(max(min(int64(n), off+room-at), 0)) // what was dropped may reach further
		if n == 0 || at > off {                     // nothing reaches over what is gone
			if !p.give(run, from, to, take) {
				return off
			}
			p.gap(off, min(at, to))
			run = p.query.Begin(at, nil, true, p.over)
		}
		if n == 0 {
			return to
		}
		off = at + int64(n)
		if !p.feed(run, p.buf[:n], from, to, take) {
			return min(run.Decided(), to)
		}
		if run.Decided() >= to {
			return to
		}
	}
}

// unreadable ends the search, since it can't know what is stored at an offset.
func (p *searchedStream) unreadable(off int64, err error) {
	if p.err == nil {
		p.err = p.job.unreadable(off, err, "see to the disk and search again, or search around it: give handle, stream, and from or to")
	}
}

// read returns what is kept of a range, and what is not; where it can't be read, the search ends.
func (p *searchedStream) read(from, to int64) (b []byte, gaps []Range) {
	b, gaps, err := p.spool.TryReadRange(from, to)
	if err != nil {
		p.unreadable(from, err)
	}
	return b, gaps
}

// until is how far output has to be read for matches that begin before an offset.
func (p *searchedStream) until(to int64) int64 { return min(p.end, to+match.Behind) }

// feed gives what was read to a run; false: it is over.
func (p *searchedStream) feed(run *match.Search, b []byte, from, to int64, take func(*match.Match) bool) bool {
	for len(b) > 0 && run.Decided() < to {
		if p.over() {
			return false
		}
		n, found, err := run.Step(b)
		if !p.taken(found, from, to, take) || !p.holds(err) || run.Stopped() {
			return false
		}
		p.passed(run.Decided(), from, to)
		b = b[n:]
	}
	return true
}

// passed notes how far a pass has come that began at from.
func (p *searchedStream) passed(decided, from, to int64) {
	if p.Reverse {
		p.passedBack(decided, from, to)
		return
	}
	p.progress = p.progress || decided > from
}

// give takes what is left of a run whose output is at its end; false: it is over.
func (p *searchedStream) give(run *match.Search, from, to int64, take func(*match.Match) bool) bool {
	found, err := run.End()
	return p.taken(found, from, to, take) && p.holds(err)
}

func (p *searchedStream) taken(found []*match.Match, from, to int64, take func(*match.Match) bool) bool {
	for _, m := range found {
		if m.Start >= from && m.Start < to && !take(m) {
			return false
		}
	}
	return true
}

// holds says whether the pattern did not fail.
func (p *searchedStream) holds(err error) bool {
	if err != nil && p.err == nil {
		p.err = errorf(CodeLimitExceeded, "%v in the output of job %d; make the pattern simpler, or look for a literal", err, p.job.id)
		p.err.Limit, p.err.Max = "patternTimeMs", match.TimeLimit.Milliseconds()
		if errors.Is(err, match.ErrStackLimit) {
			p.err.Limit, p.err.Max = "patternStack", match.StackLimit
		}
	}
	return err == nil
}

// before reads what stands in front of an offset, as far as a search may have to know it;
// cut says that there was more.
func (p *searchedStream) before(off int64) (b []byte, cut bool) {
	low := max(off-match.Behind, 0)
	b, gaps := p.read(low, off)
	if n := len(gaps); n > 0 {
		b = b[int64(len(b))-(off-max(gaps[n-1].To, low)):]
		return b, true
	}
	return b, low > 0
}
