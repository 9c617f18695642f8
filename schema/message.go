package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ValidateMessage checks a whole message of the wire that from ("client" or "server") has sent: its envelope, that the
// method is one that this side sends in this way, and its params, result or error. methodOfID returns the method of the
// request with an id, as the id was spelled; "" if no open request has this id. It is called only for answers.
//
// It is for tests and for inspecting recorded sessions: a message that fails should not have been sent by this side,
// but the other side need not refuse it (unknown notifications, for example, must be ignored).
func ValidateMessage(from string, raw []byte, methodOfID func(idRaw string) string) error {
	if from != "client" && from != "server" {
		return fmt.Errorf("schema: a message is from client or server, not from %q", from)
	}
	var members map[string]json.RawMessage
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		return invalid("", "batches are not supported")
	}
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return invalid("", "a message is a JSON object")
	}
	definition := envelopeOf(members)
	if err := validateJSON("envelope#/$defs/"+definition, withoutPayload(members)); err != nil {
		return fmt.Errorf("envelope of a %s: %w", definition, err)
	}
	switch definition {
	case "successMessage":
		return validateAnswer(members, methodOfID)
	case "errorMessage":
		return validateError(members, methodOfID)
	}
	return validateCall(from, members)
}

// envelopeOf returns the kind of a message, judged by the members that it has.
func envelopeOf(members map[string]json.RawMessage) string {
	has := func(name string) bool { _, ok := members[name]; return ok }
	switch {
	case has("method") && has("id"):
		return "requestMessage"
	case has("method"):
		return "notificationMessage"
	case has("error"):
		return "errorMessage"
	}
	return "successMessage"
}

// withoutPayload returns the message with an empty result, so that only the envelope is checked. error and params are
// part of the envelope's schema, but their own schemas give better errors.
func withoutPayload(members map[string]json.RawMessage) []byte {
	envelope := make(map[string]json.RawMessage, len(members))
	for name, value := range members {
		switch {
		case name == "params" && value[0] == '{', name == "result" && value[0] == '{':
			value = json.RawMessage("{}")
		case name == "error":
			value = json.RawMessage(`{"code":-32603,"message":"-","data":{"kind":"internalError"}}`)
		}
		envelope[name] = value
	}
	data, err := json.Marshal(envelope)
	if err != nil {
		panic(err) // Its parts were valid JSON.
	}
	return data
}

// validateCall checks the method and params of a request or notification.
func validateCall(from string, members map[string]json.RawMessage) error {
	kind := "notification"
	if _, ok := members["id"]; ok {
		kind = "request"
	}
	var name string
	if err := json.Unmarshal(members["method"], &name); err != nil {
		return invalid("/method", "expected string")
	}
	m, ok := methodNamed(name)
	switch {
	case !ok:
		var names []string
		for _, m := range methodTable {
			names = append(names, m.Name)
		}
		return &InvalidError{Fields: []FieldError{notOneOf("/method", name, names)}}
	case m.Kind != kind:
		return invalid("/method", fmt.Sprintf("%s is a %s, sent as a %s", name, m.Kind, kind))
	case m.From != from && m.From != "both":
		return invalid("/method", fmt.Sprintf("%s must come from the %s, was sent by the %s", name, m.From, from))
	}
	return under("/params", ValidateParams(name, members["params"]))
}

// validateAnswer checks the result of a request.
func validateAnswer(members map[string]json.RawMessage, methodOfID func(string) string) error {
	id := string(members["id"])
	method := methodOfID(id)
	if method == "" {
		return invalid("/id", "answers id "+id+", but no request with this id is open")
	}
	return under("/result", ValidateResult(method, members["result"]))
}

// validateError checks the error of a request. With id null it answers a message that could not be read.
func validateError(members map[string]json.RawMessage, methodOfID func(string) string) error {
	if id := string(members["id"]); id != "null" && methodOfID(id) == "" {
		return invalid("/id", "answers id "+id+", but no request with this id is open")
	}
	return under("/error", ValidateErrorObject(members["error"]))
}
