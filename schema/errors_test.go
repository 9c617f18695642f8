package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestErrorKinds compares the codes of the errors, which may never change, with the list of protocol section 11, in
// order.
func TestErrorKinds(t *testing.T) {
	want := []ErrorKind{
		{"parseError", -32700}, {"invalidRequest", -32600}, {"methodNotFound", -32601},
		{"invalidParams", -32602}, {"internalError", -32603}, {"canceled", -32800}, {"notInitialized", -32002},
	}
	const ours = `jobNotFound jobExited jobRunning nameInUse commandNotFound permissionDenied
		badWorkingDirectory directoryNotAllowed resourceUnavailable invalidPattern invalidKey lineTooLong
		inputQueueFull inputNotExpected confirmationDenied policyDenied limitExceeded ptyUnavailable
		notInteractive shellBusy shellIntegrationUnavailable outputFileError unsupported
		unsupportedVersion shuttingDown sessionNotFound keyConflict resumeGap inputHeld`
	for i, kind := range strings.Fields(ours) {
		want = append(want, ErrorKind{kind, -32010 - i})
	}
	if got := ErrorKinds(); !slices.Equal(got, want) {
		t.Errorf("the error kinds are\n%v, want\n%v", got, want)
	}
	// The enumeration, the data of each kind, and its constant agree with the list.
	defs := documents()[base+"errors"+suffix]["$defs"].(document)
	enum := stringsOf(defs["kind"].(document)["enum"])
	for i, kind := range want {
		if i >= len(enum) || enum[i] != kind.Kind {
			t.Errorf("the enumeration of kinds does not have %s at %d", kind.Kind, i)
		}
		if got := lookUp(defs, []string{kind.Kind + "Data", "properties", "kind", "const"}); got != kind.Kind {
			t.Errorf("the data of %s has the kind %v", kind.Kind, got)
		}
	}
	if len(enum) != len(want) {
		t.Errorf("the enumeration has %d kinds, want %d", len(enum), len(want))
	}
}

// TestErrorObjects checks that every kind has a valid error, made from its schema.
func TestErrorObjects(t *testing.T) {
	for _, kind := range ErrorKinds() {
		for _, data := range samples("errors#/$defs/"+kind.Kind+"Data", true) {
			object := errorObject(t, kind.Code, data)
			if err := ValidateErrorObject(object); err != nil {
				t.Errorf("%s: %v", object, err)
			}
			other := errorObject(t, kind.Code-1000, data)
			if err := ValidateErrorObject(other); err == nil || !strings.HasPrefix(err.Error(), "/code: the code of "+kind.Kind) {
				t.Errorf("%s: got error %v, want one about the code", other, err)
			}
		}
	}
}

func errorObject(t *testing.T, code int, data any) []byte {
	t.Helper()
	object, err := json.Marshal(map[string]any{"code": code, "message": "It did not work.", "data": data})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestBadErrorObjects(t *testing.T) {
	for object, want := range map[string]string{
		`{`:  "the error is not JSON: unexpected EOF",
		`5`:  "expected object, got number",
		`{}`: `member "code" is missing; member "data" is missing; member "message" is missing`,
		`{"code":-32603,"message":"","data":{"kind":"internalError"}}`:            "/message: expected at least 1 character, got 0 characters",
		`{"code":-32603,"message":"x","data":{}}`:                                 `/data: member "kind" is missing`,
		`{"code":-32603,"message":"x","data":{"kind":5}}`:                         "/data/kind",
		`{"code":-32603,"message":"x","data":{"kind":"internalErorr"}}`:           `/data/kind: "internalErorr" is not allowed here; did you mean "internalError"?`,
		`{"code":-32603,"message":"x","data":{"kind":"internalError"},"more":1}`:  `/more: unknown member "more"`,
		`{"code":-32010,"message":"x","data":{"kind":"jobNotFound"}}`:             `/data: member "jobs" is missing`,
		`{"code":-32010,"message":"x","data":{"kind":"jobNotFound","jobs":[{}]}}`: `/data/jobs/0: member "handle" is missing; /data/jobs/0: member "status" is missing; /data/jobs/0: member "streams" is missing`,
		`{"code":-32011,"message":"x","data":{"kind":"jobNotFound","jobs":[]}}`:   "/code: the code of jobNotFound is -32010, got -32011",
		`{"code":"x","message":"x","data":{"kind":"jobNotFound","jobs":[]}}`:      "/code: expected integer, got string",
	} {
		if err := ValidateErrorObject([]byte(object)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot error %v\nwant      %s", object, err, want)
		}
	}
}

// TestFieldErrorOnTheWire checks that the errors of validation can be sent unchanged.
func TestFieldErrorOnTheWire(t *testing.T) {
	err := ValidateParams("job/start", []byte(`{"comand":"ls","mode":"tty","cols":0,"env":{"A=":"x"}}`))
	bad, ok := err.(*InvalidError)
	if !ok {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	object := errorObject(t, -32602, map[string]any{"kind": "invalidParams", "errors": bad.Fields})
	if err := ValidateErrorObject(object); err != nil {
		t.Errorf("%s: %v", object, err)
	}
	if text := fmt.Sprint(err); !strings.Contains(text, `/comand: unknown member "comand"; did you mean "command"?; /`) {
		t.Errorf("Error() is %q", text)
	}
}

// TestMayAnswer compares the list of each request's errors with those that no method's list repeats, and with the
// existing names.
func TestMayAnswer(t *testing.T) {
	about := documents()[base+"errors"+suffix]["x-shelld"].(document)
	kinds := map[string]bool{}
	for _, k := range ErrorKinds() {
		kinds[k.Kind] = true
	}
	for list := range about {
		for _, kind := range stringsOf(about[list]) {
			if !kinds[kind] {
				t.Errorf("%s: there is no error kind %q", list, kind)
			}
		}
	}
	for _, test := range []struct {
		method, kind string
		want         bool
	}{
		{"", "parseError", true}, {"", "invalidRequest", true}, {"", "invalidParams", false},
		{"job/nothing", "methodNotFound", true}, {"job/nothing", "limitExceeded", true}, {"job/nothing", "jobNotFound", false},
		{"exit", "methodNotFound", true}, {"job/get", "jobNotFound", true}, {"job/get", "internalError", true}, {"job/get", "methodNotFound", false},
		{"job/get", "parseError", false}, {"job/get", "canceled", false}, {"initialize", "notInitialized", false},
		{"initialize", "shuttingDown", true}, {"job/list", "notInitialized", true},
	} {
		if got := MayAnswer(test.method, test.kind); got != test.want {
			t.Errorf("MayAnswer(%q, %q) is %v", test.method, test.kind, got)
		}
	}
	for _, m := range Methods() {
		if m.Kind == "request" && m.From == "client" && m.Name != "initialize" && !slices.Contains(m.Errors, "notInitialized") {
			t.Errorf("%s does not list notInitialized", m.Name)
		}
	}
}
