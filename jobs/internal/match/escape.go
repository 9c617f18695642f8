package match

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// escape reads the rest of an escape outside a class; start is the backslash.
func (p *parser) escape(start int) (*node, error) {
	if !p.more() {
		return nil, p.fail(start, "a backslash ends the pattern")
	}
	switch c := p.peek(); {
	case c == 'b':
		p.pos++
		return &node{op: opWord}, nil
	case c == 'B':
		p.pos++
		return &node{op: opNotWord}, nil
	case '1' <= c && c <= '9':
		if n, err := p.numberedRef(start); n != nil || err != nil {
			return n, err
		}
	case c == 'k' && (p.flags.unicode || p.hasNames):
		return p.namedRef(start)
	}
	isSet, err := p.setEscape(start, false)
	if err != nil {
		return nil, err
	}
	if isSet {
		return p.class(start), nil
	}
	c, err := p.charEscape(start, false)
	if err != nil {
		return nil, err
	}
	if utf16.IsSurrogate(c) {
		if c = p.pair(start, c); utf16.IsSurrogate(c) {
			return p.class(start), nil // no text has one; the engine decides
		}
	}
	return p.literal(c), nil
}

// numberedRef reads \1 and so on. Without the u flag a number that no group has is an old octal escape: the result is
// then nil and nothing is consumed.
func (p *parser) numberedRef(start int) (*node, error) {
	back := p.pos
	n, _ := p.count()
	if n <= p.total {
		return &node{op: opBackref, refs: []int{n}}, nil
	}
	if p.flags.unicode {
		return nil, p.fail(start, "a back reference to a group that does not exist")
	}
	p.pos = back
	return nil, nil
}

// namedRef reads \k<name>.
func (p *parser) namedRef(start int) (*node, error) {
	if !p.eat("k<") {
		return nil, p.fail(start, "\\k without a group name")
	}
	name, err := p.groupName()
	if err != nil {
		return nil, err
	}
	n := &node{op: opBackref}
	p.named = append(p.named, namedRef{n, name, start})
	return n, nil
}

// setEscape consumes \d \D \s \S \w \W, and \p{…} \P{…} under u. It reports whether there was one.
func (p *parser) setEscape(start int, inClass bool) (bool, error) {
	c := p.peek()
	if inClass && (c == 'D' || c == 'S' || c == 'W') {
		p.fold(unicode.MaxRune)
	}
	if c != 0 && strings.ContainsRune("dDsSwW", c) {
		p.pos++
		return true, nil
	}
	if !p.flags.unicode || c != 'p' && c != 'P' {
		return false, nil
	}
	p.fold(unicode.MaxRune / 4)
	if p.pos++; p.eat("{") {
		for p.more() && p.peek() != '}' && p.peek() != '{' {
			p.pos++
		}
		if p.eat("}") {
			return true, nil
		}
	}
	return false, p.fail(start, "the property escape is not complete")
}

// charEscape reads an escape that stands for one character; the result may be a lone surrogate.
func (p *parser) charEscape(start int, inClass bool) (rune, error) {
	if !p.more() {
		return 0, p.fail(start, "a backslash ends the pattern")
	}
	c := p.peek()
	p.pos++
	switch c {
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'v':
		return '\v', nil
	case 'c':
		return p.control(start, inClass)
	case 'k':
		if p.hasNames {
			return 0, p.fail(start, "\\k in a class of a pattern with named groups")
		}
	case 'x', 'u':
		return p.hexEscape(start, c)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return p.octal(start, c)
	}
	if p.flags.unicode && !strings.ContainsRune(`^$\.*+?()[]{}|/`, c) && !(inClass && c == '-') {
		return 0, p.fail(start, "an invalid escape under the u flag")
	}
	return c, nil
}

// control reads the letter of \cX. Without one, and without u, the backslash stands for itself and the c is the next
// term.
func (p *parser) control(start int, inClass bool) (rune, error) {
	c := p.peek()
	if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || inClass && !p.flags.unicode && ('0' <= c && c <= '9' || c == '_') {
		p.pos++
		return c % 32, nil
	}
	if p.flags.unicode {
		return 0, p.fail(start, "\\c without a letter")
	}
	p.pos--
	return '\\', nil
}

// octal reads \0 and, without the u flag, the old octal escapes up to \377.
func (p *parser) octal(start int, first rune) (rune, error) {
	next := p.peek()
	if p.flags.unicode {
		if first != '0' || '0' <= next && next <= '9' {
			return 0, p.fail(start, "an octal escape under the u flag")
		}
		return 0, nil
	}
	value, digits := first-'0', 1
	for ; digits < 3 && '0' <= p.peek() && p.peek() <= '7' && value*8+p.peek()-'0' <= 0o377; digits++ {
		value = value*8 + p.peek() - '0'
		p.pos++
	}
	return value, nil
}

