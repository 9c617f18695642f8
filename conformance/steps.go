package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shelld.dev/shelld/conformance/internal/wire"
)

// errUsage means that the arguments of a verb are wrong.
var errUsage = errors.New("usage")

// nothing returns an error if a body is not empty.
func (s section) nothing() error {
	if strings.TrimSpace(s.body) != "" {
		return &syntaxError{s.at(), "expected nothing here: this step has no body"}
	}
	return nil
}

// value parses the body as one value. It returns nil if the body is empty.
func (s section) value() (value, error) {
	p := s.parser()
	if p.space(); p.off == len(p.src) {
		return nil, nil
	}
	return parseValue(s.file, s.line, s.body)
}

// at returns the first position of the body, or the line above it if the body is empty.
func (s section) at() position {
	if strings.TrimSpace(s.body) == "" {
		return position{s.file, s.line - 1, 1}
	}
	return position{s.file, s.line, 1}
}

func (s section) parser() *parser { return &parser{file: s.file, line: s.line, src: s.body} }

// parts splits the body at a line that is "=>".
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

// items parses methods, each optionally followed by a value.
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

// item parses a method on a line, an optional id on the next, and an optional value.
func (p *parser) item() (item, error) {
	it := item{position: p.at(), method: p.method()}
	if it.method == "" {
		return it, p.fail("expected a method, as in job/output, found %s", p.found())
	}
	if it.method == "answer" || it.method == "error" {
		p.space()
		if it.name = p.requestName(); it.name == "" {
			return it, p.fail("expected a request's name after %s, found %s", it.method, p.found())
		}
	}
	if p.eat("id:") {
		v, err := p.value()
		if err != nil {
			return it, err
		}
		it.id = v
	}
	if p.space(); !p.beginsValue() {
		return it, nil
	}
	var err error
	it.params, err = p.value()
	return it, err
}

// beginsValue reports whether a value comes next, rather than the next method.
func (p *parser) beginsValue() bool {
	rest := p.src[p.off:]
	return rest != "" && strings.IndexByte("{[@$\"", rest[0]) >= 0 && !strings.HasPrefix(rest, "$/") || strings.HasPrefix(rest, "null")
}

// requestName consumes the name that a session gave a request.
func (p *parser) requestName() string {
	start := p.off
	for p.off < len(p.src) && (wire.IsWord(p.src[p.off]) || p.src[p.off] == '-') {
		p.off++
	}
	return p.src[start:p.off]
}

func isName(s string) bool {
	p := parser{src: s}
	return p.requestName() == s && s != "" && s != "null"
}

func (p *parser) method() string {
	start := p.off
	for p.off < len(p.src) && (wire.IsWord(p.src[p.off]) || strings.IndexByte("/$.-", p.src[p.off]) >= 0) {
		p.off++
	}
	return p.src[start:p.off]
}

