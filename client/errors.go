package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"shelld.dev/shelld/schema"
)

// An Error is an error that the server has answered. Decide by Kind; Message is for people, and says what to do.
type Error struct {
	schema.ErrorObject
	Kind schema.Kind
}

func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

func newError(answer *jsonrpc2.Error) *Error {
	e := &Error{ErrorObject: schema.ErrorObject{Code: answer.Code, Message: answer.Message}}
	if answer.Data != nil {
		e.Data = *answer.Data
		var data struct{ Kind schema.Kind }
		_ = json.Unmarshal(e.Data, &data) // A kind of a wrong type stays empty.
		e.Kind = data.Kind
	}
	return e
}

// answer returns the error as the library sends it.
func (e *Error) answer() *jsonrpc2.Error {
	return &jsonrpc2.Error{Code: e.Code, Message: e.Message, Data: &e.Data}
}

// unknownMethod returns the error that answers a request of the server that this client does not know.
func unknownMethod(method string) *Error {
	return refuse(schema.KindMethodNotFound, jsonrpc2.CodeMethodNotFound, "this client does not answer "+method,
		schema.MethodNotFoundData{Kind: string(schema.KindMethodNotFound), Method: method})
}

// refuse returns an error that answers a request of the server.
func refuse(kind schema.Kind, code int64, message string, data any) *Error {
	text, err := json.Marshal(data)
	if err != nil {
		text = json.RawMessage("{}") // Our own types always encode.
	}
	return &Error{Kind: kind, ErrorObject: schema.ErrorObject{Code: code, Message: message, Data: text}}
}

// KindOf returns the kind of an error that the server has answered; "" for any other error.
func KindOf(err error) schema.Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}

// ErrServerGone is the error of a call if the server has ended without an answer. The error itself is a *GoneError.
var ErrServerGone = errors.New("the server has ended")

// A GoneError says how a server has ended before it answered.
type GoneError struct {
	Cause  error  // a *MessageError, or the exit status of the process; nil: unknown, or the status was 0
	Stderr string // the last lines that the process wrote to stderr
}

func (e *GoneError) Error() string {
	text := ErrServerGone.Error()
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	if e.Stderr != "" {
		text += "; it said: " + e.Stderr
	}
	return text
}

func (e *GoneError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrServerGone}
	}
	return []error{ErrServerGone, e.Cause}
}

// A MessageError is the error for output of a server that is no message. It ends the connection.
type MessageError struct {
	Line string // the beginning of the line
}

func (e *MessageError) Error() string {
	return fmt.Sprintf("it sent what is no message of the protocol: %q", e.Line)
}

// A TooLongError is the error for a request or notification that the server would not take. It was not sent.
type TooLongError struct {
	Bytes, Limit int64
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the message has %d bytes, and the server takes at most %d: send it in parts or by a file, or raise limits.maxMessageBytes of initialize", e.Bytes, e.Limit)
}

// A StartError is the error of a server that could not be used: its program is missing, is no shelld, or speaks another
// version of the protocol, or its system cannot run jobs. errors.Is finds exec.ErrNotFound, ErrNotShelld, ErrVersion
// and ErrUnsupported in it.
type StartError struct {
	Path string // the program; "" for a connection over given streams
	Err  error
}

func (e *StartError) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + e.Err.Error()
}

func (e *StartError) Unwrap() error { return e.Err }

// The reasons of a StartError, besides those of package os/exec.
var (
	ErrNotShelld   = errors.New("this program does not speak the Shell Server Protocol; name the program of shelld in Options.Path or $SHELLD")
	ErrVersion     = errors.New("the server speaks another version of the protocol; use a shelld and a client of the same release")
	ErrUnsupported = errors.New("this system cannot run jobs")
)

// An ExitError is the error of Result.Err and ExecResult.Err: the command has not ended by itself with 0.
type ExitError struct {
	Result *Result     // of Run; otherwise nil
	Exec   *ExecResult // of Job.Exec; otherwise nil
}

func (e *ExitError) Error() string {
	var text, output string
	if e.Result != nil {
		text, output = endOfRun(e.Result), e.Result.Stderr
	} else {
		text, output = endOfExec(e.Exec), e.Exec.Output
	}
	if last := strings.TrimSpace(tail(output)); last != "" {
		text += ": " + last
	}
	return text
}

func endOfRun(r *Result) string {
	text := fmt.Sprintf("the command ended with status %d", r.Code)
	switch exit := r.Raw.Exit; {
	case exit == nil:
		text = "the command has not ended"
	case exit.Reason != schema.ExitReasonExited:
		text = "the command was ended: " + string(exit.Reason)
		if r.Signal != "" {
			text += " (" + r.Signal + ")"
		} else if exit.Code != nil {
			text += fmt.Sprintf(" (status %d)", r.Code)
		}
	}
	return text
}

func endOfExec(r *ExecResult) string {
	text := "the command has ended without a status"
	switch {
	case !r.Finished:
		text = "the command has not ended"
	case r.ExitCode != nil:
		text = fmt.Sprintf("the command ended with status %d", *r.ExitCode)
	}
	if r.TimedOut() {
		text += ", and its time limit has passed"
	}
	return text
}

// A QuestionError is the error of Job.Question if the job has ended instead of asking anything.
type QuestionError struct {
	Outcome *Outcome
}

func (e *QuestionError) Error() string {
	return "the program did not ask for input: the wait ended with the reason " + string(e.Outcome.Reason)
}

// tailBytes is how much of stderr an error quotes: its last bytes.
const tailBytes = 2000

func tail(text string) string {
	if len(text) > tailBytes {
		return "…" + text[len(text)-tailBytes:]
	}
	return text
}
