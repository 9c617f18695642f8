package rpc

import (
	"encoding/json"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// A stream is the jsonrpc2.ObjectStream of a connection: the only reader of its input, and an entry to the outbox. The
// library's own streams end the connection at the first malformed message and cannot spell every id. Here a message is
// checked before the library sees it, a bad one is answered, and reading goes on.
//
// Requests reach the library under ids of ours. Their real ids, and their params as spelled, stay in current, which the
// handler reads: the library calls it on the goroutine that called ReadObject, before it calls ReadObject again.
// Answers do not pass through the library: it would compact our own three times, and it would keep copies of the
// client's, which may be secrets.
type stream struct {
	frames *frameReader
	out    *outbox

	heardAt atomic.Int64 // when the last message came, in nanoseconds since the epoch; 0: nobody asks

	// Owned by the reading goroutine:
	current envelope
	ids     uint64
	end     error // why reading ended; io.EOF at a clean end
	quit    bool  // set by the handler of exit: no later message is read
}

var _ jsonrpc2.ObjectStream = (*stream)(nil)

// ReadObject passes the next valid message to the library.
func (s *stream) ReadObject(v any) error {
	for {
		if s.quit {
			return io.EOF
		}
		s.out.pauseReading()
		body, err := s.frames.Next()
		if s.heardAt.Load() > 0 {
			s.hears()
		}
		if err != nil {
			bad, ok := err.(*frameError)
			if !ok {
				s.end = err
				return io.EOF // The library logs errors that it does not know.
			}
			s.out.send(errorReply(nil, bad.Code, bad.Message))
			if bad.Fatal {
				s.end = err
				return io.EOF
			}
			continue
		}
		env, bad := parseEnvelope(body)
		if bad != nil {
			s.out.send(errorReply(bad.ID, bad.Code, bad.Message))
			continue
		}
		s.current = env
		return s.pass(v)
	}
}

// hears notes that a message has come, and from the first call on when each one comes.
func (s *stream) hears() { s.heardAt.Store(time.Now().UnixNano()) }

func (s *stream) heard() time.Time { return time.Unix(0, s.heardAt.Load()) }

// pass gives the library as much of a message as it needs.
func (s *stream) pass(v any) error {
	msg := []byte(`{"jsonrpc":"2.0",`)
	switch s.current.Kind {
	case kindRequest:
		s.ids++
		msg = append(msg, `"method":"request","id":`...)
		msg = append(strconv.AppendUint(msg, s.ids, 10), '}')
	case kindNotification, kindResponse:
		msg = append(msg, `"method":"notification"}`...)
	}
	decode := func() error { return json.Unmarshal(msg, v) }
	if u, ok := v.(json.Unmarshaler); ok { // It checks all of it anyway.
		decode = func() error { return u.UnmarshalJSON(msg) }
	}
	return decode()
}

// WriteObject sends a message of the library itself. There are none: the server's own requests are in requests.go.
func (s *stream) WriteObject(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.out.send(body)
	return nil
}

// Close has nothing to do: the input belongs to the caller of Serve.
func (s *stream) Close() error { return nil }
