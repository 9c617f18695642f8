package schema

import (
	"bytes"
	"encoding/json"
)

// Typing is the most frequent operation of a client, one key at a time, and the validator and the decoder took more
// time for it than the rest of the server together. So the params of job/write are read here if they are as plain as
// nearly all are: an object with a handle that is a number, an input of ASCII, and appendNewline, each at most once.
// All others, and params that do not fit, go through the general path. A test checks that both agree.

// plainWrite stores params in p. If they are not plain, it returns false and does not change p.
func plainWrite(params []byte, p *JobWriteParams) bool {
	var got JobWriteParams
	s := plainScanner{params}
	if !s.take('{') {
		return false
	}
	for {
		name, ok := s.text()
		if !ok || !s.take(':') {
			return false
		}
		switch name {
		case "handle":
			ok = got.Handle == nil && s.handle(&got.Handle)
		case "input":
			var text string
			if text, ok = s.text(); ok {
				ok = got.Input == nil
				got.Input = &text
			}
		case "appendNewline":
			ok = got.AppendNewline == nil && s.bool(&got.AppendNewline)
		default:
			ok = false
		}
		switch {
		case !ok:
			return false
		case s.take(','):
		case s.take('}') && s.over() && got.Handle != nil:
			*p = got
			return true
		default:
			return false
		}
	}
}

// A plainScanner reads the rest of a JSON text.
type plainScanner struct{ rest []byte }

func (s *plainScanner) space() { s.rest = bytes.TrimLeft(s.rest, " \t\r\n") }

func (s *plainScanner) over() bool {
	s.space()
	return len(s.rest) == 0
}

func (s *plainScanner) take(c byte) bool {
	if s.over() || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// handle reads a positive integer of at most 15 digits, which is below 2^53.
func (s *plainScanner) handle(into *json.RawMessage) bool {
	s.space()
	n := 0
	for n < len(s.rest) && '0' <= s.rest[n] && s.rest[n] <= '9' {
		n++
	}
	if n == 0 || n > 15 || s.rest[0] == '0' {
		return false
	}
	*into, s.rest = bytes.Clone(s.rest[:n]), s.rest[n:]
	return true
}

func (s *plainScanner) bool(into **bool) bool {
	s.space()
	for _, v := range []bool{true, false} {
		word := "false"
		if v {
			word = "true"
		}
		if rest, ok := bytes.CutPrefix(s.rest, []byte(word)); ok {
			*into, s.rest = &v, rest
			return true
		}
	}
	return false
}

// text reads a string of ASCII with the short escapes.
func (s *plainScanner) text() (string, bool) {
	if !s.take('"') {
		return "", false
	}
	var unescaped []byte
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			text := string(append(unescaped, s.rest[:i]...))
			s.rest = s.rest[i+1:]
			return text, true
		case c == '\\':
			if i+1 == len(s.rest) || shortEscapes[s.rest[i+1]] == 0 {
				return "", false
			}
			unescaped = append(append(unescaped, s.rest[:i]...), shortEscapes[s.rest[i+1]])
			s.rest, i = s.rest[i+2:], -1
		case c < ' ' || c > '~':
			return "", false
		}
	}
	return "", false
}

// shortEscapes maps the character after a backslash to its meaning; 0: not a short escape.
var shortEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}
