package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// MaxFrame is the maximum size of one message. It also limits a header line.
const MaxFrame = 64 << 20

// Frame returns the bytes of a message in a framing, "header" or "line".
func Frame(framing string, body []byte) []byte {
	if framing == "line" {
		return append(append([]byte{}, body...), '\n')
	}
	return append([]byte("Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"), body...)
}

// A GarbageError says why received bytes are no message.
type GarbageError struct{ msg string }

func (e *GarbageError) Error() string { return e.msg }

// Garbage returns a GarbageError.
func Garbage(format string, args ...any) error { return &GarbageError{fmt.Sprintf(format, args...)} }

// ReadFrame reads the next message's body. If the input ends between two messages, it returns io.EOF.
func ReadFrame(r *bufio.Reader, framing string) ([]byte, error) {
	if framing == "line" {
		return readLine(r)
	}
	length := -1
	for n := 0; ; n++ {
		line, err := readLine(r)
		switch {
		case err == io.EOF && n > 0:
			return nil, Garbage("the output ended inside a header")
		case err != nil:
			return nil, err
		}
		text, ended := strings.CutSuffix(string(line), "\r")
		if text == "" && n > 0 && ended {
			break
		}
		name, v, ok := strings.Cut(text, ":")
		if !ok || !ended || !isToken(name) {
			return nil, Garbage("expected a header such as Content-Length: 12, got %q", Clip(text))
		}
		if strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(v)); err != nil || length < 0 || length > MaxFrame {
				return nil, Garbage("Content-Length %q is no length that can be read", Clip(v))
			}
		}
		if n > 100 {
			return nil, Garbage("a header of more than 100 lines")
		}
	}
	if length < 0 {
		return nil, Garbage("a header without Content-Length")
	}
	// The buffer grows with the bytes that arrive: an announced length alone allocates nothing.
	var body bytes.Buffer
	if n, err := io.CopyN(&body, r, int64(length)); err != nil {
		return nil, Garbage("the output ended after %d of %d bytes of a message", n, length)
	}
	return body.Bytes(), nil
}

// readLine reads up to a line feed, and returns the line without it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(line) > MaxFrame {
				return nil, Garbage("a line of more than %d bytes", MaxFrame)
			}
		case err == io.EOF && len(line) > 0:
			return nil, Garbage("the output ended inside a line: %q", Clip(string(line)))
		default:
			return nil, err
		}
	}
}

// Clip cuts a text for display to 200 bytes.
func Clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// A Kind is the kind of a message, by its envelope.
type Kind int

// The kinds of messages.
const (
	KindBad Kind = iota
	KindRequest
	KindNotification
	KindResponse
)

// A Message is a message that was sent or received.
type Message struct {
	Kind   Kind
	Raw    []byte
	V      map[string]any // the whole message
	ID     string
	Method string
	Params any // nil: none
	Result any
	Err    any // the error object; nil: none
}

// Classify parses a message's envelope. Its error is a GarbageError.
func Classify(raw []byte) (Message, error) {
	m := Message{Raw: raw}
	if why := notText(raw); why != "" {
		return m, Garbage("%s: %q", why, Clip(string(raw)))
	}
	v, err := Decode(raw)
	if err != nil {
		return m, Garbage("this is no JSON: %v: %q", err, Clip(string(raw)))
	}
	o, ok := v.(map[string]any)
	if !ok {
		return m, Garbage("a message must be an object: %s", Show(v))
	}
	m.V = o
	if o["jsonrpc"] != "2.0" {
		return m, Garbage(`a message must have "jsonrpc": "2.0": %s`, Show(v))
	}
	id, hasID := o["id"]
	method, hasMethod := o["method"]
	result, hasResult := o["result"]
	failure, hasError := o["error"]
	if hasID {
		m.ID = string(Encode(id))
	}
	m.Method, _ = method.(string)
	m.Params, m.Result, m.Err = o["params"], result, failure
	_, isText := method.(string)
	switch {
	case hasMethod && !isText:
		return m, Garbage("a method must be a string: %s", Show(v))
	case hasMethod && (hasResult || hasError):
		return m, Garbage("a message with a method has neither result nor error: %s", Show(v))
	case hasMethod && hasID:
		m.Kind = KindRequest
	case hasMethod:
		m.Kind = KindNotification
	case hasID && hasResult != hasError:
		m.Kind = KindResponse
	default:
		return m, Garbage("a message has a method, or an id and either result or error: %s", Show(v))
	}
	return m, nil
}

// A Direction says which side sent a message.
type Direction bool

// The directions.
const (
	ToServer   Direction = false
	FromServer Direction = true
)

// MessageCost is the memory that a message takes in addition to its own bytes.
const MessageCost = 1 << 10
