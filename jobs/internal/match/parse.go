package match

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A parser reads one ECMAScript pattern (with Annex B if there is no u flag) into a tree. The engine parses the pattern
// once more by itself; this parser provides what the engine lacks: limits that are checked before anything recursive
// gets the pattern, positions in errors, the refusal of constructs from other dialects, and a tree to analyse.
type parser struct {
	// Immutable.
	src   []rune
	flags flags
	bad   int // index of the first character that is not valid UTF-8, or -1

	// Results of a first pass over the whole pattern; \1 and \k depend on them.
	total    int  // capture groups
	hasNames bool // some group is named

	pos    int
	depth  int
	groups int // capture groups opened so far
	names  map[string][]int
	named  []namedRef
	sets   map[string]*charset
	atoms  []atom // parts that only the engine can judge, for blame
	edits  []edit
	folded int // code points that the engine will have to fold one by one
}

// A namedRef is a \k<name> that waits for the group's number.
type namedRef struct {
	node *node
	name string
	pos  int
}

// An atom is the source and the position of one class or escape.
type atom struct {
	src string
	pos int
}

// An edit replaces src[from:to] in the source for the engine.
type edit struct {
	from, to int
	text     string
}

func newParser(pattern string, f flags) *parser {
	return &parser{
		src: []rune(pattern), flags: f, bad: firstInvalid(pattern),
		names: map[string][]int{}, sets: map[string]*charset{},
	}
}

// firstInvalid returns the character index of the first byte of s that is not UTF-8, or -1.
func firstInvalid(s string) int {
	index := 0
	for i, c := range s {
		if c == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return index
			}
		}
		index++
	}
	return -1
}

// fail makes the error of the pattern at pos.
func (p *parser) fail(pos int, message string) error {
	return &SyntaxError{Message: message, Pos: pos}
}

// parse reads the whole pattern.
func (p *parser) parse() (*node, error) {
	if len(p.src) > MaxPattern {
		return nil, p.fail(MaxPattern, "the pattern is longer than 4096 characters")
	}
	if p.bad >= 0 {
		return nil, p.fail(p.bad, "the pattern is not valid UTF-8")
	}
	p.survey()
	root, _, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	if p.more() { // disjunction stops only at ')' and at the end
		return nil, p.fail(p.pos, "unmatched ')'")
	}
	for _, r := range p.named {
		if r.node.refs = p.names[r.name]; r.node.refs == nil {
			return nil, p.fail(r.pos, "no group has the name that \\k refers to")
		}
	}
	if p.folded > maxFolded {
		return nil, p.fail(0, "too many large character sets for the i flag")
	}
	if err := p.limitRepeats(root, 1); err != nil {
		return nil, err
	}
	return root, nil
}

// survey counts the capture groups of the whole pattern: whether \2 is a back reference or an octal escape depends on
// groups that may come after it.
func (p *parser) survey() {
	inClass := false
	for i := 0; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '\\':
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
		case c == '(':
			switch {
			case p.at(i+1) != '?':
				p.total++
			case p.at(i+2) == '<' && p.at(i+3) != '=' && p.at(i+3) != '!':
				p.total++
				p.hasNames = true
			}
		}
	}
}

// at returns the character at index i, or 0 beyond the end.
func (p *parser) at(i int) rune {
	if i < len(p.src) {
		return p.src[i]
	}
	return 0
}

func (p *parser) more() bool { return p.pos < len(p.src) }
func (p *parser) peek() rune { return p.at(p.pos) }

// eat consumes s if it comes next, and reports whether it did.
func (p *parser) eat(s string) bool {
	i := p.pos
	for _, c := range s {
		if i >= len(p.src) || p.src[i] != c {
			return false
		}
		i++
	}
	p.pos = i
	return true
}

// disjunction reads alternatives up to ')' or the end. It also returns the names of the groups inside: one name may
// occur in several alternatives, but not twice in one.
func (p *parser) disjunction() (*node, []string, error) {
	var alts []*node
	var names []string
	for {
		alt, inAlt, err := p.alternative()
		if err != nil {
			return nil, nil, err
		}
		alts = append(alts, alt)
		names = append(names, inAlt...)
		if !p.eat("|") {
			break
		}
	}
	if len(alts) == 1 {
		return alts[0], names, nil
	}
	return &node{op: opAlt, kids: alts}, names, nil
}

// alternative reads terms up to '|', ')' or the end.
func (p *parser) alternative() (*node, []string, error) {
	seq := &node{op: opSeq}
	var names []string
	for p.more() && p.peek() != '|' && p.peek() != ')' {
		start, firstGroup := p.pos, p.groups+1
		n, inside, err := p.term()
		if err != nil {
			return nil, nil, err
		}
		for _, name := range inside {
			if slices.Contains(names, name) {
				return nil, nil, p.fail(start, "two groups that can both take part have the same name")
			}
		}
		names = append(names, inside...)
		if n, err = p.quantified(n, firstGroup); err != nil {
			return nil, nil, err
		}
		seq.kids = append(seq.kids, n)
	}
	switch len(seq.kids) {
	case 0:
		return &node{op: opEmpty}, nil, nil
	case 1:
		return seq.kids[0], names, nil
	}
	return seq, names, nil
}

