package conformance

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// errUsage says that the words behind a verb are not those that it takes.
var errUsage = errors.New("usage")

// nothing refuses a body where there must be none.
func (s section) nothing() error {
	if strings.TrimSpace(s.body) != "" {
		return &syntaxError{position{s.file, s.line, 1}, "expected nothing here: this step has no body"}
	}
	return nil
}

// value is the body as one value; nil where there is none.
func (s section) value() (value, error) {
	p := s.parser()
	if p.space(); p.off == len(p.src) {
		return nil, nil
	}
	return parseValue(s.file, s.line, s.body)
}

func (s section) parser() *parser { return &parser{file: s.file, line: s.line, src: s.body} }

// parts are what stands before and behind a line that is "=>".
func (s section) parts() (before, behind section, both bool) {
	line := s.line
	for i, l := range strings.SplitAfter(s.body, "\n") {
		if strings.TrimSpace(l) == "=>" {
			lines := strings.SplitAfter(s.body, "\n")
			return section{s.file, s.line, strings.Join(lines[:i], "")},
				section{s.file, line + i + 1, strings.Join(lines[i+1:], "")}, true
		}
	}
	return s, section{}, false
}

// items are methods, each with a value or none behind it.
func (s section) items() ([]item, error) {
	p := s.parser()
	var all []item
	for {
		p.space()
		if p.off == len(p.src) {
			return all, nil
		}
		it, err := p.item()
		if err != nil {
			return nil, err
		}
		all = append(all, it)
	}
}

// item is a method on a line, an id on the next if there is one, and a value.
func (p *parser) item() (item, error) {
	it := item{position: p.at(), method: p.method()}
	if it.method == "" {
		return it, p.fail("expected a method, as in job/output, found %s", p.found())
	}
	if p.eat("id:") {
		v, err := p.value()
		if err != nil {
			return it, err
		}
		it.id = v
	}
	p.space()
	if p.off == len(p.src) || strings.IndexByte("{[@$n\"", p.src[p.off]) < 0 || p.src[p.off] == 'n' && !strings.HasPrefix(p.src[p.off:], "null") {
		return it, nil
	}
	var err error
	it.params, err = p.value()
	return it, err
}

func (p *parser) method() string {
	start := p.off
	for p.off < len(p.src) && (isWord(p.src[p.off]) || strings.IndexByte("/$.-", p.src[p.off]) >= 0) {
		p.off++
	}
	return p.src[start:p.off]
}

// one is the body as a single item.
func (s section) one() (item, error) {
	all, err := s.items()
	if err != nil {
		return item{}, err
	}
	if len(all) != 1 {
		return item{}, &syntaxError{position{s.file, s.line, 1}, fmt.Sprintf("expected one method with its params, found %d", len(all))}
	}
	return all[0], nil
}

func parseInitialize(st *step, words []string, s section) (err error) {
	if len(words) > 0 {
		return errUsage
	}
	params, result, _ := s.parts()
	if st.v, err = params.value(); err != nil {
		return err
	}
	st.more, err = result.value()
	return err
}

func parseSend(st *step, words []string, s section) error {
	if len(words) == 0 || len(words) > 2 || len(words) == 2 && words[1] != "invalid" {
		return errUsage
	}
	st.name, st.words = words[0], words[1:]
	it, err := s.one()
	st.items = []item{it}
	return err
}

func parseNotify(st *step, words []string, s section) error {
	if len(words) > 1 || len(words) == 1 && words[0] != "invalid" {
		return errUsage
	}
	st.words = words
	it, err := s.one()
	if err == nil && it.id != nil {
		return &syntaxError{it.position, "a notification has no id"}
	}
	st.items = []item{it}
	return err
}

func parseContent(st *step, words []string, s section) error {
	if len(words) > 0 {
		return errUsage
	}
	st.content = strings.TrimSuffix(s.body, "\n")
	return nil
}

// parseRaw reads bytes: lines are joined, and \n \r \t \\ \xHH in them stand for what
// they stand for in Go.
func parseRaw(st *step, words []string, s section) error {
	if len(words) > 0 {
		return errUsage
	}
	var b strings.Builder
	for i, l := range strings.Split(s.body, "\n") {
		rest := l
		for rest != "" {
			c, wide, tail, err := strconv.UnquoteChar(rest, 0)
			if err != nil {
				return &syntaxError{position{s.file, s.line + i, 1 + len(l) - len(rest)}, `expected a character, or one of \n \r \t \\ \xHH \uHHHH`}
			}
			if wide {
				b.WriteRune(c)
			} else {
				b.WriteByte(byte(c))
			}
			rest = tail
		}
	}
	st.content = b.String()
	return nil
}

