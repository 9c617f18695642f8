package jobs

import "fmt"

// A Code names a kind of refusal. The set is closed; package rpc maps each to its
// number and name on the wire.
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

// An Error is a refusal or failure that a client is told. Message is one sentence
// that says what to do; the other fields are facts, set where the code has them.
type Error struct {
	Code    Code
	Message string

	Handle       ID
	Name         string   // jobNotFound (then Handle is 0), nameInUse, invalidKey, unsupported, policyDenied, confirmationDenied: what it is about
	Live         []Info   // jobNotFound
	Exit         *Exit    // jobExited
	Command      string   // commandNotFound
	Suggestions  []string // commandNotFound
	Rule         string   // policyDenied: which denies it; Name is what
	Root         string   // policyDenied by a list: the command that it is about; "" = none is known
	Path         string   // commandNotFound, permissionDenied, badWorkingDirectory, directoryNotAllowed, outputFileError
	Errno        string   // the system's own words, where it gave any
	Pattern      string   // invalidPattern
	Position     *int     // invalidPattern: code points from 0
	Pointer      string   // invalidPattern, unsupported, invalidParams: the place in params
	Valid        []string // invalidKey
	Limit        string   // limitExceeded
	Max          int64    // limitExceeded, lineTooLong, inputQueueFull, ptyUnavailable
	Length       int64    // lineTooLong: in bytes; ptyUnavailable: terminals in use, where Max is set
	Near         string   // invalidKey: the key that was meant, it seems; "": none is near
	Retryable    bool     // resourceUnavailable, limitExceeded, ptyUnavailable
	BytesWritten *int64   // what the kernel had taken of a write that failed
	Outcome      *Outcome // canceled, shuttingDown: what a wait had seen

	CommandID int64       // canceled: the command of an Exec; 0: it is of something else, or the command had no number yet
	Fate      CommandFate // canceled: what has become of that command
}

func (e *Error) Error() string { return e.Message }

// Is makes errors.Is compare by code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is the refusal of a member of params that passed the schema.
func Invalid(pointer, format string, args ...any) *Error {
	e := errorf(CodeInvalidParams, format, args...)
	e.Pointer = pointer
	return e
}

func errClosedServer() *Error {
	return errorf(CodeShuttingDown, "the server is shutting down and starts nothing more; start another server")
}
