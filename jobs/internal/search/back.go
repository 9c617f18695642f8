package search

import (
	"slices"

	"shelld.dev/shelld/jobs/internal/match"
)

const (
	// blockSize is the size of the first block from the end. Each further block is twice as long, up to maxBlockSize.
	blockSize    = 256 << 10
	maxBlockSize = 8 << 20
)

// backward adds the matches that begin in [from, to), from the last to the first. They are the same that forward finds:
// it goes back by blocks of lines if no match can reach from one line into the next, and otherwise by whole ranges
// without a gap. A block for which the time is too short, or that has more matches than fit, leaves marks.
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

// blockBefore returns the offset at which the block begins that ends at to.
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

// block adds the matches that begin in [from, to), from the last to the first. It reports whether the search goes on.
func (p *stream) block(from, to int64) bool {
	held := newest{most: p.MaxMatches - p.matches, room: p.MaxBytes - p.used}
	decided := p.pass(from, to, func(m *match.Match) bool {
		held.add(newMatch(m))
		return true
	})
	last := held.all
	switch {
	case p.End != TimedOut:
	case decided < to:
		p.giveUp(from, to, decided)
	default:
		p.End = All // time was over when all of the block had been searched
	}
	for i := len(last) - 1; i >= 0 && !p.Ended(); i-- {
		if !p.add(&last[i]) {
			p.stop(p.End, last[i].Start+1)
		}
	}
	return !p.Ended()
}

// giveUp ends the search because its time is over. The block has been searched up to decided.
func (p *stream) giveUp(from, to, decided int64) {
	if decided-from >= blockSize {
		p.marks = append(p.marks.settled(to), decided)
	}
	p.res.Bytes += decided - from // searched, if only for the mark
	p.stop(TimedOut, to)
}

// passedBack is passed for a search in reverse. A pass that runs out of time has made progress if it leaves a mark that
// saves the next one at least a block.
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

// marks are ascending offsets in a stream at which a search in reverse can be resumed: a pass that begins at a mark
// finds the same behind it as one that began earlier. If a pattern can reach over line breaks, only a pass from the
// beginning finds such offsets. Since matches are returned from the last one on, that pass may be too long for the
// time, or be repeated for each further page. With marks it is resumed at the last one, and then from mark to mark.
//
// They are part of a client's cursor and so have to be few: each is further on by a quarter of the output that follows
// it. Their number, and how often a byte is searched, grow with the logarithm of the output. The last one may be
// nearer, if the time was over.
type marks []int64

// markSpacing returns the distance from a mark, or from the beginning, to the next one, in a block that ends at to.
func markSpacing(at, to int64) int64 { return max((to-at)/4, blockSize) }

// before returns the marks before an offset.
func (m marks) before(to int64) marks {
	for len(m) > 0 && m[len(m)-1] >= to {
		m = m[:len(m)-1]
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// settled returns the marks without the last one if that is nearer than markSpacing.
func (m marks) settled(to int64) marks {
	if n := len(m); n > 1 && m[n-1]-m[n-2] < markSpacing(m[n-2], to) {
		return m[:n-1]
	}
	return m
}

// A newest holds the last matches that were found: as many as fit into the page, and one more, at which the next page
// begins.
type newest struct {
	all  []Match
	cost int // of all
	most int // matches that fit
	room int // bytes that fit; the first match fits in any case
}

func (n *newest) add(m Match) {
	n.all = append(n.all, m)
	n.cost += m.cost()
	for len(n.all) > n.most+1 || len(n.all) > 2 && n.cost-n.all[0].cost() > n.room {
		n.cost -= n.all[0].cost()
		n.all[0] = Match{} // so that its texts are freed
		n.all = n.all[1:]
	}
}

// lineLook is the number of bytes in which lineBefore looks for a line break at a time. The bytes before them show
// whether it is inside an escape sequence.
const lineLook = match.Behind/2 - 16

// lineBefore returns the beginning of the last line that begins at off or before it, or low if there is none behind
// low.
func (p *stream) lineBefore(off, low int64) int64 {
	for ; off > low && !p.over(); off -= lineLook {
		b, _ := p.before(off)
		if i := match.LastLineBreak(b, max(len(b)-lineLook, 0), p.Raw); i >= 0 {
			return max(off-int64(len(b)-1-i), low)
		}
	}
	return low
}
