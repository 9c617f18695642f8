// Package search finds a pattern in a stored stream, forwards or backwards, in pages of bounded size.
package search

import (
	"fmt"

	"shelld.dev/shelld/jobs/internal/match"
	"shelld.dev/shelld/jobs/internal/spool"
)

// A Spec is a query and its bounds: which part of each stream is searched, and how much is returned.
type Spec struct {
	Query    *match.Query
	Raw      bool   // as of the query
	From, To *int64 // the offsets in each stream between which a match may begin; negative: from the end
	Reverse  bool   // the newest first

	Context    int // lines before and after each match
	MaxMatches int // of all streams together
	MaxBytes   int // of the texts of all matches, about; one match is returned in any case
}

// A Place is the position in a stream at which a search continues: at the matches that begin at Offset or later or, in
// reverse, before it.
type Place struct {
	Offset int64
	Marks  []int64 // offsets at which a search in reverse can be resumed; see marks
	End    int64   // the end of the stream from which negative bounds are counted; 0: as it is now
}

// A Match is one match.
type Match struct {
	Start, End int64 // raw offsets
	Text       string
	Groups     []*string
	Named      map[string]*string
	Line       string   // on which it starts; plain, as the following
	Before     []string // the lines before that
	After      []string // the lines after the one on which it ends
	Cut        bool     // one of these texts is not complete
	Limited    bool     // as in match.Match

	endsLine bool // with a line break
}

// An End is the reason why a search ended before it had seen all of its streams.
type End string

// The reasons; All is none.
const (
	All         End = ""
	FullMatches End = "matches"
	FullBytes   End = "bytes"
	TimedOut    End = "time"
)

// A Result holds the results of a search in one stream.
type Result struct {
	Matches []Match       // in the order of the search
	Gaps    []spool.Range // ranges within the bounds that are not kept
	Next    *Place        // the start of the next search; nil: all was searched
	Bytes   int64         // that were searched
}

// A ReadError says that stored output cannot be read.
type ReadError struct {
	Offset int64
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("cannot read stored output at offset %d: %v", e.Offset, e.Err)
}

// Unwrap returns the error of the read.
func (e *ReadError) Unwrap() error { return e.Err }

// A Run is a search of one stream after another. It belongs to one goroutine.
type Run struct {
	Spec
	Stop func() error // returns why the search has to end at once, or nil
	Late func() bool  // reports whether its time is over; nil: it never is

	End End   // why it ended, unless Err is set
	Err error // a *ReadError, an error of the pattern, or the error from Stop

	progress bool // the next search would begin further on, so that this one may end for want of time
	matches  int  // of MaxMatches
	used     int  // of MaxBytes

	buf []byte // for reading; valid until the next read
}

const readSize = 256 << 10

// Ended reports whether the search is over.
func (r *Run) Ended() bool { return r.Err != nil || r.End != All }

// over reports whether the search is over or has to end now, and notes the reason.
func (r *Run) over() bool {
	if r.Ended() {
		return true
	}
	if r.Err = r.Stop(); r.Err != nil {
		return true
	}
	if !r.progress || r.Late == nil || !r.Late() {
		return false
	}
	r.End = TimedOut
	return true
}

// Search searches a stream up to end, an offset that the stream has reached. It starts at the place at which the search
// before ended, or if at is nil, at the beginning. The result is valid even if the search ended early.
func (r *Run) Search(s *spool.Spool, end int64, at *Place) Result {
	p := stream{Run: r, spool: s, end: end, at: at}
	p.search()
	return p.res
}

// search searches the stream and counts the bytes that it has searched.
func (p *stream) search() {
	from, to := p.bounds()
	if from >= to {
		return
	}
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
	for _, g := range p.res.Gaps {
		p.res.Bytes -= max(min(g.To, to)-max(g.From, from), 0)
	}
}

// A stream is the search of one stream, up to the end that the stream had at the request.
type stream struct {
	*Run
	spool *spool.Spool
	end   int64
	at    *Place
	clean spool.Range // has no escape character; see lastEscape
	marks marks
	res   Result
}

// bounds returns the range of the stream in which a match may begin.
func (p *stream) bounds() (from, to int64) {
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
	switch c := p.at; {
	case c == nil:
		return from, to
	case p.Reverse:
		return from, min(to, c.Offset)
	default:
		return max(from, c.Offset), to
	}
}

