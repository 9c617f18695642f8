package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxNesting is the maximum depth of nested objects and arrays, including the envelope. The protocol needs fewer than
// 10 levels. The limit keeps the recursive decoders that run later far from their own limits.
const maxNesting = 200

// envelopeKind is the kind of a message.
type envelopeKind int

// The kinds of messages.
const (
	kindRequest envelopeKind = iota + 1
	kindNotification
	kindResponse
)

// String returns the kind's name, as logs show it.
func (k envelopeKind) String() string {
	switch k {
	case kindRequest:
		return "request"
	case kindNotification:
		return "notification"
	case kindResponse:
		return "response"
	}
	return "envelopeKind(" + strconv.Itoa(int(k)) + ")"
}

// envelope is one message whose outer form is valid. The raw members are slices of the frame from which it was parsed,
// and are valid as long as the frame.
type envelope struct {
	Kind envelopeKind
	// ID is the id as spelled, with its quotes if it is a string; nil for a notification. Only a response that carries
	// an error can have the id null.
	ID json.RawMessage
	// Method is the decoded name; empty for a response.
	Method string
	// Params is the object as it was sent. It is nil if params are absent, null or [], which all mean {}.
	Params json.RawMessage
	// PositionalParams: params are a scalar or an array that is not empty. This is invalidParams, once the life cycle
	// and the method have been checked. Params holds them.
	PositionalParams bool
	// Result and Error belong to a response; exactly one of them is not nil.
	Result, Error json.RawMessage
}

// badMessage is the answer to a frame that is not a valid message.
type badMessage struct {
	Code int
	// ID is the request's id if it could be read, nil for null. It is a slice of the frame.
	ID      json.RawMessage
	Message string
}

// Error returns the message.
func (b *badMessage) Error() string { return b.Message }

// parseEnvelope checks that a frame is JSON in UTF-8 (otherwise parseError), and that it is one request, notification
// or response of JSON-RPC 2.0 (otherwise invalidRequest). Member names are compared exactly, after their escapes are
// decoded. A member that the envelope knows may occur only once: parsers disagree about which of two counts, so a
// program that checked the message before us may have seen the other one. Unknown members are ignored.
func parseEnvelope(frame []byte) (envelope, *badMessage) {
	var m members
	s := jsonScanner{data: frame}
	ok := s.message(&m)
	switch {
	case !ok:
		return envelope{}, &badMessage{Code: codeParseError, Message: s.problem()}
	case m.top == '[':
		return envelope{}, invalidRequest(nil, "batches are not supported: send each message by itself")
	case m.top != '{':
		return envelope{}, invalidRequest(nil, "a message is a JSON object: send a request, a notification or a response")
	case s.tooDeep:
		return envelope{}, invalidRequest(m.echo(), "the message is nested deeper than %d levels", maxNesting)
	case m.twice != 0:
		return envelope{}, invalidRequest(m.echo(), "member %q appears twice in the message: send it once", memberNames[m.twice])
	case m.isResponse():
		return m.response()
	}
	return m.call()
}

func invalidRequest(id json.RawMessage, format string, args ...any) *badMessage {
	return &badMessage{Code: codeInvalidRequest, ID: id, Message: fmt.Sprintf(format, args...)}
}

// member is one of the members that an envelope knows. The zero member is any other.
type member int

const (
	memberOther member = iota
	memberJSONRPC
	memberID
	memberMethod
	memberParams
	memberResult
	memberError
	memberCount
)

var memberNames = [memberCount]string{"", "jsonrpc", "id", "method", "params", "result", "error"}

// memberOf returns the member with that name, a JSON string with its quotes.
func memberOf(name []byte) member {
	switch string(unquote(name)) {
	case "jsonrpc":
		return memberJSONRPC
	case "id":
		return memberID
	case "method":
		return memberMethod
	case "params":
		return memberParams
	case "result":
		return memberResult
	case "error":
		return memberError
	}
	return memberOther
}

