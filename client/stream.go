package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"
)

// A stream is the jsonrpc2.ObjectStream of a connection: one JSON object a line.
//
// The library decodes each message several times, result and params into values that are not used. So it gets a message
// without them, and restore, its hook between reading and dispatching, puts them back as the server has spelled them.
type stream struct {
	in     *bufio.Reader
	out    io.Writer
	closer io.Closer // of the input; nil: the input cannot be closed
	trace  func(sent bool, body []byte)

	limit atomic.Int64                 // the most bytes of a message that the server takes
	bad   atomic.Pointer[MessageError] // the invalid message that has ended reading; nil: none

	// Owned by the reading goroutine:
	params, result json.RawMessage // of the message that was read last
}

var _ jsonrpc2.ObjectStream = (*stream)(nil)

// defaultMaxMessage is the limit of a server that was not initialized, and that of initialize unless it sets another.
const defaultMaxMessage = 16 << 20

// maxLine is far above the size of any message from a server.
const maxLine = 1 << 30

// ReadObject passes the next message to the library, without its params and its result.
func (s *stream) ReadObject(v any) error {
	for {
		line, err := s.readLine()
		if err != nil {
			return s.ended(err)
		}
		if len(line) == 0 {
			continue
		}
		if s.trace != nil {
			s.trace(false, line)
		}
		var m struct {
			ID     json.RawMessage `json:"id,omitempty"`
			Method *string         `json:"method,omitempty"`
			Params json.RawMessage `json:"params,omitempty"`
			Result json.RawMessage `json:"result,omitempty"`
			Error  json.RawMessage `json:"error,omitempty"`
		}
		if err := json.Unmarshal(line, &m); err != nil || m.Method == nil && m.Result == nil && m.Error == nil {
			return s.ended(&MessageError{Line: excerpt(line)})
		}
		if m.Method == nil && (len(m.ID) == 0 || m.ID[0] < '0' || m.ID[0] > '9') {
			continue // An answer to no request of ours: its id is null, or spelled as we spell none.
		}
		s.params, s.result = m.Params, m.Result
		if m.Params != nil {
			m.Params = json.RawMessage("{}")
		}
		if m.Result != nil {
			m.Result = json.RawMessage("{}")
		}
		short, err := json.Marshal(m)
		if err == nil {
			err = json.Unmarshal(short, v)
		}
		if err != nil {
			return s.ended(&MessageError{Line: excerpt(line)})
		}
		return nil
	}
}

// restore puts params and result back into a message that the library is about to dispatch.
func (s *stream) restore(req *jsonrpc2.Request, resp *jsonrpc2.Response) {
	params, result := s.params, s.result // The message keeps the pointer, and the next one gets variables of its own.
	if resp == nil && req.Params != nil {
		req.Params = &params
	} else if resp != nil && resp.Result != nil {
		resp.Result = &result
	}
}

// ended notes why reading ends. The library gets io.EOF: it would log any other error.
func (s *stream) ended(err error) error {
	if bad, ok := errors.AsType[*MessageError](err); ok {
		s.bad.Store(bad)
	}
	return io.EOF
}

// readLine returns the next line without white space around it, and an error once there is none. A line
// that does not begin like an object is an error at its first byte: a program that is no server may never end it.
func (s *stream) readLine() ([]byte, error) {
	for {
		first, err := s.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if first == ' ' || first == '\t' || first == '\r' || first == '\n' {
			continue
		}
		_ = s.in.UnreadByte() // It cannot fail after a read.
		if first != '{' {
			return nil, &MessageError{Line: s.rest()}
		}
		break
	}
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil || err == io.EOF && len(bytes.TrimSpace(line)) > 0:
			return bytes.TrimSpace(line), nil
		case err != bufio.ErrBufferFull:
			return nil, err
		case len(line) > maxLine:
			return nil, &MessageError{Line: excerpt(line)}
		}
	}
}

// rest returns as much of the next line as has been read already.
func (s *stream) rest() string {
	part, _ := s.in.Peek(min(s.in.Buffered(), 200)) // So many bytes are there.
	part, _, _ = bytes.Cut(part, []byte("\n"))
	return string(part)
}

// WriteObject sends a message. The library calls it for one message at a time. A message over the limit is an error: the
// server would skip it, and could not name it in its answer.
func (s *stream) WriteObject(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	body = unescapeHTML(body)
	if limit := s.limit.Load(); int64(len(body)) > limit {
		return &TooLongError{Bytes: int64(len(body)), Limit: limit}
	}
	if s.trace != nil {
		s.trace(true, body)
	}
	if _, err := s.out.Write(append(body, '\n')); err != nil {
		return fmt.Errorf("%w: %w", ErrServerGone, err)
	}
	return nil
}

// unescapeHTML returns JSON with <, > and & as they are. The library escapes them, with six bytes for each.
func unescapeHTML(body []byte) []byte {
	if !bytes.Contains(body, []byte(`\u00`)) {
		return body
	}
	out := body[:0]
	for len(body) > 0 {
		i := bytes.IndexByte(body, '\\')
		if i < 0 || i+1 >= len(body) {
			break
		}
		out, body = append(out, body[:i]...), body[i:]
		n := 2 // A backslash and what it escapes, which may be a backslash.
		switch {
		case bytes.HasPrefix(body, []byte(`\u003c`)):
			out, n = append(out, '<'), 6
		case bytes.HasPrefix(body, []byte(`\u003e`)):
			out, n = append(out, '>'), 6
		case bytes.HasPrefix(body, []byte(`\u0026`)):
			out, n = append(out, '&'), 6
		default:
			out = append(out, body[:n]...)
		}
		body = body[n:]
	}
	return append(out, body...)
}

// Close ends reading, if the input can be closed.
func (s *stream) Close() error {
	if s.closer != nil {
		return s.closer.Close()
	}
	return nil
}

// excerpt returns the beginning of a line, for an error.
func excerpt(line []byte) string {
	if len(line) > 200 {
		return string(line[:200]) + "…"
	}
	return string(line)
}
