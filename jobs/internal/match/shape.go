package match

import (
	"bytes"
	"unicode/utf8"
)

// A shape describes how a pattern reads text, derived from its syntax tree. All of it is on the safe side: it may
// include more than the pattern can do, never less.
type shape struct {
	// reach is the maximum number of characters, counted from the start of a match, that are read to find or to refuse
	// it, lookahead included.
	reach int
	// behind is the number of characters before the start of a match that the pattern can read.
	behind int
	// lf and cr report for each line break that it stops the pattern: nothing in it, lookahead included, can read past
	// one.
	lf, cr bool
	// first is the set of ASCII characters with which a nonempty match can start; any other character is always
	// possible.
	first [128]bool
	empty bool // the pattern can match without consuming anything
	// breaks reports that the pattern names a line feed, by itself or in a set like [\r\n], or a set of everything like
	// [^]. Sets like \s and [^:] can match one, but do not name it.
	breaks bool
	// must holds texts that every match contains, one after another. If one is absent there is no match: this check is
	// a thousand times faster than matching, which for .* or [^]*? is tried at every start.
	must [][]byte
}

func shapeOf(root *node) shape {
	_, reach := extent(root)
	s := shape{reach: reach, behind: behind(root)}
	s.lf, s.cr = stoppers(root)
	s.must = mustHave(root)
	s.empty = firstOf(root, &s.first)
	root.walk(func(n *node) bool {
		s.breaks = s.breaks || namesBreak(n)
		return !s.breaks
	})
	return s
}

// NamesLineBreak reports whether the pattern names a line feed, or everything: its author wants matches that reach over
// line ends.
func (p *Pattern) NamesLineBreak() bool { return p.shape.breaks }

func namesBreak(n *node) bool {
	switch n.op {
	case opChar:
		return n.char == '\n'
	case opClass:
	default:
		return false
	}
	if !n.set.has('\n') {
		return false
	}
	all := true
	for _, has := range n.set.ascii {
		all = all && has
	}
	return all || !n.set.has(' ') && !n.set.has('\t') && !n.set.has('a')
}

// plus and times are arithmetic that stays at infinite.
func plus(a, b int) int {
	if a == infinite || b == infinite {
		return infinite
	}
	return a + b
}

func times(a, n int) int {
	switch {
	case a == 0 || n == 0:
		return 0
	case a == infinite || n == infinite || a > infinite/n:
		return infinite
	}
	return a * n
}

// extent returns the maximum number of characters that n consumes, and the maximum number that it reads, both from its
// start.
func extent(n *node) (length, reach int) {
	switch n.op {
	case opChar, opClass:
		return 1, 1
	case opEnd, opWord, opNotWord:
		return 0, 1
	case opBackref:
		return infinite, infinite
	case opGroup:
		return extent(n.kids[0])
	case opSeq:
		for _, k := range n.kids {
			l, r := extent(k)
			reach = max(reach, plus(length, r))
			length = plus(length, l)
		}
	case opAlt:
		for _, k := range n.kids {
			l, r := extent(k)
			length, reach = max(length, l), max(reach, r)
		}
	case opRepeat:
		l, r := extent(n.kids[0])
		length = times(l, n.max)
		if n.max > 0 {
			reach = plus(times(l, n.max), r)
		}
	case opLook:
		if !n.behind {
			_, reach = extent(n.kids[0])
		}
		for _, k := range aheadIn(n) {
			_, r := extent(k)
			reach = max(reach, r)
		}
	}
	return length, reach
}

// aheadIn returns the nodes of a look-behind that look forward, while the others look back: assertions and lookaheads.
// It is nil for any other node.
func aheadIn(n *node) (found []*node) {
	if n.op != opLook || !n.behind {
		return nil
	}
	n.kids[0].walk(func(k *node) bool {
		switch k.op {
		case opEnd, opWord, opNotWord:
			found = append(found, k)
		case opLook:
			if k.behind {
				found = append(found, aheadIn(k)...)
			} else {
				found = append(found, k)
			}
			return false
		}
		return true
	})
	return found
}