// members are the members of a frame before their meaning is checked.
type members struct {
	top   byte   // the first byte of the value: { [ " t f n - or a digit
	twice member // a member that occurs twice
	value [memberCount]json.RawMessage
}

// set stores one member of the object.
func (m *members) set(name, value []byte) {
	k := memberOf(name)
	if k != memberOther && m.value[k] != nil {
		m.twice = k
	}
	m.value[k] = value
}

// isResponse reports whether the message answers a request of ours, with a result or an error.
func (m *members) isResponse() bool {
	return m.value[memberMethod] == nil && (m.value[memberResult] != nil || m.value[memberError] != nil)
}

// echo returns the id for an answer about a bad message, nil for null. The id of a response is one of our own. If it
// was echoed, it would look like the answer to any request of the client that has the same id.
func (m *members) echo() json.RawMessage {
	if id := m.value[memberID]; m.twice != memberID && isID(id) && !m.isResponse() {
		return id
	}
	return nil
}

// isID reports whether a value is a string or a number.
func isID(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	c := value[0]
	return c == '"' || c == '-' || isDigit(c)
}

func (m *members) versionOK() bool {
	v := m.value[memberJSONRPC]
	return len(v) > 0 && v[0] == '"' && string(unquote(v)) == "2.0"
}

const wrongVersion = `a message needs the member "jsonrpc" with the value "2.0"`

// response checks a response.
func (m *members) response() (envelope, *badMessage) {
	id, result, failure := m.value[memberID], m.value[memberResult], m.value[memberError]
	switch {
	case !m.versionOK():
		return envelope{}, invalidRequest(nil, wrongVersion)
	case result != nil && failure != nil:
		return envelope{}, invalidRequest(nil, `a response must have either "result" or "error", not both`)
	case !isID(id) && (string(id) != "null" || failure == nil):
		return envelope{}, invalidRequest(nil, "the id of a response must be the id of its request: a string or a number")
	}
	return envelope{Kind: kindResponse, ID: id, Result: result, Error: failure}, nil
}

// call checks a request or a notification.
func (m *members) call() (envelope, *badMessage) {
	id, method := m.value[memberID], m.value[memberMethod]
	switch {
	case !m.versionOK():
		return envelope{}, invalidRequest(m.echo(), wrongVersion)
	case id != nil && !isID(id):
		return envelope{}, invalidRequest(nil, "the id of a request must be a string or a number: a notification has no id")
	case method == nil:
		return envelope{}, invalidRequest(m.echo(), `a request needs the member "method", a response needs "result" or "error"`)
	case method[0] != '"':
		return envelope{}, invalidRequest(m.echo(), `the member "method" must be a string`)
	}
	e := envelope{Kind: kindRequest, ID: id, Method: string(unquote(method))}
	if id == nil {
		e.Kind = kindNotification
	}
	e.Params, e.PositionalParams = namedParams(m.value[memberParams])
	return e, nil
}

// namedParams returns params as an envelope holds them, and whether they are invalid there.
func namedParams(params []byte) (json.RawMessage, bool) {
	switch {
	case params == nil, params[0] == 'n':
		return nil, false
	case params[0] == '{':
		return params, false
	case params[0] == '[' && isEmptyArray(params), isNullArray(params):
		return nil, false
	}
	return params, true
}

// isEmptyArray reports whether the array has only white space between its brackets.
func isEmptyArray(array []byte) bool {
	s := jsonScanner{data: array, pos: 1}
	return s.peek() == ']'
}

// isNullArray reports whether params are [null]: vscode-jsonrpc sends that if its user passed undefined or null.
func isNullArray(params []byte) bool {
	if params[0] != '[' {
		return false
	}
	inner := bytes.TrimSpace(params[1 : len(params)-1])
	return string(inner) == "null"
}

// unquote returns the content of a valid JSON string. It allocates only if there are escapes.
func unquote(quoted []byte) []byte {
	content := quoted[1 : len(quoted)-1]
	for _, c := range content {
		if c == '\\' {
			return unescape(quoted)
		}
	}
	return content
}

