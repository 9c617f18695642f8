package match

import (
	"bytes"
	"cmp"
	"slices"
)

// Options control how a pattern is matched.
type Options struct {
	Raw  bool // on the raw bytes; otherwise on the output of a [Stripper]
	Once bool // the first match removes the pattern
	// Lines matches each line by itself, as if it were the whole text: a match, and the text that it depends on, ends
	// before the line feed, and ^ is the line's beginning.
	Lines bool
	// Places reduces matches to their offsets and Limited. Further ones on the line of a match may be left out if no
	// match reaches from one line into the next.
	Places bool
}

// A Match is one match of a pattern.
type Match struct {
	Start, End int64 // raw offsets of the stream: [Start, End)

	Text   string             // the matched text; bytes that are not UTF-8 are U+FFFD
	Groups []*string          // group 1 and so on; nil for one that took no part
	Named  map[string]*string // the same by name; nil if the pattern has no names

	// Line is the plain text of the line that the match starts on, as far as it has come, without its line break (LF or
	// CR). It has at most 4 KiB: of a longer line the part around the start of the match. It never begins before the
	// place where the pattern was added.
	Line string

	// Limited reports that the limit of a match's reach may have decided the beginning or end of this one: it was cut,
	// and a condition at its end, such as $, may hold for that reason alone; or an earlier start was given up after it
	// had read up to this match's beginning.
	Limited bool
}

// A Hit is a Set's report about one of its patterns: a match, or the removal of the pattern.
type Hit struct {
	ID      int
	Match   *Match
	Passed  int64 // unreported matches of this pattern between the previous hit and this one; see [Set.Most]
	Removed error // [ErrTimeLimit] or [ErrStackLimit]; Match is then nil
}

// pieceSize is the number of raw bytes of a Feed that are processed at a time; with the lookback and a block it bounds
// the window.
const pieceSize = 8 << 10

// A Set matches any number of patterns over one stream. It is not safe for concurrent use.
type Set struct {
	// Most, if not 0, is the maximum number of matches of a pattern that a Step or Settle returns: the first ones, and
	// the last, which counts those between them. It is at least 2. Further matches cost neither memory nor the text of
	// their line.
	Most int
	// Stop, if not nil, is called in a Step before each pattern. Once it returns true, no further pattern is searched.
	// The caller must give up the output that they have not seen (Unseen) with Skip.
	Stop func() bool
	// Struck, if not nil, is called after each search that ran out of time, before Stop is called again: that time is
	// lost for the patterns after it.
	Struck func()

	stopped bool
	unseen  int64 // if stopped: the first byte that a pattern has not seen
	next    int64 // raw offset of the next byte
	plain   lane
	raw     lane // filled only while it has watches
	machine machine
	scratch scratch
}

// NewSet returns a Set for the stream from raw offset at on.
func NewSet(at int64) *Set {
	return &Set{next: at, plain: lane{strip: new(Stripper)}}
}

// Add begins to match p, from the next byte on, in place of any pattern with this id. For p the stream begins here: ^
// matches here, and p does not see any earlier text.
func (s *Set) Add(id int, p *Pattern, o Options) {
	s.Remove(id)
	l := &s.plain
	if o.Raw {
		l = &s.raw
		if len(l.watches) == 0 {
			*l = lane{}
		}
	}
	w := &watch{id: id, pattern: p, once: o.Once, lines: o.Lines, bare: o.Places, lane: l}
	w.firsts = o.Places && (o.Lines || p.inLines())
	w.restart(l.end(), l.end())
	l.watches = append(l.watches, w)
}

// Remove ends the matching of the pattern with this id, if there is one.
func (s *Set) Remove(id int) {
	for _, l := range s.lanes() {
		l.watches = slices.DeleteFunc(l.watches, func(w *watch) bool { return w.id == id })
	}
}

func (s *Set) lanes() []*lane { return []*lane{&s.plain, &s.raw} }

// IDs returns the ids of the patterns.
func (s *Set) IDs() (ids []int) {
	for _, l := range s.lanes() {
		for _, w := range l.watches {
			ids = append(ids, w.id)
		}
	}
	return ids
}

// Len returns the number of patterns.
func (s *Set) Len() int { return len(s.plain.watches) + len(s.raw.watches) }

// Offset returns the raw offset of the next byte to be fed.
func (s *Set) Offset() int64 { return s.next }

// Unseen returns the raw offset up to which every pattern was searched: Offset, unless Stop has interrupted the search.
func (s *Set) Unseen() int64 {
	if s.stopped {
		return s.unseen
	}
	return s.next
}

