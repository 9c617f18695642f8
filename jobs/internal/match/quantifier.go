package match

// quantified reads the quantifier after n, if there is one. The groups that n captures begin with firstGroup.
func (p *parser) quantified(n *node, firstGroup int) (*node, error) {
	start := p.pos
	low, high := 0, infinite
	switch {
	case p.eat("*"):
	case p.eat("+"):
		low = 1
	case p.eat("?"):
		high = 1
	case p.eat("{"):
		l, h, isCount, err := p.counts(start)
		if err != nil {
			return nil, err
		}
		if !isCount {
			if p.flags.unicode {
				return nil, p.fail(start, "the quantifier is not complete")
			}
			p.pos = start // a literal brace, the next term
			return n, nil
		}
		low, high = l, h
	default:
		return n, nil
	}
	switch {
	case n.op == opStart, n.op == opEnd, n.op == opWord, n.op == opNotWord, n.op == opLook && (n.behind || p.flags.unicode):
		return nil, p.fail(start, "an assertion cannot be repeated")
	}
	return &node{
		op: opRepeat, kids: []*node{n}, min: low, max: high, lazy: p.eat("?"),
		firstGroup: firstGroup, lastGroup: p.groups + 1,
	}, nil
}

// counts reads "n}", "n,}" or "n,m}" after the '{' at start. If anything else follows, it consumes nothing, and isCount
// is false.
func (p *parser) counts(start int) (low, high int, isCount bool, err error) {
	back := p.pos
	low, ok := p.count()
	high = low
	if ok && p.eat(",") {
		if high, ok = p.count(); !ok {
			high, ok = infinite, true
		}
	}
	if !ok || !p.eat("}") {
		p.pos = back
		return 0, 0, false, nil
	}
	if low > high {
		return 0, 0, false, p.fail(start, "the counts of the quantifier are out of order")
	}
	if low > MaxRepeat || high != infinite && high > MaxRepeat {
		return 0, 0, false, p.fail(start, "a repeat count is above 65536")
	}
	return low, high, true, nil
}

// count reads a decimal number; one that is far too large stays far too large.
func (p *parser) count() (n int, ok bool) {
	for ; p.more() && '0' <= p.peek() && p.peek() <= '9'; p.pos++ {
		n = min(n*10+int(p.peek()-'0'), 100*MaxRepeat)
		ok = true
	}
	return n, ok
}

// limitRepeats bounds the product of nested counts.
func (p *parser) limitRepeats(n *node, product int) error {
	if n.op == opRepeat {
		count := n.max
		if count == infinite {
			count = n.min
		}
		if product *= max(count, 1); product > MaxRepeat {
			return p.fail(0, "nested repeat counts multiply to more than 65536")
		}
	}
	for _, k := range n.kids {
		if err := p.limitRepeats(k, product); err != nil {
			return err
		}
	}
	return nil
}
