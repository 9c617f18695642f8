package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// JSON-RPC's own error codes.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternalError  = -32603
	codeCanceled       = -32800
	codeNotInitialized = -32002
)

// wireKinds is THE table: the name on the wire of each error of the engine. The schema has the code of each name.
var wireKinds = map[jobs.Code]schema.Kind{
	jobs.CodeInternal:            schema.KindInternalError,
	jobs.CodeJobNotFound:         schema.KindJobNotFound,
	jobs.CodeJobExited:           schema.KindJobExited,
	jobs.CodeJobRunning:          schema.KindJobRunning,
	jobs.CodeNameInUse:           schema.KindNameInUse,
	jobs.CodeCommandNotFound:     schema.KindCommandNotFound,
	jobs.CodePermissionDenied:    schema.KindPermissionDenied,
	jobs.CodeBadWorkingDirectory: schema.KindBadWorkingDirectory,
	jobs.CodeDirectoryNotAllowed: schema.KindDirectoryNotAllowed,
	jobs.CodeResourceUnavailable: schema.KindResourceUnavailable,
	jobs.CodeInvalidPattern:      schema.KindInvalidPattern,
	jobs.CodeInvalidKey:          schema.KindInvalidKey,
	jobs.CodeLineTooLong:         schema.KindLineTooLong,
	jobs.CodeInputQueueFull:      schema.KindInputQueueFull,
	jobs.CodeInputNotExpected:    schema.KindInputNotExpected,
	jobs.CodeLimitExceeded:       schema.KindLimitExceeded,
	jobs.CodePTYUnavailable:      schema.KindPtyUnavailable,
	jobs.CodeNotInteractive:      schema.KindNotInteractive,
	jobs.CodeUnsupported:         schema.KindUnsupported,
	jobs.CodeShuttingDown:        schema.KindShuttingDown,
	jobs.CodeCanceled:            schema.KindCanceled,
	jobs.CodeInvalidParams:       schema.KindInvalidParams,
	jobs.CodeOutputFileError:     schema.KindOutputFileError,
	jobs.CodePolicyDenied:        schema.KindPolicyDenied,
	jobs.CodeConfirmationDenied:  schema.KindConfirmationDenied,
	jobs.CodeShellBusy:           schema.KindShellBusy,
	jobs.CodeInputHeld:           schema.KindInputHeld,

	jobs.CodeShellIntegrationUnavailable: schema.KindShellIntegrationUnavailable,
}

// kindCodes returns the code of each name. They are read at the first error, not when the program starts: every keeper
// is a start of this program.
var kindCodes = sync.OnceValue(func() map[schema.Kind]int64 {
	codes := map[schema.Kind]int64{}
	for _, k := range schema.ErrorKinds() {
		codes[schema.Kind(k.Kind)] = int64(k.Code)
	}
	return codes
})

// A wireError is an error in the form in which a client gets it.
type wireError struct {
	kind    schema.Kind
	message string
	data    any // with the member kind; nil: only that member
}

func (e *wireError) Error() string { return e.message }

func wireErrorf(kind schema.Kind, message string) *wireError {
	return &wireError{kind: kind, message: message}
}

// toWire is the function toWire, with secret values removed from all texts: an error may quote data from the client, or
// a command.
func (s *Server) toWire(err error) *wireError {
	var about jobs.ID
	var refusal *jobs.Error
	if errors.As(err, &refusal) {
		about = refusal.Handle
	}
	w := *toWire(err)
	if held, is := w.data.(schema.InputHeldData); is {
		w.data = s.in.heldBy(held)
	}
	if clean := s.mgr.Cleaner(about); clean != nil {
		w.message, w.data = clean(w.message), cleanData(w.data, clean)
	}
	return &w
}