// term reads one assertion or atom, without its quantifier.
func (p *parser) term() (*node, []string, error) {
	start := p.pos
	c := p.peek()
	p.pos++
	switch c {
	case '^':
		return &node{op: opStart}, nil, nil
	case '$':
		return &node{op: opEnd}, nil, nil
	case '.':
		return p.class(start), nil, nil
	case '(':
		return p.group(start)
	case '[':
		n, err := p.bracket(start)
		return n, nil, err
	case '\\':
		n, err := p.escape(start)
		return n, nil, err
	case '*', '+', '?':
		return nil, nil, p.fail(start, "nothing to repeat")
	case '{':
		_, _, isCount, err := p.counts(start)
		if err != nil {
			return nil, nil, err
		}
		if isCount || p.flags.unicode {
			return nil, nil, p.fail(start, "nothing to repeat")
		}
	case ']', '}':
		if p.flags.unicode {
			return nil, nil, p.fail(start, "a lone bracket needs a backslash under the u flag")
		}
	}
	return p.literal(c), nil, nil
}

// literal makes the node of one character that stands for itself.
func (p *parser) literal(c rune) *node {
	n := &node{op: opChar, char: c}
	if p.flags.ignoreCase && unicode.SimpleFold(c) != c {
		n.set = p.charset(string(c))
	}
	return n
}

// class makes the node of the character set whose source is src[start:pos].
func (p *parser) class(start int) *node {
	src := string(p.src[start:p.pos])
	p.atoms = append(p.atoms, atom{src, start})
	if p.flags.ignoreCase {
		if short := p.sameFolded(src); short != "" {
			p.edits = append(p.edits, edit{start, p.pos, short})
			src = short
		}
	}
	return &node{op: opClass, set: p.charset(src)}
}

// sameFolded returns another source for a large set, if there is one that means the same under the i flag, and
// otherwise "". The engine folds a set by going through all of its characters, 13 ms for most of Unicode; a complement
// is cheap.
func (p *parser) sameFolded(src string) string {
	switch src {
	case ".":
		if p.flags.dotAll {
			return `[^]`
		}
		return `[^\n\r\u2028\u2029]`
	case `\D`, `\S`, `\W`:
		return `[^` + strings.ToLower(src) + `]`
	case `[\s\S]`, `[\S\s]`, `[\w\W]`, `[\W\w]`, `[\d\D]`, `[\D\d]`:
		return `[^]`
	}
	return ""
}

// charset returns the set of the characters that src matches; equal sources share one.
func (p *parser) charset(src string) *charset {
	s := p.sets[src]
	if s == nil {
		s = newCharset(src, p.flags)
		p.sets[src] = s
	}
	return s
}

// group reads the rest of a group after its '(', including its ')'.
func (p *parser) group(start int) (*node, []string, error) {
	if p.depth++; p.depth > MaxNesting {
		return nil, nil, p.fail(start, "groups are nested deeper than 200")
	}
	outer, name, err := p.openGroup(start)
	if err != nil {
		return nil, nil, err
	}
	body, names, err := p.disjunction()
	if err != nil {
		return nil, nil, err
	}
	if !p.eat(")") {
		return nil, nil, p.fail(start, "the group is not closed")
	}
	p.depth--
	if name != "" {
		if slices.Contains(names, name) {
			return nil, nil, p.fail(start, "two groups that can both take part have the same name")
		}
		names = append(names, name)
	}
	if outer == nil {
		return body, names, nil
	}
	outer.kids = []*node{body}
	return outer, names, nil
}

// openGroup reads the prefix that decides the kind of a group, and numbers the group; the node is nil for (?:.
func (p *parser) openGroup(start int) (outer *node, name string, err error) {
	switch {
	case p.eat("?:"):
		return nil, "", nil
	case p.eat("?="):
		return &node{op: opLook}, "", nil
	case p.eat("?!"):
		return &node{op: opLook, negate: true}, "", nil
	case p.eat("?<="):
		return &node{op: opLook, behind: true}, "", nil
	case p.eat("?<!"):
		return &node{op: opLook, behind: true, negate: true}, "", nil
	case p.eat("?<"):
		if name, err = p.groupName(); err != nil {
			return nil, "", err
		}
	case p.peek() == '?':
		return nil, "", p.fail(start, "unknown kind of group; ECMAScript has (?: (?= (?! (?<= (?<! (?<name>")
	}
	p.groups++
	if name != "" {
		p.names[name] = append(p.names[name], p.groups)
	}
	return &node{op: opGroup, group: p.groups}, name, nil
}

// groupName reads the name and the '>' that follow "(?<" or "\k<".
func (p *parser) groupName() (string, error) {
	start := p.pos
	var name []rune
	for p.more() && p.peek() != '>' {
		pos, c := p.pos, p.peek()
		p.pos++
		if c == '\\' {
			return "", p.fail(pos, "escapes in group names are not supported")
		}
		letter := c == '$' || c == '_' || unicode.IsLetter(c) || unicode.Is(unicode.Nl, c) || unicode.Is(unicode.Other_ID_Start, c)
		tail := unicode.In(c, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue) || c == '\u200c' || c == '\u200d'
		if !letter && (len(name) == 0 || !tail) {
			return "", p.fail(pos, "an invalid character in a group name")
		}
		name = append(name, c)
	}
	if len(name) == 0 || !p.eat(">") {
		return "", p.fail(start, "the group name is not complete")
	}
	return string(name), nil
}