// hexEscape reads \xHH, \uHHHH and, under u, \u{…}; kind is x or u. Without the u flag an incomplete one stands for its
// letter.
func (p *parser) hexEscape(start int, kind rune) (rune, error) {
	digits := 2
	if kind == 'u' {
		digits = 4
	}
	if kind == 'u' && p.flags.unicode && p.eat("{") {
		return p.braced(start)
	}
	value, ok := p.hex(digits)
	switch {
	case ok:
		return value, nil
	case p.flags.unicode:
		return 0, p.fail(start, "an incomplete hexadecimal escape")
	}
	return kind, nil
}

// braced reads the rest of \u{…}.
func (p *parser) braced(start int) (rune, error) {
	var value rune
	digits := 0
	for ; ; digits++ {
		d := hexDigit(p.peek())
		if d < 0 {
			break
		}
		if value = value*16 + d; value > 0x10ffff {
			return 0, p.fail(start, "a code point above 10FFFF")
		}
		p.pos++
	}
	if digits == 0 || !p.eat("}") {
		return 0, p.fail(start, "an incomplete hexadecimal escape")
	}
	return value, nil
}

// hex reads exactly n hexadecimal digits, or consumes nothing.
func (p *parser) hex(n int) (value rune, ok bool) {
	for i := range n {
		d := hexDigit(p.at(p.pos + i))
		if d < 0 {
			return 0, false
		}
		value = value*16 + d
	}
	p.pos += n
	return value, true
}

// hexDigit returns the value of a digit, or -1.
func hexDigit(c rune) rune {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return -1
}

// pair joins the escaped surrogate that was just read with an escaped second half. Text is matched by code points with
// and without the u flag, so otherwise the two halves could never match their character.
func (p *parser) pair(start int, high rune) rune {
	back := p.pos
	if p.eat(`\u`) {
		if low, ok := p.hex(4); ok {
			if c := utf16.DecodeRune(high, low); c != '\uFFFD' {
				p.edits = append(p.edits, edit{start, p.pos, string(c)})
				return c
			}
		}
	}
	p.pos = back
	return high
}

// bracket reads the rest of a class after its '[', which is at start.
func (p *parser) bracket(start int) (*node, error) {
	p.eat("^")
	for {
		if !p.more() {
			return nil, p.fail(start, "the class is not closed")
		}
		if p.eat("]") {
			return p.class(start), nil
		}
		from := p.pos
		low, single, err := p.classAtom()
		if err != nil {
			return nil, err
		}
		if p.peek() != '-' || p.pos+1 >= len(p.src) || p.at(p.pos+1) == ']' {
			continue
		}
		p.pos++
		high, alsoSingle, err := p.classAtom()
		if err != nil {
			return nil, err
		}
		switch {
		case single && alsoSingle:
			if low > high {
				return nil, p.fail(from, "a range out of order in a class")
			}
			p.fold(high - low)
		case p.flags.unicode:
			return nil, p.fail(from, "a character class cannot be an end of a range under the u flag")
		}
	}
}

// classAtom reads one character or set of a class; single reports that it was a character.
func (p *parser) classAtom() (c rune, single bool, err error) {
	start := p.pos
	c = p.peek()
	p.pos++
	if c != '\\' {
		return c, true, nil
	}
	isSet, err := p.setEscape(start, true)
	if isSet || err != nil {
		return 0, false, err
	}
	if p.eat("b") {
		return '\b', true, nil
	}
	c, err = p.charEscape(start, true)
	if err == nil && utf16.IsSurrogate(c) && p.flags.unicode {
		c = p.pair(start, c)
	}
	return c, true, err
}

// maxFolded bounds the time that the engine takes to compile a pattern with the i flag: some 10 ns for each code point.
const maxFolded = 8 * unicode.MaxRune

// fold counts a set of n code points that the engine has to fold.
func (p *parser) fold(n rune) {
	if p.flags.ignoreCase {
		p.folded += int(n)
	}
}

// engineSource returns the pattern in the form for the engine.
func (p *parser) engineSource() string {
	var b strings.Builder
	done := 0
	for _, e := range p.edits {
		b.WriteString(string(p.src[done:e.from]))
		b.WriteString(e.text)
		done = e.to
	}
	b.WriteString(string(p.src[done:]))
	return b.String()
}

// blame returns an error for the part because of which the engine refused a pattern that this parser accepted, such as
// a property that does not exist. The engine's own text is not passed on: it has no position and speaks of another
// dialect.
func (p *parser) blame() error {
	for _, a := range p.atoms {
		if _, err := newEngine(a.src, p.flags, false); err != nil {
			return p.fail(a.pos, "no such character class or property")
		}
	}
	return p.fail(0, "the pattern is not supported")
}
