package rpc

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

// TestMethodTables: the methods that a client sends according to the schema are exactly those that have handlers.
func TestMethodTables(t *testing.T) {
	want := map[string][]string{}
	for _, m := range schema.Methods() {
		if m.From != "server" {
			want[m.Kind] = append(want[m.Kind], m.Name)
		}
	}
	var have []string
	for _, m := range requests() {
		have = append(have, m.name)
	}
	slices.Sort(have)
	if !slices.Equal(have, want["request"]) {
		t.Errorf("requests: %v, the schema has %v", have, want["request"])
	}
	if have := slices.Sorted(maps.Keys(notifications)); !slices.Equal(have, want["notification"]) {
		t.Errorf("notifications: %v, the schema has %v", have, want["notification"])
	}
}

// TestEventTables: every event in the schema can be sent, and clients can choose from exactly these names.
func TestEventTables(t *testing.T) {
	events := []*jobs.Event{{Matched: &jobs.Matched{}}, {Removed: &jobs.WatchRemoved{}}, {Changed: &jobs.Changed{}}, {Screen: &jobs.ScreenChanged{}}, {Waiting: &jobs.InputWaiting{}}, {Command: &jobs.CommandFinished{}}, {Input: &jobs.InputChanged{}}, {Exited: &jobs.Exited{}}, {Closed: &jobs.Closed{}}}
	sent := []string{"job/output", "job/started"} // sent by the lane itself
	for _, e := range events {
		name, method, _ := eventParams(&laneEvent{Event: *e}, 1, 1)
		if method != "job/"+string(name) {
			t.Errorf("event %s is sent as %s", name, method)
		}
		sent = append(sent, method)
	}
	slices.Sort(sent)
	var want []string
	for _, m := range schema.Methods() {
		if m.From == "server" && m.Kind == "notification" && strings.HasPrefix(m.Name, "job/") {
			want = append(want, m.Name)
		}
	}
	if !slices.Equal(sent, want) {
		t.Errorf("events: %v, the schema has %v", sent, want)
	}
	var chosen []string
	for _, e := range sharedEvents {
		chosen = append(chosen, "job/"+string(e))
	}
	chosen = append(chosen, "job/screenChanged", "job/waitingForInput") // which have a cost, and are only sent on request
	slices.Sort(chosen)
	if !slices.Equal(chosen, want) {
		t.Errorf("events by default: %v, the schema has %v", chosen, want)
	}
}

// TestWireKinds: each error of the engine has a name on the wire, and no two have the same.
func TestWireKinds(t *testing.T) {
	taken := map[schema.Kind]jobs.Code{}
	for _, c := range jobs.Codes() {
		kind, ok := wireKinds[c]
		if !ok {
			t.Errorf("code %d has no kind", c)
			continue
		}
		if other, ok := taken[kind]; ok {
			t.Errorf("codes %d and %d are both %s", other, c, kind)
		}
		taken[kind] = c
	}
	if len(wireKinds) != len(jobs.Codes()) {
		t.Errorf("%d kinds for %d codes", len(wireKinds), len(jobs.Codes()))
	}
}

// protocolKinds are the names in the order of the protocol's codes.
var protocolKinds = []string{
	"jobNotFound", "jobExited", "jobRunning", "nameInUse", "commandNotFound", "permissionDenied", "badWorkingDirectory",
	"directoryNotAllowed", "resourceUnavailable", "invalidPattern", "invalidKey", "lineTooLong", "inputQueueFull",
	"inputNotExpected", "confirmationDenied", "policyDenied", "limitExceeded", "ptyUnavailable", "notInteractive",
	"shellBusy", "shellIntegrationUnavailable", "outputFileError", "unsupported", "unsupportedVersion", "shuttingDown",
	"sessionNotFound", "keyConflict", "resumeGap", "inputHeld",
}

// TestKindCodes checks the codes of all kinds, which clients have in their code.
func TestKindCodes(t *testing.T) {
	want := map[schema.Kind]int64{
		"parseError": -32700, "invalidRequest": -32600, "methodNotFound": -32601, "invalidParams": -32602,
		"internalError": -32603, "canceled": -32800, "notInitialized": -32002,
	}
	for i, k := range protocolKinds {
		want[schema.Kind(k)] = int64(-32010 - i)
	}
	if !maps.Equal(kindCodes(), want) {
		t.Errorf("codes: %v, want %v", kindCodes(), want)
	}
	for name, code := range map[schema.Kind]int64{
		schema.KindParseError: codeParseError, schema.KindInvalidRequest: codeInvalidRequest, schema.KindMethodNotFound: codeMethodNotFound,
		schema.KindInvalidParams: codeInvalidParams, schema.KindInternalError: codeInternalError, schema.KindCanceled: codeCanceled,
		schema.KindNotInitialized: codeNotInitialized,
	} {
		if kindCodes()[name] != code {
			t.Errorf("%s is %d in the schema, %d here", name, kindCodes()[name], code)
		}
	}
}

// TestEveryRefusalIsValid: whatever the fields of an error, the sent message fits the schema.
func TestEveryRefusalIsValid(t *testing.T) {
	code := 1
	position := 3
	written := int64(5)
	state := jobs.State{Handle: 2, Status: jobs.StatusRunning}
	full := jobs.Error{
		Message: "m", Handle: 2, Name: "n", Live: []jobs.Info{{State: state}}, Exit: &jobs.Exit{Code: &code, Reason: jobs.ReasonExited},
		Command: "c", Suggestions: []string{"d"}, Path: "/p", Errno: "e", Pattern: "(", Position: &position, Pointer: "/a",
		Valid: []string{"v"}, Limit: "maxJobs", Max: 4, Length: 5, Near: "n", Retryable: true, BytesWritten: &written,
		Outcome: &jobs.Outcome{Reason: "canceled", Index: -1, State: state, Spec: &jobs.WaitSpec{}},
	}
	bare := jobs.Error{Message: "m", Handle: 2, Exit: full.Exit, Max: 4, Length: 5}
	for _, c := range jobs.Codes() {
		for _, e := range []jobs.Error{full, bare} {
			if e.Code = c; c == jobs.CodeInputHeld {
				e.Name = "n" // There is always a holder.
			}
			body := errorBody(raw("1"), refusalToWire(&e))
			if err := schema.ValidateMessage("server", body, func(string) string { return "job/wait" }); err != nil {
				t.Errorf("code %d: %v: %s", c, err, body)
			}
		}
	}
}

// TestProtocolPage: the page that explains the protocol mentions every name in it.
func TestProtocolPage(t *testing.T) {
	const page = "../docs/protocol.md"
	b, err := os.ReadFile(page)
	if os.IsNotExist(err) {
		t.Skip("there is no page yet")
	}
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, m := range schema.Methods() {
		if !strings.Contains(text, "`"+m.Name+"`") {
			t.Errorf("%s does not speak of `%s`", page, m.Name)
		}
	}
	for _, k := range schema.ErrorKinds() {
		if !strings.Contains(text, "`"+k.Kind+"`") {
			t.Errorf("%s does not speak of the error `%s`", page, k.Kind)
		}
	}
}
