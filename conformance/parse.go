package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"shelld.dev/shelld/conformance/internal/wire"
)

// A parser reads values of the session language from one text.
type parser struct {
	file string
	line int // of the text's first line
	src  string
	off  int

	depth int
	open  []position // the brackets around off
}

// parseValue parses one value that fills src. line is the number of its first line.
func parseValue(file string, line int, src string) (value, error) {
	p := &parser{file: file, line: line, src: src}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.off < len(p.src) {
		return nil, p.fail("expected the end of the section after the value, found %s", p.found())
	}
	return v, nil
}

// at returns the parser's position. At the end of a section that is the end of its text, and not the line of the
// next header; if there is no text, it is the line of its own header.
func (p *parser) at() position {
	before := p.src[:p.off]
	if p.off == len(p.src) {
		if before = strings.TrimRight(before, " \t\r\n"); before == "" {
			return position{p.file, p.line - 1, 1}
		}
	}
	line := p.line + strings.Count(before, "\n")
	return position{p.file, line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])}
}

func (p *parser) fail(format string, args ...any) error {
	return &syntaxError{p.at(), fmt.Sprintf(format, args...)}
}

// found describes the next text, for errors.
func (p *parser) found() string {
	rest := p.src[p.off:]
	if rest == "" && len(p.open) > 0 {
		open := p.open[len(p.open)-1]
		return fmt.Sprintf("the end of the section; the bracket that is opened at %d:%d is not closed", open.line, open.col)
	}
	if rest == "" {
		return "the end of the section"
	}
	word, _, _ := strings.Cut(rest, "\n")
	if utf8.RuneCountInString(word) > 20 {
		word = string([]rune(word)[:20]) + "…"
	}
	return strconv.Quote(word)
}

// space skips white space and comments.
func (p *parser) space() {
	for p.off < len(p.src) {
		switch {
		case strings.IndexByte(" \t\r\n", p.src[p.off]) >= 0:
			p.off++
		case strings.HasPrefix(p.src[p.off:], "//"):
			end := strings.IndexByte(p.src[p.off:], '\n')
			if end < 0 {
				end = len(p.src) - p.off
			}
			p.off += end
		default:
			return
		}
	}
}

// eat consumes s if it is next.
func (p *parser) eat(s string) bool {
	p.space()
	if !strings.HasPrefix(p.src[p.off:], s) {
		return false
	}
	p.off += len(s)
	return true
}

func (p *parser) value() (value, error) {
	p.space()
	if p.depth++; p.depth > wire.MaxNesting {
		return nil, p.fail("values are nested deeper than %d", wire.MaxNesting)
	}
	defer func() { p.depth-- }()
	if p.off == len(p.src) {
		return nil, p.fail("expected a value, found %s", p.found())
	}
	pos := p.at()
	switch c := p.src[p.off]; {
	case c == '{':
		return p.object(pos)
	case c == '[':
		return p.array(pos)
	case c == '"':
		t, err := p.text()
		return literal{pos, t}, err
	case c == '$':
		return p.variable(pos)
	case c == '@':
		return p.special(pos)
	case c == '~':
		p.off++
		t, err := p.regex()
		return regex{pos, t}, err
	case c == '<' || c == '>':
		return p.comparison(pos)
	case c == '-' || c >= '0' && c <= '9':
		n, err := p.number()
		return literal{pos, n}, err
	}
	return p.keyword(pos)
}

func (p *parser) keyword(pos position) (value, error) {
	start := p.off
	switch word := p.word(); word {
	case "null":
		return literal{pos, nil}, nil
	case "true", "false":
		return literal{pos, word == "true"}, nil
	}
	p.off = start
	return nil, p.fail("expected a value (JSON, $variable, @kind, ~\"regex\", a comparison), found %s", p.found())
}

// word consumes letters, digits and underscores.
func (p *parser) word() string {
	start := p.off
	for p.off < len(p.src) && wire.IsWord(p.src[p.off]) {
		p.off++
	}
	return p.src[start:p.off]
}

