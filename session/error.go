package session

import "fmt"

// A Kind is the class of an error, for programs.
type Kind string

// The kinds of errors. Those of a host go over the wire.
const (
	NotFound    Kind = "notFound"    // there is no such session
	NotOurs     Kind = "notOurs"     // the session, its directory or its host belongs to another user
	Elsewhere   Kind = "elsewhere"   // the host belongs to another machine
	Gone        Kind = "gone"        // the host is gone, or does not answer
	Version     Kind = "version"     // the host does not know this kind of request
	Malformed   Kind = "malformed"   // the host does not understand the request
	Ending      Kind = "ending"      // the host is about to end
	Refused     Kind = "refused"     // the host cannot take one more client
	Unsupported Kind = "unsupported" // there are no sessions on this system
)

// An Error is an error of a kind. Its text says what to do.
type Error struct {
	Kind Kind
	Text string
	Err  error // the cause, or nil; Text includes it
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	u, _ := err.(interface{ Unwrap() error })
	if u == nil {
		return &Error{Kind: kind, Text: err.Error()}
	}
	return &Error{Kind: kind, Text: err.Error(), Err: u.Unwrap()}
}