func unescape(quoted []byte) []byte {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		panic(fmt.Sprintf("rpc: %q passed the scanner but is not a JSON string: %v", quoted, err))
	}
	return []byte(s)
}

// jsonScanner scans JSON without decoding it. It checks the grammar of RFC 8259 and that strings are UTF-8, in one
// pass. A bit stack records the nesting, so that no depth can exhaust the goroutine's stack.
type jsonScanner struct {
	data    []byte
	pos     int
	wrong   string // the reason why the byte at pos is wrong; empty if there is no error
	depth   int
	tooDeep bool // depth has been over maxNesting; the scan goes on, since invalid JSON is reported at any depth

	// One bit for each open object (1) or array (0): the innermost is bit depth-1. far has the bits beyond those of
	// near.
	near [4]uint64
	far  []uint64
}

// problem returns a sentence that says why the scan stopped.
func (s *jsonScanner) problem() string {
	if s.pos >= len(s.data) {
		return "the message is not valid JSON: it ends too early"
	}
	return fmt.Sprintf("the message is not valid JSON: %s at byte %d", s.wrong, s.pos)
}

func (s *jsonScanner) fail(wrong string) bool {
	s.wrong = wrong
	return false
}

// peek skips white space and returns the byte after it, 0 at the end. A NUL in the data is invalid JSON as well.
func (s *jsonScanner) peek() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// message scans all of data as one value, and collects the members if it is an object. It reports whether it is JSON.
func (s *jsonScanner) message(m *members) bool {
	m.top = s.peek()
	ok := false
	if m.top == '{' {
		ok = s.object(m)
	} else {
		ok = s.value()
	}
	if !ok {
		return false
	}
	s.peek()
	if s.pos < len(s.data) {
		return s.fail("unexpected data after the value")
	}
	return true
}

// object scans the outermost object.
func (s *jsonScanner) object(m *members) bool {
	s.push(true)
	if s.peek() == '}' {
		s.pop()
		return true
	}
	for {
		name, ok := s.name()
		if !ok {
			return false
		}
		s.peek()
		start := s.pos
		if !s.value() {
			return false
		}
		m.set(name, s.data[start:s.pos])
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pop()
			return true
		default:
			return s.fail("expected a comma or the end of the object")
		}
	}
}

// name scans the name of a member and the colon after it, and returns the name with its quotes.
func (s *jsonScanner) name() ([]byte, bool) {
	if s.peek() != '"' {
		return nil, s.fail("expected a member name")
	}
	start := s.pos
	if !s.str() {
		return nil, false
	}
	name := s.data[start:s.pos]
	if s.peek() != ':' {
		return nil, s.fail("expected a colon after the member name")
	}
	s.pos++
	return name, true
}

// value scans one value, including all nested values.
func (s *jsonScanner) value() bool {
	outside := s.depth
	for {
		opened, ok := s.begin()
		if !ok {
			return false
		}
		if opened {
			continue
		}
		done, ok := s.end(outside)
		if done || !ok {
			return ok
		}
	}
}

// begin scans a scalar or an empty array or object, or opens an array or object up to its first value.
func (s *jsonScanner) begin() (opened, ok bool) {
	switch c := s.peek(); {
	case c == '{':
		s.push(true)
		if s.peek() == '}' {
			s.pop()
			return false, true
		}
		_, ok := s.name()
		return true, ok
	case c == '[':
		s.push(false)
		if s.peek() == ']' {
			s.pop()
			return false, true
		}
		return true, true
	case c == '"':
		return false, s.str()
	case c == '-' || isDigit(c):
		return false, s.number()
	}
	return false, s.literal()
}