func parseAnswer(st *step, words []string, s section) (err error) {
	if len(words) != 1 {
		return errUsage
	}
	st.name = words[0]
	st.v, err = s.value()
	return err
}

func parseExpect(st *step, words []string, s section) (err error) {
	if len(words) > 1 || len(words) == 1 && words[0] != "next" && words[0] != "unordered" {
		return errUsage
	}
	st.words = words
	if st.items, err = s.items(); err == nil && len(st.items) == 0 {
		return &syntaxError{position{s.file, s.line, 1}, "expected at least one message"}
	}
	return err
}

func parseNever(st *step, words []string, s section) error {
	if len(words) > 0 {
		return errUsage
	}
	it, err := s.one()
	st.items = []item{it}
	return err
}

func parseCount(st *step, words []string, s section) error {
	if len(words) != 1 {
		return errUsage
	}
	if n, ok := integer(words[0]); !ok || n < 0 {
		return errUsage
	}
	st.words = words
	it, err := s.one()
	st.items = []item{it}
	return err
}

func parseReply(st *step, words []string, s section) (err error) {
	if len(words) != 1 {
		return errUsage
	}
	st.words = words
	request, result, both := s.parts()
	if !both {
		return &syntaxError{position{s.file, s.line, 1}, "expected a pattern for the params, a line =>, and the result to answer with"}
	}
	if st.v, err = request.value(); err != nil {
		return err
	}
	if st.more, err = result.value(); err == nil && st.more == nil {
		return &syntaxError{position{s.file, result.line, 1}, "expected the result to answer with"}
	}
	return err
}

func parseLet(st *step, words []string, s section) (err error) {
	if len(words) != 1 {
		return errUsage
	}
	st.words = words
	if st.v, err = s.value(); err == nil && st.v == nil {
		return &syntaxError{position{s.file, s.line, 1}, "expected a value"}
	}
	return err
}

// parseOutput reads the handle as a value of its own, and the rest as words.
func parseOutput(st *step, words []string, s section) error {
	if len(words) == 0 {
		return errUsage
	}
	st.words = words
	for i, w := range words[1:] {
		switch w {
		case "pty", "stdout", "stderr", "contains":
		case "from":
			if i+3 != len(words) {
				return errUsage
			}
		default:
			if words[i] != "from" {
				return errUsage
			}
		}
	}
	v, err := s.texts()
	st.v = v
	return err
}

// texts is a body of one pattern, or of strings that are joined.
func (s section) texts() (value, error) {
	p := s.parser()
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	for {
		p.space()
		if p.off == len(p.src) {
			return v, nil
		}
		next, err := p.value()
		if err != nil {
			return nil, err
		}
		a, okA := v.(literal)
		b, okB := next.(literal)
		x, textA := a.v.(text)
		y, textB := b.v.(text)
		if !okA || !okB || !textA || !textB {
			return nil, &syntaxError{next.at(), "only strings can follow each other; they are joined"}
		}
		joined := append(append(text{}, x[:len(x)-1]...), x[len(x)-1]+y[0])
		a.v = append(joined, y[1:]...)
		v = a
	}
}

func parseWords(st *step, words []string, s section) error {
	want := map[string]string{"close": "stdin"}[st.verb]
	if strings.Join(words, " ") != want {
		return errUsage
	}
	return s.nothing()
}

func parseExit(st *step, words []string, s section) error {
	if len(words) != 1 {
		return errUsage
	}
	if _, ok := integer(words[0]); !ok && words[0] != "any" {
		return errUsage
	}
	st.words = words
	return s.nothing()
}

func parseSignal(st *step, words []string, s section) error {
	if len(words) != 1 || signalNumbers[words[0]] == 0 {
		return errUsage
	}
	st.words = words
	return s.nothing()
}

func parseGone(st *step, words []string, s section) (err error) {
	if len(words) > 0 {
		return errUsage
	}
	if st.v, err = s.value(); err == nil && st.v == nil {
		return &syntaxError{position{s.file, s.line, 1}, "expected a process id, as in $pid"}
	}
	return err
}
