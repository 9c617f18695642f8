package match

// A shape is what the syntax tree tells about how a pattern reads text. All of
// it is on the safe side: it may name more than the pattern can do, never less.
type shape struct {
	// reach is how many characters at most, counted from where a match starts,
	// are read to find or to refuse it, lookahead included.
	reach int
	// behind is how many characters before the start of a match are looked at.
	behind int
	// lf and cr tell which line breaks stop the pattern: nothing in it, lookahead
	// included, can read past one.
	lf, cr bool
	// first has the ASCII characters that a match that is not empty can start
	// with; any other character is always possible.
	first [128]bool
	// must is a text that every match contains, empty if none is known. Where it is
	// absent there is no match, which is told a thousand times faster than by
	// trying, for what .* or [^]*? would otherwise try at every start.
	must []byte
}

func shapeOf(root *node) shape {
	_, reach := extent(root)
	s := shape{reach: reach, behind: behind(root)}
	s.lf, s.cr = stoppers(root)
	s.must = []byte(longest(literals(root)))
	if empty := firstOf(root, &s.first); empty {
		for c := range s.first {
			s.first[c] = true
		}
	}
	return s
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

// extent returns how many characters n consumes at most, and how many it reads
// at most, both from where it starts.
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
		// A look-behind reads forward only by what assertions inside it see.
		if _, reach = extent(n.kids[0]); n.behind && reach != infinite {
			reach++
		}
	}
	return length, reach
}

// behind returns how many characters before the start of a match n looks at.
// Where in the match a look-behind stands is left out of account.
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

// stoppers tells which of LF and CR nothing in the tree can read past.
func stoppers(root *node) (lf, cr bool) {
	lf, cr = true, true
	hasRef, capturesBehind := false, false
	root.walk(func(n *node) bool {
		switch {
		case n.op == opBackref:
			hasRef = true
		case n.op == opLook && n.behind:
			n.walk(func(k *node) bool {
				capturesBehind = capturesBehind || k.op == opGroup
				return true
			})
		case n.op == opChar || n.op == opClass:
			// What a look-behind reads is counted too: simpler, and harmless.
			lf = lf && !matches(n, '\n')
			cr = cr && !matches(n, '\r')
		}
		return true
	})
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

// firstOf adds to set what the first consumed character of n can be, and
// reports whether n can match without consuming any.
func firstOf(n *node, set *[128]bool) (empty bool) {
	switch n.op {
	case opChar, opClass:
		for c := range set {
			set[c] = set[c] || matches(n, rune(c))
		}
		return false
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
	return true // assertions, references (possibly to nothing), nothing at all
}

// A literal is what is known of the text that a node matches: it begins with
// prefix, ends with suffix and contains inner. If exact, all three are the text.
type literal struct {
	prefix, inner, suffix string
	exact                 bool
}

// longest returns the longest part of l.
func longest(l literal) string {
	best := l.inner
	for _, s := range []string{l.prefix, l.suffix} {
		if len(s) > len(best) {
			best = s
		}
	}
	return best
}

// literals returns what is known of the text that n matches.
func literals(n *node) literal {
	switch n.op {
	case opEmpty, opStart, opEnd, opWord, opNotWord, opLook:
		return literal{exact: true}
	case opChar:
		if n.set == nil {
			c := string(n.char)
			return literal{c, c, c, true}
		}
	case opGroup:
		return literals(n.kids[0])
	case opSeq:
		sum := literal{exact: true}
		for _, k := range n.kids {
			sum = join(sum, literals(k))
		}
		return sum
	case opRepeat:
		if n.min > 0 {
			l := literals(n.kids[0])
			l.exact = l.exact && n.min == 1 && n.max == 1
			return l
		}
	}
	return literal{}
}

// join returns what is known of a text of a followed by one of b.
func join(a, b literal) literal {
	sum := literal{
		prefix: a.prefix,
		inner:  longest(literal{prefix: longest(a), inner: a.suffix + b.prefix, suffix: longest(b)}),
		suffix: b.suffix,
		exact:  a.exact && b.exact,
	}
	if a.exact {
		sum.prefix += b.prefix
	}
	if b.exact {
		sum.suffix = a.suffix + b.suffix
	}
	return sum
}

// isStraight reports whether a search for the pattern cannot backtrack further
// than to its next start, so that it needs no time limit.
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