// end goes on after a value: it closes the objects and arrays that end there, and moves to the next value. It is done
// when depth is outside.
func (s *jsonScanner) end(outside int) (done, ok bool) {
	for s.depth > outside {
		inObject := s.inObject()
		switch c := s.peek(); {
		case c == ',' && inObject:
			s.pos++
			_, ok := s.name()
			return false, ok
		case c == ',':
			s.pos++
			return false, true
		case c == '}' && inObject, c == ']' && !inObject:
			s.pop()
		case inObject:
			return false, s.fail("expected a comma or the end of the object")
		default:
			return false, s.fail("expected a comma or the end of the array")
		}
	}
	return true, true
}

// push enters the object or array whose bracket is at pos.
func (s *jsonScanner) push(object bool) {
	s.pos++
	word, bit := s.depth/64, uint64(1)<<(s.depth%64)
	s.depth++
	s.tooDeep = s.tooDeep || s.depth > maxNesting
	w := word - len(s.near)
	if w >= 0 && w == len(s.far) {
		s.far = append(s.far, 0)
	}
	at := &s.near[word%len(s.near)]
	if w >= 0 {
		at = &s.far[w]
	}
	*at &^= bit
	if object {
		*at |= bit
	}
}

// pop leaves the object or array whose bracket is at pos.
func (s *jsonScanner) pop() {
	s.pos++
	s.depth--
}

// inObject reports whether the innermost open bracket is that of an object.
func (s *jsonScanner) inObject() bool {
	word, bit := (s.depth-1)/64, uint64(1)<<((s.depth-1)%64)
	if word < len(s.near) {
		return s.near[word]&bit != 0
	}
	return s.far[word-len(s.near)]&bit != 0
}

// literal scans true, false or null.
func (s *jsonScanner) literal() bool {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(s.data)-s.pos >= len(word) && string(s.data[s.pos:s.pos+len(word)]) == word {
			s.pos += len(word)
			return true
		}
	}
	return s.fail("expected a value")
}

func isDigit(c byte) bool { return c-'0' < 10 }

// digits scans decimal digits, at least one.
func (s *jsonScanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && isDigit(s.data[s.pos]) {
		s.pos++
	}
	if s.pos == start {
		return s.fail("expected a digit")
	}
	return true
}

// accept skips the next byte if it is one of a or b.
func (s *jsonScanner) accept(a, b byte) bool {
	if s.pos < len(s.data) && (s.data[s.pos] == a || s.data[s.pos] == b) {
		s.pos++
		return true
	}
	return false
}

// number scans a number. A digit after a leading zero is not part of it, so the caller reports it as an error.
func (s *jsonScanner) number() bool {
	s.accept('-', '-')
	if !s.accept('0', '0') && !s.digits() {
		return false
	}
	if s.accept('.', '.') && !s.digits() {
		return false
	}
	if s.accept('e', 'E') {
		s.accept('+', '-')
		return s.digits()
	}
	return true
}

// str scans a string.
func (s *jsonScanner) str() bool {
	s.pos++
	for {
		s.pos += plainASCII(s.data[s.pos:])
		if s.pos == len(s.data) {
			return s.fail("unterminated string")
		}
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return true
		case c == '\\':
			if !s.escape() {
				return false
			}
		case c < utf8.RuneSelf:
			return s.fail("unescaped control character in a string")
		default:
			run, valid := nonASCII(s.data[s.pos:])
			s.pos += run
			if !valid {
				return s.fail("invalid UTF-8")
			}
		}
	}
}

// escape scans one escape. Half of a surrogate pair is accepted: the grammar allows it. If it was refused here, the
// answer could not carry the request's id, and the sender could not match it to the request.
func (s *jsonScanner) escape() bool {
	s.pos++
	if s.pos == len(s.data) {
		return s.fail("unterminated string")
	}
	switch s.data[s.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return true
	case 'u':
		s.pos++
	default:
		return s.fail("invalid escape")
	}
	for range 4 {
		if s.pos == len(s.data) || !isHex(s.data[s.pos]) {
			return s.fail("expected four hexadecimal digits in an escape")
		}
		s.pos++
	}
	return true
}

func isHex(c byte) bool { return isDigit(c) || (c|0x20)-'a' < 6 }