// behind returns the number of characters before the start of a match that n can read. It ignores at which place of the
// match a look-behind occurs.
func behind(n *node) int {
	deepest := 0
	n.walk(func(n *node) bool {
		switch n.op {
		case opStart, opWord, opNotWord:
			deepest = max(deepest, 1)
		case opLook:
			if n.behind {
				length, _ := extent(n.kids[0])
				deepest = max(deepest, plus(length, 1), plus(length, behind(n.kids[0])))
				return false
			}
		}
		return true
	})
	return deepest
}

// stoppers reports for LF and for CR that nothing in the tree can read past it.
func stoppers(root *node) (lf, cr bool) {
	lf, cr = true, true
	hasRef, capturesBehind := false, false
	var visit func(*node) bool
	visit = func(n *node) bool {
		switch {
		case n.op == opBackref:
			hasRef = true
		case n.op == opLook && n.behind:
			n.walk(func(k *node) bool {
				capturesBehind = capturesBehind || k.op == opGroup
				return true
			})
			for _, k := range aheadIn(n) {
				k.walk(visit)
			}
			return false
		case n.op == opChar || n.op == opClass:
			lf = lf && !matches(n, '\n')
			cr = cr && !matches(n, '\r')
		}
		return true
	}
	root.walk(visit)
	if hasRef && capturesBehind {
		return false, false // a reference may stand for a line break behind
	}
	return lf, cr
}

// matches reports whether the one character that n consumes can be c.
func matches(n *node, c rune) bool {
	if n.set != nil {
		return n.set.has(c)
	}
	return n.char == c
}

// firstOf adds the possible first consumed characters of n to set, and reports whether n can match without consuming
// any.
func firstOf(n *node, set *[128]bool) (empty bool) {
	switch n.op {
	case opChar, opClass:
		for c := range set {
			set[c] = set[c] || matches(n, rune(c))
		}
		return false
	case opBackref:
		for c := range set {
			set[c] = true
		}
	case opSeq:
		for _, k := range n.kids {
			if !firstOf(k, set) {
				return false
			}
		}
		return true
	case opAlt:
		for _, k := range n.kids {
			empty = firstOf(k, set) || empty
		}
		return empty
	case opGroup:
		return firstOf(n.kids[0], set)
	case opRepeat:
		if n.max == 0 {
			return true
		}
		return firstOf(n.kids[0], set) || n.min == 0
	}
	return true // assertions, nothing at all; references may be to nothing
}

// mustHave returns literal texts that every match contains, in this order and not overlapping.
func mustHave(root *node) [][]byte {
	var found [][]byte
	var present []byte
	flush := func() {
		if len(present) > 0 {
			found, present = append(found, present), nil
		}
	}
	var add func(*node)
	add = func(n *node) {
		switch {
		case n.op == opChar && n.set == nil:
			present = utf8.AppendRune(present, n.char)
		case n.op == opSeq || n.op == opGroup:
			for _, k := range n.kids {
				add(k)
			}
		case n.op == opRepeat && n.min > 0:
			flush()
			add(n.kids[0])
			flush()
		case n.op == opChar, n.op == opClass, n.op == opBackref, n.op == opAlt, n.op == opRepeat:
			flush()
		} // the others consume nothing
	}
	add(root)
	flush()
	return found
}

// isStraight reports whether a search for the pattern cannot backtrack further than to its next start, so that it needs
// no time limit.
func isStraight(root *node) bool {
	straight := true
	root.walk(func(n *node) bool {
		if n.op == opAlt || n.op == opRepeat || n.op == opLook || n.op == opBackref {
			straight = false
		}
		return straight
	})
	return straight
}

// canMatch reports whether text contains all that a match must contain.
func (s *shape) canMatch(text []byte) bool {
	for _, part := range s.must {
		at := bytes.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}