func (p *parser) object(pos position) (value, error) {
	o := object{position: pos}
	p.enter(pos) // {
	for {
		if p.leave("}") {
			return o, nil
		}
		p.space()
		m := member{position: p.at()}
		if p.off == len(p.src) || p.src[p.off] != '"' && !wire.IsWord(p.src[p.off]) {
			return nil, p.fail("expected a member's name or }, found %s", p.found())
		}
		if err := p.memberName(&m); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(o.members, func(o member) bool { return o.name == m.name }) {
			return nil, &syntaxError{m.position, fmt.Sprintf("the member %q is there already", m.name)}
		}
		if !p.eat(":") {
			return nil, p.fail("expected : after the member's name, found %s", p.found())
		}
		var err error
		if m.v, err = p.value(); err != nil {
			return nil, err
		}
		o.members = append(o.members, m)
		if !p.eat(",") && !p.next('}') {
			return nil, p.fail("expected , or } after a member, found %s", p.found())
		}
	}
}

// enter consumes an opening bracket; leave consumes the closing one, if it is next.
func (p *parser) enter(pos position) {
	p.off++
	p.open = append(p.open, pos)
}

func (p *parser) leave(bracket string) bool {
	if !p.eat(bracket) {
		return false
	}
	p.open = p.open[:len(p.open)-1]
	return true
}

// memberName parses a string, or a word without quotes.
func (p *parser) memberName(m *member) error {
	if p.src[p.off] != '"' {
		m.name = p.word()
		return nil
	}
	t, err := p.text()
	if err != nil {
		return err
	}
	name, ok := t.plain()
	if !ok {
		return &syntaxError{m.position, "a member's name cannot have variables in it"}
	}
	m.name = name
	return nil
}

// next reports whether c is next.
func (p *parser) next(c byte) bool {
	p.space()
	return p.off < len(p.src) && p.src[p.off] == c
}

func (p *parser) array(pos position) (value, error) {
	a := array{position: pos}
	p.enter(pos) // [
	for {
		if p.leave("]") {
			return a, nil
		}
		if p.eat("...") {
			a.elements = append(a.elements, nil)
		} else {
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			a.elements = append(a.elements, v)
		}
		if !p.eat(",") && !p.next(']') {
			return nil, p.fail("expected , or ] after an element, found %s", p.found())
		}
	}
}

// text parses a JSON string. ${name} in it is the value of a variable, and $${ a plain ${.
func (p *parser) text() (text, error) {
	pos := p.at()
	s, err := p.quoted()
	if err != nil {
		return nil, err
	}
	return splitText(pos, s)
}

// regex parses a JSON string in which every backslash is doubled or, between backquotes, a string in which none
// is.
func (p *parser) regex() (text, error) {
	if p.off < len(p.src) && p.src[p.off] == '`' {
		end := strings.IndexByte(p.src[p.off+1:], '`')
		if end < 0 {
			return nil, p.fail("expected a closing backquote")
		}
		s := p.src[p.off+1 : p.off+1+end]
		p.off += end + 2
		return splitText(p.at(), s)
	}
	if !p.next('"') {
		return nil, p.fail("expected a string after ~, found %s", p.found())
	}
	return p.text()
}

func (p *parser) quoted() (string, error) {
	end := p.off + 1
	for end < len(p.src) && p.src[end] != '"' && p.src[end] != '\n' {
		if p.src[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.src) || p.src[end] != '"' {
		return "", p.fail("expected a closing quote on this line")
	}
	var s string
	if err := json.Unmarshal([]byte(p.src[p.off:end+1]), &s); err != nil {
		var where *json.SyntaxError
		if errors.As(err, &where) && where.Offset > 0 {
			p.off += int(where.Offset) - 1 // the invalid byte
		}
		return "", p.fail("this is no JSON string: %v", err)
	}
	p.off = end + 1
	return s, nil
}

// splitText splits a string at its variables.
func splitText(pos position, s string) (text, error) {
	t := text{""}
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			t[len(t)-1] += s
			return t, nil
		}
		if i > 0 && s[i-1] == '$' {
			t[len(t)-1] += s[:i-1] + "${"
			s = s[i+2:]
			continue
		}
		name, rest, ok := strings.Cut(s[i+2:], "}")
		if !ok || name == "" || strings.IndexFunc(name, func(r rune) bool { return r > 127 || !wire.IsWord(byte(r)) }) >= 0 {
			return nil, &syntaxError{pos, "expected a variable's name and } after ${ ($${ stands for the characters themselves)"}
		}
		t[len(t)-1] += s[:i]
		t = append(t, name, "")
		s = rest
	}
}

