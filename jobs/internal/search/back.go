package search

import (
	"slices"

	"shelld/jobs/internal/match"
)

const (
	// blockSize is how much is searched at once from the end, the first time; each
	// further block is twice as long, up to maxBlockSize.
	blockSize    = 256 << 10
	maxBlockSize = 8 << 20
)

// backward tells the matches that begin in [from, to), from the last to the first. They are
// those that forward tells: it goes back by blocks of lines where no match reaches from one
// line into the next, and else by what is kept without a gap. A block that takes longer than
// there is time, or has more matches than can be told, leaves marks.
func (p *stream) backward(from, to int64) {
	if c := p.at; c != nil {
		p.marks = slices.Clone(c.Marks)
	}
	for _, kept := range slices.Backward(p.spool.Kept()) {
		p.gap(max(kept.To, from), to)
		to = min(to, kept.To)
		size := int64(blockSize)
		for low := max(kept.From, from); to > low; size = min(2*size, maxBlockSize) {
			at := p.blockBefore(to, size, low)
			if !p.block(at, to) {
				return
			}
			to, p.progress = at, true
		}
	}
	p.gap(from, to)
}

// blockBefore is where the block begins that ends at an offset.
func (p *stream) blockBefore(to, size, low int64) int64 {
	p.marks = p.marks.before(to)
	switch n := len(p.marks); {
	case n > 0 && p.marks[n-1] > low:
		return p.marks[n-1]
	case p.Query.InLines():
		return p.lineBefore(to-size, low)
	}
	return low
}

// block tells the matches that begin in [from, to), from the last to the first; false: the
// search is over.
func (p *stream) block(from, to int64) bool {
	held := newest{most: p.MaxMatches - p.matches, room: p.MaxBytes - p.used}
	decided := p.pass(from, to, func(m *match.Match) bool {
		held.add(p.told(m))
		return true
	})
	last := held.all
	switch {
	case p.End != TimedOut:
	case decided < to:
		p.giveUp(from, to, decided)
	default:
		p.End = All // time was over, and all of the block was found: it is told
	}
	for i := len(last) - 1; i >= 0 && !p.Ended(); i-- {
		if !p.add(&last[i]) {
			p.stop(p.End, last[i].Start+1)
		}
	}
	return !p.Ended()
}

// giveUp ends the search for want of time, in a block that has been looked through up to an offset.
func (p *stream) giveUp(from, to, decided int64) {
	if decided-from >= blockSize {
		p.marks = append(p.marks.settled(to), decided)
	}
	p.res.Bytes += decided - from // looked at, if for nothing but the mark
	p.stop(TimedOut, to)
}

// passedBack is passed where the search goes backwards. A pass that is given up for want of time
// has got on if it leaves a mark that spares the next one as much as a block.
func (p *stream) passedBack(decided, from, to int64) {
	if decided-from < blockSize {
		return
	}
	p.progress = true
	marks, last := p.marks.settled(to), from
	if n := len(marks); n > 0 {
		last = marks[n-1]
	}
	if decided-last >= markSpacing(last, to) {
		p.marks = append(marks, decided)
	}
}

// marks are offsets in a stream, ascending, between which a search backwards can be
// taken up: one that begins forwards at a mark finds what one from further back finds behind
// it. Where a pattern can reach over line breaks nothing but a pass from the very beginning
// knows such offsets, and its matches are told from the last, so that it may be too long for
// the time, or has to be done again for what one answer cannot tell. With marks it is taken up
// at the last one, and then from mark to mark.
//
// They are in a client's cursor and so have to be few: each is further on by a quarter of what
// follows it. That makes their number, and how often a byte is looked at, grow with the
// logarithm of the output. The last one may be nearer, where time was over.
type marks []int64

// markSpacing is how far behind a mark, or the beginning, the next one is, of a block up to an
// offset.
func markSpacing(at, to int64) int64 { return max((to-at)/4, blockSize) }

// before are the marks before an offset.
func (m marks) before(to int64) marks {
	for len(m) > 0 && m[len(m)-1] >= to {
		m = m[:len(m)-1]
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// settled are the marks without a last one that is nearer than it has to be.
func (m marks) settled(to int64) marks {
	if n := len(m); n > 1 && m[n-1]-m[n-2] < markSpacing(m[n-2], to) {
		return m[:n-1]
	}
	return m
}

// A newest holds the matches that were found last: as many as can be told, and one, of which
// the next search goes on.
type newest struct {
	all  []Match
	cost int // of all
	most int // how many can be told
	room int // and how many bytes; the very first is told in any case
}

func (n *newest) add(m Match) {
	n.all = append(n.all, m)
	n.cost += m.cost()
	for len(n.all) > n.most+1 || len(n.all) > 2 && n.cost-n.all[0].cost() > n.room {
		n.cost -= n.all[0].cost()
		n.all[0] = Match{} // or its texts would stay
		n.all = n.all[1:]
	}
}

// lineLook is how far back lineBefore looks at a time. What stands before that tells whether
// a line break stands in an escape sequence.
const lineLook = match.Behind/2 - 16

// lineBefore is where the last line begins that begins at off or before it, and else low.
func (p *stream) lineBefore(off, low int64) int64 {
	for ; off > low && !p.over(); off -= lineLook {
		b, _ := p.before(off)
		if i := match.LastLineBreak(b, max(len(b)-lineLook, 0), p.Raw); i >= 0 {
			return max(off-int64(len(b)-1-i), low)
		}
	}
	return low
}