// toWire is the only place where an error becomes one for the client: a wireError is unchanged, params that do not fit
// their schema become invalidParams, an error of the engine is looked up in the table, and any other error is a fault
// of the server, whose text is only logged.
func toWire(err error) *wireError {
	var we *wireError
	var invalid *schema.InvalidError
	var refusal *jobs.Error
	switch {
	case errors.As(err, &we):
		return we
	case errors.As(err, &invalid):
		return invalidParams(invalid.Fields...)
	case errors.As(err, &refusal):
		return refusalToWire(refusal)
	}
	return wireErrorf(schema.KindInternalError, "internal server error; see the server's log on stderr")
}

func invalidParams(fields ...schema.FieldError) *wireError {
	return &wireError{schema.KindInvalidParams, mistakes(fields), schema.InvalidParamsData{
		Kind: string(schema.KindInvalidParams), Errors: fields,
	}}
}

// mistakes returns the message for wrong params. Many hosts show only the message, so it has one mistake in full: one
// with a suggestion if there is any, since a missing member may be the one that is suggested.
func mistakes(fields []schema.FieldError) string {
	if len(fields) == 0 {
		return "the params do not fit their schema"
	}
	first := fields[max(slices.IndexFunc(fields, func(f schema.FieldError) bool { return f.DidYouMean != "" }), 0)]
	msg := first.Message
	if first.Pointer != "" {
		msg = first.Pointer + ": " + msg
	}
	if more := len(fields) - 1; more > 0 {
		msg += fmt.Sprintf(" (data.errors has %d more)", more)
	}
	return msg
}

// refusalToWire converts an error of the engine, and adds the data of its kind.
func refusalToWire(e *jobs.Error) *wireError {
	if e.Code == jobs.CodeInvalidParams {
		return invalidParams(schema.FieldError{Pointer: e.Pointer, Message: e.Message, Allowed: e.Valid})
	}
	kind := wireKinds[e.Code]
	w := &wireError{kind: kind, message: e.Message}
	for _, family := range []func(*jobs.Error, string) any{startData, inputData, jobData} {
		if d := family(e, string(kind)); d != nil {
			w.data = d
		}
	}
	return w
}

// startData returns the data of an error about a start; nil: it is about something else.
func startData(e *jobs.Error, k string) any {
	switch e.Code {
	case jobs.CodeNameInUse:
		return schema.NameInUseData{Kind: k, Handle: int64(e.Handle), Name: e.Name}
	case jobs.CodeCommandNotFound:
		return schema.CommandNotFoundData{Kind: k, Command: e.Command, Suggestions: e.Suggestions}
	case jobs.CodePermissionDenied:
		return schema.PermissionDeniedData{Kind: k, Path: e.Path}
	case jobs.CodeBadWorkingDirectory:
		return schema.BadWorkingDirectoryData{Kind: k, Path: e.Path}
	case jobs.CodeDirectoryNotAllowed:
		return schema.DirectoryNotAllowedData{Kind: k, Path: e.Path, Allowed: e.Valid}
	case jobs.CodeResourceUnavailable:
		return schema.ResourceUnavailableData{Kind: k, Retryable: e.Retryable}
	case jobs.CodePTYUnavailable:
		return ptyData(e, k)
	case jobs.CodeOutputFileError:
		return schema.OutputFileErrorData{Kind: k, Path: e.Path, Reason: optional(e.Errno)}
	case jobs.CodeLimitExceeded:
		return schema.LimitExceededData{Kind: k, Limit: e.Limit, Max: e.Max, Retryable: optional(e.Retryable)}
	}
	return nil
}

