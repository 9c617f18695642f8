package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// messageVersion is the version of the messages between front and host. It never changes for these.
const messageVersion = 1

// maxMessage is the maximum length of a message to a host, maxAnswer that of an answer.
const (
	maxMessage = 4 << 10
	maxAnswer  = 1 << 20
)

// A verb is what a front asks for.
type verb string

const (
	verbAttach verb = "attach"
	verbStatus verb = "status"
	verbEnd    verb = "end"
)

// A request is the first message of a connection. A host ignores members that it does not know.
type request struct {
	Verb   verb    `json:"shelld"`
	V      int     `json:"v"`
	Client *Client `json:"client,omitempty"`
}

// A Client describes the client of a front, for people.
type Client struct {
	PID  int    `json:"pid"` // of the front
	Name string `json:"name"`
}

// An answer is the host's answer.
type answer struct {
	OK      bool            `json:"ok,omitempty"`
	Kind    Kind            `json:"error,omitempty"`
	Message string          `json:"message,omitempty"`
	Status  json.RawMessage `json:"status,omitempty"`
}

// A linkMessage is a message on the link.
type linkMessage struct {
	Signal string `json:"signal,omitempty"` // to the host
	Exit   *int   `json:"exit,omitempty"`   // to the front
}

// line returns a message as it is sent.
func line(message any) []byte {
	b, err := json.Marshal(message)
	if err != nil { // A status that cannot be encoded.
		return line(answer{Kind: Malformed, Message: err.Error()})
	}
	return append(b, '\n')
}

var errLong = errors.New("the message is too long")

// readLine reads one line of at most so many bytes.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var all []byte
	for {
		part, err := r.ReadSlice('\n')
		all = append(all, part...)
		switch {
		case len(all) > most:
			return nil, errLong
		case err == nil:
			return bytes.TrimSpace(all), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(all) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}
