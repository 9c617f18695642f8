package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
)

// A Code names a kind of error. The set is closed; package rpc maps each code to its number and name on the wire.
type Code int

const (
	CodeInternal Code = iota
	CodeJobNotFound
	CodeJobExited
	CodeJobRunning
	CodeNameInUse
	CodeCommandNotFound
	CodePermissionDenied
	CodeBadWorkingDirectory
	CodeDirectoryNotAllowed
	CodeResourceUnavailable
	CodeInvalidPattern
	CodeInvalidKey
	CodeLineTooLong
	CodeInputQueueFull
	CodeInputNotExpected
	CodeLimitExceeded
	CodePTYUnavailable
	CodeNotInteractive
	CodeUnsupported
	CodeShuttingDown
	CodeCanceled
	CodeInvalidParams
	CodeOutputFileError
	CodePolicyDenied
	CodeConfirmationDenied
	CodeShellBusy
	CodeShellIntegrationUnavailable
	CodeInputHeld
	codeCount // the number of codes
)

// Codes returns every code, so that tests can prove a mapping total.
func Codes() []Code {
	all := make([]Code, codeCount)
	for i := range all {
		all[i] = Code(i)
	}
	return all
}

// An Error is an error that is reported to a client: a refused request or a failure. Message is one sentence that says
// what to do. The other fields are facts, set if they apply to the code.
type Error struct {
	Code    Code
	Message string

	Handle ID
	// Name is the name that the error is about: jobNotFound (then Handle is 0), nameInUse, invalidKey, unsupported,
	// policyDenied, confirmationDenied, inputHeld: the holder.
	Name         string
	Live         []Info   // jobNotFound
	Exit         *Exit    // jobExited
	Command      string   // commandNotFound
	Suggestions  []string // commandNotFound
	Rule         string   // policyDenied: the rule that denies the request; Name is the denied action
	Root         string   // policyDenied by a list: the command that the rule is about; "" = none is known
	Path         string   // commandNotFound, permissionDenied, badWorkingDirectory, directoryNotAllowed, outputFileError
	Errno        string   // the system's error text, if there is one
	Pattern      string   // invalidPattern
	Position     *int     // invalidPattern: code points from 0
	Pointer      string   // invalidPattern, unsupported, invalidParams: the place in params
	Valid        []string // invalidKey
	Limit        string   // limitExceeded
	Max          int64    // limitExceeded, lineTooLong, inputQueueFull, ptyUnavailable
	Length       int64    // lineTooLong: in bytes; ptyUnavailable: terminals in use, if Max is set
	Near         string   // invalidKey: the most similar valid key; "": there is none
	Retryable    bool     // resourceUnavailable, limitExceeded, ptyUnavailable, canceled
	BytesWritten *int64   // how much of a failed write the kernel had accepted
	Outcome      *Outcome // canceled, shuttingDown: the results of a wait so far

	CommandID int64       // canceled: the command of an Exec; 0: no command, or it had no number yet
	Fate      CommandFate // canceled: the fate of that command
}

func (e *Error) Error() string { return e.Message }

// Is makes errors.Is compare errors by code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns the error for a member of params that passed the schema but is not valid.
func Invalid(pointer, format string, args ...any) *Error {
	e := errorf(CodeInvalidParams, format, args...)
	e.Pointer = pointer
	return e
}

func errClosedServer() *Error {
	return errorf(CodeShuttingDown, "the server is shutting down and starts no more jobs; start another server")
}

// errnoText returns the system's text for an error, without the text that Go adds.
func errnoText(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or directory"
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error() // The caller reports the path itself.
	}
	return err.Error()
}

func isResource(err error) bool {
	return slices.ContainsFunc([]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN}, func(e error) bool { return errors.Is(err, e) })
}

func resourceError(what string, err error) *Error {
	e := errorf(CodeResourceUnavailable, "the system lacks resources for %s (%s); end some jobs and try again", what, errnoText(err))
	e.Retryable, e.Errno = true, errnoText(err)
	return e
}

// storeError returns an error that names the file of err, or path if err has none.
func storeError(err error, path string) *Error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		path = p.Path
	}
	e := errorf(CodeOutputFileError, "%s: %s", path, errnoText(err))
	e.Path, e.Errno = path, errnoText(err)
	return e
}

func policyDenied(action, rule, format string, args ...any) *Error {
	e := errorf(CodePolicyDenied, format, args...)
	e.Name, e.Rule = action, rule
	return e
}

func (e *Error) withOutcome(o Outcome) *Error {
	e.Outcome, e.Handle = &o, o.State.Handle
	return e
}