// inputData returns the data of an error about input; nil: it is about something else.
func inputData(e *jobs.Error, k string) any {
	handle := int64(e.Handle)
	switch e.Code {
	case jobs.CodeInvalidKey:
		return schema.InvalidKeyData{Kind: k, Key: e.Name, Allowed: e.Valid, DidYouMean: optional(e.Near)}
	case jobs.CodeLineTooLong:
		return schema.LineTooLongData{Kind: k, Handle: handle, Max: e.Max, Bytes: &e.Length}
	case jobs.CodeInputQueueFull:
		return schema.InputQueueFullData{Kind: k, Handle: handle, Max: e.Max}
	case jobs.CodeInputNotExpected:
		return schema.InputNotExpectedData{Kind: k, Handle: handle}
	case jobs.CodeInputHeld:
		return schema.InputHeldData{Kind: k, Handle: handle, Holder: e.Name, Retryable: true}
	case jobs.CodePolicyDenied:
		return schema.PolicyDeniedData{Kind: k, Action: optional(e.Name), Reason: optional(e.Rule), Root: optional(e.Root), Handle: optional(handle)}
	case jobs.CodeConfirmationDenied:
		return schema.ConfirmationDeniedData{Kind: k, Action: optional(e.Name), Handle: optional(handle)}
	case jobs.CodeNotInteractive:
		return schema.NotInteractiveData{Kind: k, Handle: handle, BytesWritten: e.BytesWritten, Outcome: outcomePtr(e.Outcome)}
	}
	return nil
}

// jobData returns the data of an error about the state or the abilities of a job or the server; nil: there is none.
func jobData(e *jobs.Error, k string) any {
	handle := int64(e.Handle)
	switch e.Code {
	case jobs.CodeJobNotFound:
		return jobNotFoundData(e, k)
	case jobs.CodeJobExited:
		return schema.JobExitedData{Kind: k, Handle: handle, Exit: *exit(e.Exit), BytesWritten: e.BytesWritten, Outcome: outcomePtr(e.Outcome)}
	case jobs.CodeJobRunning:
		return schema.JobRunningData{Kind: k, Handle: handle}
	case jobs.CodeInvalidPattern:
		return schema.InvalidPatternData{Kind: k, Pattern: e.Pattern, Position: int64Ptr(e.Position), Pointer: optional(e.Pointer)}
	case jobs.CodeShellBusy:
		return schema.ShellBusyData{Kind: k, Handle: handle}
	case jobs.CodeShellIntegrationUnavailable:
		return schema.ShellIntegrationUnavailableData{Kind: k, Handle: handle}
	case jobs.CodeUnsupported:
		return schema.UnsupportedData{Kind: k, What: e.Name, Pointer: optional(e.Pointer)}
	case jobs.CodeShuttingDown:
		return schema.ShuttingDownData{Kind: k, Outcome: outcomePtr(e.Outcome), BytesWritten: e.BytesWritten}
	case jobs.CodeCanceled:
		d := schema.CanceledData{
			Kind: k, Outcome: outcomePtr(e.Outcome), BytesWritten: e.BytesWritten,
			CommandID: optional(e.CommandID), Command: optional(schema.CommandState(e.Fate)), Retryable: optional(e.Retryable),
		}
		if handle != 0 {
			d.Handle = &handle
		}
		return d
	}
	return nil
}

// jobNotFoundData returns the job that was asked for, and the live jobs.
func jobNotFoundData(e *jobs.Error, k string) schema.JobNotFoundData {
	d := schema.JobNotFoundData{Kind: k}
	switch {
	case e.Name != "":
		d.Handle = marshal(e.Name)
	case e.Handle != 0:
		d.Handle = marshal(e.Handle)
	}
	for _, info := range e.Live {
		d.Jobs = append(d.Jobs, jobState(info.State))
	}
	return d
}

// errorBody encodes an error as an answer. A nil id is null.
func errorBody(id json.RawMessage, w *wireError) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	return marshal(schema.ErrorMessage{JSONRPC: "2.0", ID: id, Error: *w.object()})
}

func (w *wireError) object() *schema.ErrorObject {
	if w.data == nil {
		w.data = map[string]string{"kind": string(w.kind)}
	}
	data, err := json.Marshal(w.data)
	if err != nil {
		data = []byte(`{"kind":"internalError"}`)
	}
	return &schema.ErrorObject{Code: kindCodes()[w.kind], Message: w.message, Data: data}
}

// errorReply encodes the answer to a message that is not a valid request.
func errorReply(id json.RawMessage, code int, message string) []byte {
	kind := schema.KindInvalidRequest
	if code == codeParseError {
		kind = schema.KindParseError
	}
	return errorBody(id, wireErrorf(kind, message))
}