// Stopped reports whether Stop has interrupted the search and no output was given up since.
func (s *Set) Stopped() bool { return s.stopped }

// AtStart reports whether a pattern that is added now sees exactly the text that it would see in a new Set that begins
// here: no escape sequence and no character is unfinished.
func (s *Set) AtStart() bool {
	return s.plain.strip.atText() && s.plain.nheld == 0 && s.raw.nheld == 0
}

// Feed takes the next raw bytes, and returns the matches that no further byte can change, in the order of their ends
// and, if these are equal, of ids; removed patterns come last. b is not kept.
//
// An incomplete character is matched only once all its bytes have come, or once it is known not to be a character.
func (s *Set) Feed(b []byte) []Hit {
	var all []Hit
	for len(b) > 0 {
		n, hits := s.step(b)
		all, b = append(all, hits...), b[n:]
	}
	return inOrder(all)
}

// Step is Feed of the first piece of b, of at most 8 KiB. It also returns the length of that piece.
func (s *Set) Step(b []byte) (n int, hits []Hit) {
	n, hits = s.step(b)
	return n, inOrder(hits)
}

func (s *Set) step(b []byte) (n int, hits []Hit) {
	n = piece(b)
	if !s.stopped {
		s.unseen = s.next
	}
	s.plain.put(b[:n], s.next)
	if len(s.raw.watches) > 0 {
		s.raw.put(b[:n], s.next)
	}
	s.next += int64(n)
	return n, s.scan(nil, false)
}

// piece returns the number of bytes of b to process next: whole lines if possible, so that a Match has its whole line.
func piece(b []byte) int {
	if len(b) <= pieceSize {
		return len(b)
	}
	if n := bytes.LastIndexByte(b[:pieceSize], '\n'); n >= 0 {
		return n + 1
	}
	return pieceSize
}

// scan runs every watch over its new text or, if final, those with a match that depends on the end.
func (s *Set) scan(hits []Hit, final bool) []Hit {
	for _, l := range s.lanes() {
		l.watches = slices.DeleteFunc(l.watches, func(w *watch) bool {
			if s.stopped = s.stopped || !final && s.Stop != nil && s.Stop(); s.stopped || final && !w.leaning {
				return false
			}
			run := scan{watch: w, machine: &s.machine, scratch: &s.scratch, final: final, most: s.Most}
			err := run.run()
			if run.struck && s.Struck != nil {
				s.Struck()
			}
			hits = append(hits, run.hits()...)
			if err != nil {
				hits = append(hits, Hit{ID: w.id, Removed: err})
			}
			return err != nil || run.done()
		})
		l.trim()
	}
	s.machine.forget()
	return hits
}

// inOrder sorts hits as Feed returns them.
func inOrder(hits []Hit) []Hit {
	slices.SortStableFunc(hits, func(a, b Hit) int {
		switch {
		case a.Match == nil || b.Match == nil:
			if (a.Match == nil) != (b.Match == nil) {
				return map[bool]int{true: 1, false: -1}[a.Match == nil]
			}
		case a.Match.End != b.Match.End:
			return cmp.Compare(a.Match.End, b.Match.End)
		}
		return a.ID - b.ID
	})
	return hits
}

// Skip reports that the next n raw bytes of the stream are lost. No match spans them: the window and the state of
// escape sequences begin afresh. For the matches that depend on the end before the gap, the caller has to call Settle
// first.
func (s *Set) Skip(n int64) {
	s.next += n
	s.stopped = false
	s.plain.gap()
	s.raw.gap()
}

// Restart leaves out the next n raw bytes of the stream. The patterns see the text after them as if they were added
// there: ^ matches, and nothing earlier is visible.
func (s *Set) Restart(n int64) {
	s.next += n
	s.stopped = false
	for _, l := range s.lanes() {
		l.restart()
	}
}

// Settle reports that no more output is expected for now: the job is quiet, waits for input, or has ended. Matches that
// depend on the end of the output count, and are returned as by Feed. Bytes that come later begin new matches only.
func (s *Set) Settle() []Hit {
	if !s.Pending() {
		return nil
	}
	return inOrder(s.scan(nil, true))
}

// Pending reports whether Settle could return a match. While it returns false, there is no reason to wait.
func (s *Set) Pending() bool {
	leans := func(w *watch) bool { return w.leaning }
	return slices.ContainsFunc(s.plain.watches, leans) || slices.ContainsFunc(s.raw.watches, leans)
}
