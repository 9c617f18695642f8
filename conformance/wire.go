package conformance

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxFrame bounds one message of a server, and its header.
const maxFrame = 64 << 20

// frame puts a body on the wire.
func frame(framing string, body []byte) []byte {
	if framing == "line" {
		return append(append([]byte{}, body...), '\n')
	}
	return append([]byte("Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"), body...)
}

// A garbageError says that what came is no message.
type garbageError struct{ msg string }

func (e *garbageError) Error() string { return e.msg }

func garbage(format string, args ...any) error { return &garbageError{fmt.Sprintf(format, args...)} }

// readFrame reads the next message's body. The end between two messages is io.EOF.
func readFrame(r *bufio.Reader, framing string) ([]byte, error) {
	if framing == "line" {
		return readLine(r)
	}
	length := -1
	for n := 0; ; n++ {
		line, err := readLine(r)
		switch {
		case err == io.EOF && n > 0:
			return nil, garbage("the output ended inside a header")
		case err != nil:
			return nil, err
		}
		text, ended := strings.CutSuffix(string(line), "\r")
		if text == "" && n > 0 && ended {
			break
		}
		name, v, ok := strings.Cut(text, ":")
		if !ok || !ended || !isToken(name) {
			return nil, garbage("expected a header such as Content-Length: 12, got %q", clip(text))
		}
		if strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(v)); err != nil || length < 0 || length > maxFrame {
				return nil, garbage("Content-Length %q is no length that can be read", clip(v))
			}
		}
		if n > 100 {
			return nil, garbage("a header of more than 100 lines")
		}
	}
	if length < 0 {
		return nil, garbage("a header without Content-Length")
	}
	// An announced length alone allocates nothing.
	var body bytes.Buffer
	if n, err := io.CopyN(&body, r, int64(length)); err != nil {
		return nil, garbage("the output ended after %d of %d bytes of a message", n, length)
	}
	return body.Bytes(), nil
}

// readLine reads up to a line feed, which it takes off.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(line) > maxFrame {
				return nil, garbage("a line of more than %d bytes", maxFrame)
			}
		case err == io.EOF && len(line) > 0:
			return nil, garbage("the output ended inside a line: %q", clip(string(line)))
		default:
			return nil, err
		}
	}
}

// clip cuts what a server sent to what a person reads.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// A kind is what a message is by its envelope.
type kind int

const (
	kindBad kind = iota
	kindRequest
	kindNotification
	kindResponse
)

// A message is one that went over the wire.
type message struct {
	kind   kind
	raw    []byte
	v      map[string]any // all of it
	id     string
	method string
	params any // nil where there are none
	result any
	err    any // the error object; nil: none
}

// classify reads a message's envelope.
func classify(raw []byte) (message, error) {
	m := message{raw: raw}
	if why := notText(raw); why != "" {
		return m, garbage("%s: %q", why, clip(string(raw)))
	}
	v, err := decode(raw)
	if err != nil {
		return m, garbage("this is no JSON: %v: %q", err, clip(string(raw)))
	}
	o, ok := v.(map[string]any)
	if !ok {
		return m, garbage("a message must be an object: %s", show(v))
	}
	m.v = o
	if o["jsonrpc"] != "2.0" {
		return m, garbage(`a message must have "jsonrpc": "2.0": %s`, show(v))
	}
	id, hasID := o["id"]
	method, hasMethod := o["method"]
	result, hasResult := o["result"]
	failure, hasError := o["error"]
	if hasID {
		m.id = string(encode(id))
	}
	m.method, _ = method.(string)
	m.params, m.result, m.err = o["params"], result, failure
	_, isText := method.(string)
	switch {
	case hasMethod && !isText:
		return m, garbage("a method must be a string: %s", show(v))
	case hasMethod && (hasResult || hasError):
		return m, garbage("a message with a method has neither result nor error: %s", show(v))
	case hasMethod && hasID:
		m.kind = kindRequest
	case hasMethod:
		m.kind = kindNotification
	case hasID && hasResult != hasError:
		m.kind = kindResponse
	default:
		return m, garbage("a message has a method, or an id and either result or error: %s", show(v))
	}
	return m, nil
}