// one parses the body as a single item.
func (s section) one() (item, error) {
	all, err := s.items()
	if err != nil {
		return item{}, err
	}
	if len(all) != 1 {
		return item{}, &syntaxError{s.at(), fmt.Sprintf("expected one method with its params, found %d", len(all))}
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
	if len(words) == 0 || len(words) > 2 || !isName(words[0]) || len(words) == 2 && words[1] != "invalid" && words[1] != "unanswered" {
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

// parseContent parses a body that is sent unchanged, and the names of the requests in it.
func parseContent(st *step, words []string, s section) (err error) {
	st.ids = map[string]string{}
	for _, w := range words {
		name, id, ok := strings.Cut(w, "=")
		if _, bad := wire.Decode([]byte(id)); !ok || bad != nil || !isName(name) {
			return &syntaxError{st.position, fmt.Sprintf("expected the name and the id of a request, as in twin=7 or twin=\"a\", found %q", w)}
		}
		st.ids[name] = id
	}
	if st.verb == "frame" {
		st.content = strings.TrimSuffix(s.body, "\n")
		return nil
	}
	st.content, err = s.bytes()
	return err
}

// bytes decodes a body of bytes: its lines are joined, and \n \r \t \\ \xHH \uHHHH have the same meaning as in
// Go.
func (s section) bytes() (string, error) {
	var b strings.Builder
	for i, l := range strings.Split(s.body, "\n") {
		for rest := l; rest != ""; {
			c, wide, tail, err := strconv.UnquoteChar(rest, 0)
			if err != nil {
				return "", &syntaxError{position{s.file, s.line + i, 1 + len(l) - len(rest)}, `expected a character, or one of \n \r \t \\ \xHH \uHHHH`}
			}
			if wide {
				b.WriteRune(c)
			} else {
				b.WriteByte(byte(c))
			}
			rest = tail
		}
	}
	return b.String(), nil
}

func parseError(st *step, words []string, s section) error {
	if len(words) == 3 && words[1] == "or" && words[2] == "null" && words[0] != "null" {
		st.words, words = words[1:], words[:1]
	}
	return parseAnswer(st, words, s)
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
	if n := len(words); n >= 2 && words[n-2] == "of" {
		if st.name = words[n-1]; !isName(st.name) {
			return errUsage
		}
		words = words[:n-2]
	}
	if len(words) > 1 || len(words) == 1 && words[0] != "next" && words[0] != "unordered" {
		return errUsage
	}
	st.words = words
	if st.items, err = s.items(); err == nil && len(st.items) == 0 {
		return &syntaxError{s.at(), "expected at least one message"}
	}
	return err
}

func parseNever(st *step, words []string, s section) error {
	if len(words) > 0 && (len(words) != 2 || words[0] != "until") {
		return errUsage
	}
	st.words = words
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
	if len(words) == 0 || len(words) > 2 || len(words) == 2 && words[1] != "unanswered" {
		return errUsage
	}
	st.words = words
	if len(words) == 2 {
		st.v, err = s.value()
		return err
	}
	request, result, both := s.parts()
	if !both {
		return &syntaxError{s.at(), "expected a pattern for the params, a line =>, and the result to answer with"}
	}
	if st.v, err = request.value(); err != nil {
		return err
	}
	if st.more, err = result.value(); err == nil && st.more == nil {
		return &syntaxError{result.at(), "expected the result to answer with"}
	}
	return err
}

func parseLet(st *step, words []string, s section) (err error) {
	if len(words) != 1 {
		return errUsage
	}
	st.words = words
	if st.v, err = s.value(); err == nil && st.v == nil {
		return &syntaxError{s.at(), "expected a value"}
	}
	return err
}

// An outputStep is the expectation of a step about a job's output.
type outputStep struct {
	handle value
	stream string // "": the only one
	how    string // "", contains, ends
	from   value  // nil: from the end of the last such step
	pieces []outputPiece
}

// An outputPiece holds bytes expected at an offset of a stream.
type outputPiece struct {
	position
	offset value
	base64 bool
	text   value
}

// parseOutput parses the words after output: HANDLE [STREAM] [HOW] [from OFFSET].
func parseOutput(st *step, words []string, s section) (err error) {
	if len(words) == 0 {
		return errUsage
	}
	o := &outputStep{}
	st.output = o
	if o.handle, err = parseValue(st.file, st.line, words[0]); err != nil {
		return err
	}
	rest := words[1:]
	if len(rest) > 0 && slices.Contains(wire.Streams, rest[0]) {
		o.stream, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 && (rest[0] == "contains" || rest[0] == "ends") {
		o.how, rest = rest[0], rest[1:]
	}
	if len(rest) == 2 && rest[0] == "from" {
		if o.from, err = parseValue(st.file, st.line, rest[1]); err != nil {
			return err
		}
		rest = nil
	}
	if len(rest) > 0 {
		return errUsage
	}
	st.v, err = s.texts()
	return err
}

// parseBytes parses a body of lines OFFSET: "text" or OFFSET: base64 "…".
func parseBytes(st *step, words []string, s section) (err error) {
	if len(words) != 2 || !slices.Contains(wire.Streams, words[1]) {
		return errUsage
	}
	o := &outputStep{stream: words[1]}
	st.output = o
	if o.handle, err = parseValue(st.file, st.line, words[0]); err != nil {
		return err
	}
	p := s.parser()
	for {
		if p.space(); p.off == len(p.src) {
			break
		}
		piece, err := p.outputPiece()
		if err != nil {
			return err
		}
		o.pieces = append(o.pieces, piece)
	}
	if len(o.pieces) == 0 {
		return &syntaxError{s.at(), `expected at least one line such as 0: "text" or 5: base64 "AAE="`}
	}
	return nil
}

func (p *parser) outputPiece() (o outputPiece, err error) {
	o.position = p.at()
	if o.offset, err = p.value(); err != nil {
		return o, err
	}
	if !p.eat(":") {
		return o, p.fail("expected : after the offset, found %s", p.found())
	}
	o.base64 = p.eat("base64")
	o.text, err = p.value()
	return o, err
}

// texts parses a body of one pattern, or of several strings, which are joined.
func (s section) texts() (value, error) {
	p := s.parser()
	first, err := p.value()
	if err != nil {
		return nil, err
	}
	all := concat{first.at(), []value{first}}
	for {
		if p.space(); p.off == len(p.src) {
			break
		}
		next, err := p.value()
		if err != nil {
			return nil, err
		}
		all.parts = append(all.parts, next)
	}
	if len(all.parts) == 1 {
		return first, nil
	}
	for _, v := range all.parts {
		l, _ := v.(literal)
		_, isText := l.v.(text)
		if _, isRepeated := v.(repeated); !isText && !isRepeated {
			return nil, &syntaxError{v.at(), "only strings can follow each other; they are joined"}
		}
	}
	return all, nil
}

func parseWords(st *step, words []string, s section) error {
	want := map[string]string{"close": "stdin"}[st.verb]
	if strings.Join(words, " ") != want {
		return errUsage
	}
	return s.nothing()
}

func parseClient(st *step, words []string, s section) error {
	if len(words) == 0 || len(words) > 2 || !isName(words[0]) || len(words) == 2 && words[1] != "uninitialized" {
		return errUsage
	}
	st.words = words
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
		return &syntaxError{s.at(), "expected a process id, as in $pid"}
	}
	return err
}