// counted returns the end of the stream from which negative bounds are counted: that of the first page. If each page
// counted from its own end while the job writes, the pages would skip the output between these ends.
func (p *stream) counted() int64 {
	if p.at != nil && p.at.End > 0 {
		return p.at.End
	}
	return p.end
}

// stop ends the search. The next one continues at an offset of this stream.
func (p *stream) stop(why End, at int64) {
	p.End = why
	p.res.Next = &Place{Offset: at, Marks: p.marks.before(at), End: p.counted()}
}

// gap notes a part of the range that is not kept.
func (p *stream) gap(from, to int64) {
	if from < to {
		p.res.Gaps = append(p.res.Gaps, spool.Range{From: from, To: to})
	}
}

// forward adds the matches that begin in [from, to), in order.
func (p *stream) forward(from, to int64) {
	decided := p.pass(from, to, func(m *match.Match) bool {
		found := newMatch(m)
		if !p.add(&found) {
			p.stop(p.End, m.Start)
			return false
		}
		return p.Err == nil // also if the time is over: the matches found before count
	})
	if p.End == TimedOut {
		p.stop(TimedOut, decided)
	}
}

// pass calls take with each match that begins in [from, to) until take returns false. It returns the offset before
// which take has seen all matches.
func (p *stream) pass(from, to int64, take func(*match.Match) bool) (decided int64) {
	before, cut := p.before(from)
	run := p.Query.Begin(from, before, cut, p.over)
	if p.buf == nil {
		p.buf = make([]byte, readSize)
	}
	for off := from; ; {
		room := max(p.until(to)-off, 0)
		n, at, err := p.spool.TryRead(p.buf[:min(readSize, room)], off)
		if err != nil {
			p.unreadable(off, err)
			return off
		}
		n = int(max(min(int64(n), off+room-at), 0)) // a gap may reach further
		if n == 0 || at > off {                     // no match reaches over a gap
			if !p.give(run, from, to, take) {
				return off
			}
			p.gap(off, min(at, to))
			run = p.Query.Begin(at, nil, true, p.over)
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

// unreadable ends the search, since the bytes at an offset cannot be read.
func (p *stream) unreadable(off int64, err error) {
	if p.Err == nil {
		p.Err = &ReadError{off, err}
	}
}

// read returns the kept bytes of a range and its gaps. If they cannot be read, the search ends.
func (p *stream) read(from, to int64) (b []byte, gaps []spool.Range) {
	b, gaps, err := p.spool.TryReadRange(from, to)
	if err != nil {
		p.unreadable(from, err)
	}
	return b, gaps
}

// until returns the offset up to which output has to be read to find the matches that begin before to.
func (p *stream) until(to int64) int64 { return min(p.end, to+match.Behind) }

// feed passes b to a pass of the query. It reports whether the pass goes on.
func (p *stream) feed(run *match.Search, b []byte, from, to int64, take func(*match.Match) bool) bool {
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

// passed notes the progress of a pass that began at from.
func (p *stream) passed(decided, from, to int64) {
	if p.Reverse {
		p.passedBack(decided, from, to)
		return
	}
	p.progress = p.progress || decided > from
}

// give takes the remaining matches of a pass whose output has ended. It reports whether the search goes on.
func (p *stream) give(run *match.Search, from, to int64, take func(*match.Match) bool) bool {
	found, err := run.End()
	return p.taken(found, from, to, take) && p.holds(err)
}

// taken passes matches that begin in [from, to) to take. It reports whether take wants more.
func (p *stream) taken(found []*match.Match, from, to int64, take func(*match.Match) bool) bool {
	for _, m := range found {
		if m.Start >= from && m.Start < to && !take(m) {
			return false
		}
	}
	return true
}

// holds reports whether the pattern did not fail, and notes its error.
func (p *stream) holds(err error) bool {
	if err != nil && p.Err == nil {
		p.Err = err
	}
	return err == nil
}

// before reads as many bytes before an offset as a match may depend on. cut reports that there were more.
func (p *stream) before(off int64) (b []byte, cut bool) {
	low := max(off-match.Behind, 0)
	b, gaps := p.read(low, off)
	if n := len(gaps); n > 0 {
		b = b[int64(len(b))-(off-max(gaps[n-1].To, low)):]
		return b, true
	}
	return b, low > 0
}