func (p *parser) variable(pos position) (value, error) {
	p.off++ // $
	v := variable{position: pos, name: p.word()}
	if v.name == "" {
		return nil, p.fail("expected a variable's name after $, found %s", p.found())
	}
	if p.off < len(p.src) && p.src[p.off] == ':' {
		p.off++
		v.kind = p.word()
		if err := knownKind(pos, v.kind); err != nil || v.kind == "absent" {
			return nil, orElse(err, &syntaxError{pos, "a variable cannot be bound to what is absent"})
		}
	}
	sign := int64(0)
	if p.eat("+") {
		sign = 1
	} else if p.next('-') {
		p.off++
		sign = -1
	}
	if sign != 0 {
		p.space()
		n, err := p.number()
		if err != nil {
			return nil, err
		}
		k, err := strconv.ParseInt(string(n), 10, 64)
		if err != nil {
			return nil, &syntaxError{pos, "only an integer can be added to a variable"}
		}
		v.plus = sign * k
	}
	return v, nil
}

func orElse(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func knownKind(pos position, kind string) error {
	if placeholders[kind] != nil {
		return nil
	}
	return &syntaxError{pos, fmt.Sprintf("there is no kind @%s; those there are: %s", kind, strings.Join(kindNames(), ", "))}
}

func kindNames() []string {
	var names []string
	for k := range placeholders {
		names = append(names, "@"+k)
	}
	slices.Sort(names)
	return names
}

// special parses a value that begins with @: a kind, or a word that modifies the value after it.
func (p *parser) special(pos position) (value, error) {
	p.off++
	switch word := p.word(); word {
	case "exactly":
		if !p.next('{') {
			return nil, p.fail("expected an object after @exactly, found %s", p.found())
		}
		v, err := p.value()
		o, _ := v.(object)
		o.exact = true
		return o, err
	case "unordered":
		if !p.next('[') {
			return nil, p.fail("expected an array after @unordered, found %s", p.found())
		}
		v, err := p.value()
		a, _ := v.(array)
		a.unordered = true
		return a, err
	case "len":
		v, err := p.value()
		return length{pos, v}, err
	case "repeat":
		return p.repeat(pos)
	default:
		if placeholders[word] == nil {
			return nil, &syntaxError{pos, fmt.Sprintf("there is no @%s; there are @exactly {…}, @unordered […], @len N, @repeat N \"…\", %s", word, strings.Join(kindNames(), ", "))}
		}
		return placeholder{pos, word}, nil
	}
}

// mostRepeated is the maximum number of bytes of a string made by @repeat.
const mostRepeated = 64 << 20

func (p *parser) repeat(pos position) (value, error) {
	p.space()
	n, err := p.number()
	times, ok := integer(string(n))
	switch {
	case err != nil || !ok || times < 0:
		return nil, &syntaxError{pos, `expected a count and a string after @repeat, as in @repeat 1000 "x"`}
	case !p.next('"'):
		return nil, p.fail("expected a string after @repeat and its count, found %s", p.found())
	}
	t, err := p.text()
	if err == nil && times > 0 && int64(len(strings.Join(t, "")))+1 > mostRepeated/times {
		return nil, &syntaxError{pos, fmt.Sprintf("@repeat makes at most %d bytes", mostRepeated)}
	}
	return repeated{pos, int(times), t}, err
}

func (p *parser) comparison(pos position) (value, error) {
	for _, op := range []string{">=", "<=", ">", "<"} {
		if p.eat(op) {
			v, err := p.value()
			return comparison{pos, op, v}, err
		}
	}
	return nil, p.fail("expected a comparison")
}

func (p *parser) number() (wire.Number, error) {
	end := p.off
	for end < len(p.src) && strings.IndexByte("+-.eE0123456789", p.src[end]) >= 0 {
		end++
	}
	n := p.src[p.off:end]
	if !json.Valid([]byte(n)) {
		return "", p.fail("expected a number, found %s", p.found())
	}
	p.off = end
	return wire.Number(n), nil
}
