package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestGoodParams(t *testing.T) {
	for _, test := range [][2]string{
		{"shutdown", ``}, {"shutdown", `null`}, {"shutdown", ` [ ] `}, {"shutdown", `{}`}, {"shutdown", `{"_meta":{"a":[1]}}`},
		{"initialize", `{}`},
		{"initialize", `{"later":1,"options":{"later":{},"env":{"later":[]},"limits":{"later":5},"events":["later"]},"capabilities":{"later":1},"clientInfo":{"later":1}}`},
		{"job/start", `{}`},
		{"job/start", `{"command":""}`},
		{"job/start", `{"argv":["ls",""],"env":{"A":null,"B":""}}`},
		{"job/start", `{"cols":80.0,"rows":24e0}`},
		{"job/start", `{"wait":{"until":[],"timeoutMs":null}}`},
		{"job/wait", `{"handle":"dev","until":[{"exit":true},{"input":{}},{"port":0}],"from":"unread"}`},
		{"job/wait", `{"handle":1,"until":[{"pattern":"x","flags":"i","on":"raw","stream":"stdout","afterInput":true}],"from":{"stdout":0},"stripEcho":true}`},
		{"job/read", `{"handle":9007199254740991,"offset":-9007199254740991}`},
		{"job/kill", `{"group":"g","force":false}`},
		{"job/search", `{"literal":"x"}`},
		{"job/search", `{"handle":"dev","pattern":"x","flags":"im","stream":"pty","from":-100,"to":0,"reverse":true,"context":3,"timeoutMs":null,"cursor":{"handle":1,"stream":"pty","offset":9,"reverse":true,"marks":[3],"end":12,"search":"0"}}`},
		{"job/exec", `{"handle":1,"command":"ls"}`},
		{"job/exec", `{"handle":"sh","command":"cat <<.\nx\n.\n","wait":{"until":[{"input":true}],"from":"now","maxBytes":0,"format":"screen","stripEcho":false},"timeoutMs":null,"onTimeout":"interrupt","ifBusy":"fail"}`},
		{"job/exec", `{"handle":1,"command":"x","wait":{}}`},
		{"job/history", `{"handle":1,"since":0,"limit":1000}`},
		{"$/cancelRequest", `{"id":18446744073709551616}`},
		{"initialize", `{"session":{}}`},
		{"initialize", `{"session":{"attach":"20261124T080000Z-5f0c","clientId":"!~editor","token":"t","role":"viewer","human":true,"share":"none","lease":{"detachedMs":null,"idleMs":0},"jobs":{"onDetach":"keep","graceMs":0}}}`},
		{"initialize", `{"session":{"later":1,"resume":[{"handle":"dev"},{"handle":7,"after":0,"from":{"stdout":3},"events":[],"encoding":"base64","whenSlow":"block","queries":"client","later":1}]}}`},
		{"session/set", `{"lease":{"detachedMs":null},"share":"viewer","jobs":{"graceMs":5}}`},
		{"job/set", `{"handle":1,"onDetach":"keep"}`},
		{"job/subscribe", `{"handle":1,"after":0,"whenDetached":"hold"}`},
		{"$/ping", `{}`}, {"$/pong", `{"t":0}`},
	} {
		if err := ValidateParams(test[0], []byte(test[1])); err != nil {
			t.Errorf("%s %s: %v", test[0], test[1], err)
		}
	}
}

// The members of a condition and of job/start, as errors list them.
var (
	conditionKinds   = []string{"exit", "closed", "pattern", "input", "quietMs", "bytes", "port", "command"}
	conditionMembers = []string{"afterInput", "bytes", "closed", "command", "exit", "flags", "input", "on", "pattern", "port", "quietMs", "stream"}
	startMembers     = strings.Fields("argv cols command cwd description detachGraceMs env events group key killAfterMs limits mode name onDetach profile queries record rows shell shellIntegration stderr stderrFile stdin stdoutFile wait watch whenSlow")
)

const oneKind = "exactly one of exit, closed, pattern, input, quietMs, bytes, port and command"

var badParams = []struct {
	method, params string
	want           []FieldError
}{
	// unknown members
	{"job/start", `{"comand":"ls"}`, []FieldError{
		{Pointer: "/comand", Message: `unknown member "comand"; did you mean "command"?`, DidYouMean: "command", Allowed: []string{"command"}}}},
	{"job/start", `{"zzz/~":1}`, []FieldError{
		{Pointer: "/zzz~1~0", Message: `unknown member "zzz/~"`, Allowed: startMembers}}},
	{"job/start", `{"Command":"ls","workdir":"/"}`, []FieldError{
		{Pointer: "/Command", Message: `unknown member "Command"; did you mean "command"?`, DidYouMean: "command", Allowed: []string{"command"}},
		{Pointer: "/workdir", Message: `unknown member "workdir"; did you mean "cwd"?`, DidYouMean: "cwd", Allowed: []string{"cwd"}}}},
	{"job/remove", `{"handle":1,"job":1}`, []FieldError{ // an existing member was not meant
		{Pointer: "/job", Message: `unknown member "job"`, Allowed: []string{"keepFiles", "key"}}}},
	{"job/write", `{"handle":1,"text":"x"}`, []FieldError{
		{Pointer: "/text", Message: `unknown member "text"; did you mean "input"?`, DidYouMean: "input",
			Allowed: []string{"appendNewline", "eof", "handle", "ifWaiting", "input", "key", "keys", "secret", "send", "wait"}}}},
	{"job/search", `{"literal":"x","cursor":{"handle":1,"stream":"pty","offset":0}}`, []FieldError{{Pointer: "/cursor", Message: `member "search" is missing`, Expected: "string"}}},
	{"job/search", `{"literal":"x","maxMatches":1001}`, []FieldError{{Pointer: "/maxMatches", Message: "expected 1 to 1000, got 1001", Expected: "1 to 1000", Got: "1001"}}},
	{"job/start", `{"stdin":"in.txt"}`, []FieldError{{Pointer: "/stdin", Message: `"in.txt" is not "null", "open", {"text": …} or {"file": …}`,
		Expected: `"null", "open", {"text": …} or {"file": …}`, Got: `"in.txt"`, Allowed: []string{"null", "open"}}}},
	{"job/start", `{"stdin":"opne"}`, []FieldError{{Pointer: "/stdin", Message: `"opne" is not "null", "open", {"text": …} or {"file": …}; did you mean "open"?`,
		Expected: `"null", "open", {"text": …} or {"file": …}`, Got: `"opne"`, DidYouMean: "open", Allowed: []string{"null", "open"}}}},
	{"job/run", `{"command":"x","timeout":5}`, []FieldError{
		{Pointer: "/timeout", Message: `unknown member "timeout"; did you mean "timeoutMs"?`, DidYouMean: "timeoutMs", Allowed: []string{"timeoutMs", "onTimeout"}}}},
	// A word for another member takes precedence over a name that is spelled alike.
	{"job/start", `{"cmd":"ls"}`, []FieldError{{Pointer: "/cmd", Message: `unknown member "cmd"; did you mean "command"?`, DidYouMean: "command", Allowed: []string{"command"}}}},
	{"job/start", `{"command_line":"ls"}`, []FieldError{
		{Pointer: "/command_line", Message: `unknown member "command_line"; did you mean "command"?`, DidYouMean: "command", Allowed: []string{"command"}}}},
	{"job/run", `{"argv":["ls"],"pty":true}`, []FieldError{
		{Pointer: "/pty", Message: `unknown member "pty"; did you mean "mode", which is "pty" or "pipe"?`, DidYouMean: "mode", Allowed: []string{"mode"}}}},
	{"job/get", `{"handle":1,"ünknown%2F":1}`, []FieldError{
		{Pointer: "/ünknown%2F", Message: `unknown member "ünknown%2F"`, Allowed: []string{"handle"}}}},
	{"shutdown", `{"a":1}`, []FieldError{{Pointer: "/a", Message: `unknown member "a"`}}},
	{"job/start", `{"watch":[{"pattern":"x"},{"pattern":"y","flag":"i"}]}`, []FieldError{
		{Pointer: "/watch/1/flag", Message: `unknown member "flag"; did you mean "flags"?`, DidYouMean: "flags", Allowed: []string{"flags", "on", "once", "pattern", "stream"}}}},

	// types
	{"job/get", `5`, []FieldError{{Message: "expected object, got number", Expected: "object", Got: "number"}}},
	{"job/get", `["x"]`, []FieldError{{Message: "expected object, got array", Expected: "object", Got: "array"}}},
	{"job/get", `{"handle":`, []FieldError{{Message: "the params are not JSON: unexpected EOF"}}},
	{"job/get", `{"handle":1} {}`, []FieldError{{Message: "the params are not JSON: more than one JSON value"}}},
	{"job/start", `{"cols":"80"}`, []FieldError{{Pointer: "/cols", Message: "expected integer, got string", Expected: "integer", Got: "string"}}},
	{"job/start", `{"cols":80.5}`, []FieldError{{Pointer: "/cols", Message: "expected integer, got the number 80.5", Expected: "integer", Got: "the number 80.5"}}},
	{"job/start", `{"command":["ls"]}`, []FieldError{{Pointer: "/command", Message: "expected string, got array", Expected: "string", Got: "array"}}},
	{"job/start", `{"env":{"A":1}}`, []FieldError{{Pointer: "/env/A", Message: "expected string or null, got number", Expected: "string or null", Got: "number"}}},
	{"job/start", `{"command":null}`, []FieldError{{Pointer: "/command", Message: "expected string, got null", Expected: "string", Got: "null"}}},
	{"job/start", `{"_meta":1}`, []FieldError{{Pointer: "/_meta", Message: "expected object, got number", Expected: "object", Got: "number"}}},
	{"job/get", `{"handle":"1"}`, []FieldError{{Pointer: "/handle", Message: `expected a job's handle (an integer from 1 up) or its name, got "1"`,
		Expected: "a job's handle (an integer from 1 up) or its name", Got: `"1"`}}},
	{"job/get", `{"handle":true}`, []FieldError{{Pointer: "/handle", Message: `expected a job's handle (an integer from 1 up) or its name, got true`,
		Expected: "a job's handle (an integer from 1 up) or its name", Got: "true"}}},

	// values
	{"job/start", `{"mode":"tty"}`, []FieldError{{Pointer: "/mode", Message: `"tty" is not "pty" or "pipe"; did you mean "pty"?`,
		Expected: `"pty" or "pipe"`, Got: `"tty"`, DidYouMean: "pty", Allowed: []string{"pty", "pipe"}}}},
	{"job/start", `{"mode":5}`, []FieldError{{Pointer: "/mode", Message: "expected string, got number", Expected: "string", Got: "number"}}},
	{"job/start", `{"rows":0,"cols":65536}`, []FieldError{
		{Pointer: "/cols", Message: "expected 1 to 65535, got 65536", Expected: "1 to 65535", Got: "65536"},
		{Pointer: "/rows", Message: "expected 1 to 65535, got 0", Expected: "1 to 65535", Got: "0"}}},
	{"job/get", `{"handle":0}`, []FieldError{{Pointer: "/handle", Message: "expected at least 1, got 0", Expected: "at least 1", Got: "0"}}},
	{"job/get", `{"handle":9007199254740993}`, []FieldError{{Pointer: "/handle", Message: "expected at most 9007199254740991, got more than 9007199254740991",
		Expected: "at most 9007199254740991", Got: "more than 9007199254740991"}}},
	{"job/read", `{"handle":1,"offset":-1e300}`, []FieldError{{Pointer: "/offset", Message: "expected at least -9007199254740991, got less than -9007199254740991",
		Expected: "at least -9007199254740991", Got: "less than -9007199254740991"}}},
	{"job/start", `{"name":"-x"}`, []FieldError{{Pointer: "/name", Message: `expected a letter, then up to 63 letters, digits, '.', '_' or '-', got "-x"`,
		Expected: "a letter, then up to 63 letters, digits, '.', '_' or '-'", Got: `"-x"`}}},
	{"job/start", `{"command":"a\u0000b"}`, []FieldError{{Pointer: "/command", Message: `expected text without NUL characters, got "a\x00b"`,
		Expected: "text without NUL characters", Got: `"a\x00b"`}}},
	{"job/start", `{"env":{"A=B":"x"}}`, []FieldError{{Pointer: "/env/A=B", Message: `the name: expected the name of an environment variable: not empty, without '=' and NUL, got "A=B"`,
		Expected: "the name of an environment variable: not empty, without '=' and NUL", Got: `"A=B"`}}},
	{"job/start", `{"argv":[]}`, []FieldError{{Pointer: "/argv", Message: "expected at least 1 item, got 0 items", Expected: "at least 1 item", Got: "0 items"}}},
	{"job/start", `{"argv":["",""]}`, []FieldError{{Pointer: "/argv/0", Message: "expected at least 1 character, got 0 characters", Expected: "at least 1 character", Got: "0 characters"}}},
	{"job/write", `{"handle":1,"keys":[""]}`, []FieldError{{Pointer: "/keys/0", Message: "expected at least 1 character, got 0 characters", Expected: "at least 1 character", Got: "0 characters"}}},

	// members that belong together, or exclude each other
	{"job/get", `{}`, []FieldError{{Message: `member "handle" is missing`, Expected: "a job's handle (an integer from 1 up) or its name"}}},
	{"job/wait", `{"handel":1}`, []FieldError{
		{Message: `member "handle" is missing`, Expected: "a job's handle (an integer from 1 up) or its name"},
		{Message: `member "until" is missing`, Expected: "array"},
		{Pointer: "/handel", Message: `unknown member "handel"; did you mean "handle"?`, DidYouMean: "handle", Allowed: []string{"format", "from", "handle", "mark", "maxBytes", "stripEcho", "timeoutMs", "until"}}}},
	{"job/start", `{"command":"a","argv":["b"]}`, []FieldError{{Message: `"command" and "argv" exclude each other; give one of them`, Allowed: []string{"command", "argv"}}}},
	{"job/run", `{"command":"a","argv":["b"]}`, []FieldError{{Message: "needs exactly one of command and argv, has command and argv", Expected: "exactly one of command and argv",
		Got: "command and argv", Allowed: []string{"command", "argv"}}}},
	{"job/run", `{"mode":"pty"}`, []FieldError{{Message: "needs exactly one of command and argv, has none", Expected: "exactly one of command and argv", Got: "none", Allowed: []string{"command", "argv"}}}},
	{"job/kill", `{}`, []FieldError{{Message: "needs exactly one of handle and group, has none", Expected: "exactly one of handle and group", Got: "none", Allowed: []string{"handle", "group"}}}},
	{"initialize", `{"session":{"clientId":"a b"}}`, []FieldError{
		{Pointer: "/session/clientId", Message: "expected 1 to 64 printable ASCII characters without blanks, got \"a b\"", Expected: "1 to 64 printable ASCII characters without blanks", Got: `"a b"`}}},
	{"session/set", `{"lease":{"idle":5}}`, []FieldError{
		{Pointer: "/lease/idle", Message: `unknown member "idle"; did you mean "idleMs"?`, DidYouMean: "idleMs", Allowed: []string{"detachedMs", "idleMs"}}}},
	{"job/signal", `{"signal":"TERM"}`, []FieldError{{Message: "needs exactly one of handle and group, has none", Expected: "exactly one of handle and group", Got: "none", Allowed: []string{"handle", "group"}}}},
	{"job/kill", `{"handle":1,"group":"g"}`, []FieldError{{Message: "needs exactly one of handle and group, has handle and group",
		Expected: "exactly one of handle and group", Got: "handle and group", Allowed: []string{"handle", "group"}}}},

	// commands of a shell
	{"job/exec", `{"handle":1,"command":""}`, []FieldError{{Pointer: "/command", Message: "expected at least 1 character, got 0 characters", Expected: "at least 1 character", Got: "0 characters"}}},
	{"job/exec", `{"handle":1,"command":"a\u0000b"}`, []FieldError{{Pointer: "/command", Message: `expected text without NUL characters, got "a\x00b"`,
		Expected: "text without NUL characters", Got: `"a\x00b"`}}},
	{"job/exec", `{"handle":1,"command":"x","wait":{"until":[],"timeoutMs":5}}`, []FieldError{{Pointer: "/wait/timeoutMs", Message: `unknown member "timeoutMs"`,
		Allowed: []string{"format", "from", "mark", "maxBytes", "stripEcho", "until"}}}},
	{"job/exec", `{"handle":1,"command":"x","onTimeout":"abort"}`, []FieldError{{Pointer: "/onTimeout", Message: `"abort" is not "leave", "interrupt" or "kill"`,
		Expected: `"leave", "interrupt" or "kill"`, Got: `"abort"`, Allowed: []string{"leave", "interrupt", "kill"}}}},
	{"job/history", `{"handle":1,"limit":1001}`, []FieldError{{Pointer: "/limit", Message: "expected 1 to 1000, got 1001", Expected: "1 to 1000", Got: "1001"}}},

	// conditions
	{"job/wait", `{"handle":1,"until":[{}]}`, []FieldError{{Pointer: "/until/0", Message: "needs " + oneKind + ", has none", Expected: oneKind, Got: "none", Allowed: conditionKinds}}},
	{"job/wait", `{"handle":1,"until":[{"exit":true},{"pattern":"x","closed":true,"exit":true}]}`, []FieldError{
		{Pointer: "/until/1", Message: "needs " + oneKind + ", has exit, closed and pattern", Expected: oneKind, Got: "exit, closed and pattern", Allowed: conditionKinds}}},
	{"job/wait", `{"handle":1,"until":[{"patern":"x"}]}`, []FieldError{
		{Pointer: "/until/0/patern", Message: `unknown member "patern"; did you mean "pattern"?`, DidYouMean: "pattern", Allowed: conditionMembers}}},
	{"job/wait", `{"handle":1,"until":[{"exit":true,"more":1}]}`, []FieldError{
		{Pointer: "/until/0/more", Message: `unknown member "more"`, Allowed: conditionMembers}}},
	{"job/wait", `{"handle":1,"until":[{"exit":true,"on":"raw"}]}`, []FieldError{{Pointer: "/until/0/on", Message: `"on" is only allowed with "pattern"`}}},
	{"job/wait", `{"handle":1,"until":[{"exit":true,"afterInput":true}]}`, []FieldError{{Pointer: "/until/0/afterInput", Message: `"afterInput" is only allowed with "pattern"`}}},
	{"job/wait", `{"handle":1,"until":[{"exit":1}]}`, []FieldError{{Pointer: "/until/0/exit", Message: "expected true, got number", Expected: "true", Got: "number"}}},
	{"job/wait", `{"handle":1,"until":[{"input":false}]}`, []FieldError{{Pointer: "/until/0/input", Message: "expected true, got false", Expected: "true", Got: "false"}}},
	{"job/wait", `{"handle":1,"until":[{"input":"x"}]}`, []FieldError{{Pointer: "/until/0/input", Message: "expected true or object, got string", Expected: "true or object", Got: "string"}}},
	{"job/wait", `{"handle":1,"until":[{"input":{"kinds":["lines"]}}]}`, []FieldError{{Pointer: "/until/0/input/kinds/0",
		Message: `"lines" is not "line", "password", "raw" or "fullscreen"; did you mean "line"?`, Expected: `"line", "password", "raw" or "fullscreen"`, Got: `"lines"`,
		DidYouMean: "line", Allowed: []string{"line", "password", "raw", "fullscreen"}}}},
	{"job/wait", `{"handle":1,"until":[{"pattern":"x","flags":"g"}]}`, []FieldError{{Pointer: "/until/0/flags",
		Message: `expected flags out of i, m, s and u, each at most once, got "g"`, Expected: "flags out of i, m, s and u, each at most once", Got: `"g"`}}},
	{"job/wait", `{"handle":1,"until":[],"from":"begin"}`, []FieldError{{Pointer: "/from", Message: `"begin" is not an offset, an object with an offset for each stream, or "start", "now" or "unread"`,
		Expected: `an offset, an object with an offset for each stream, or "start", "now" or "unread"`, Got: `"begin"`, Allowed: []string{"start", "now", "unread"}}}},
	{"job/wait", `{"handle":1,"until":[],"from":{"pty":1}}`, []FieldError{{Pointer: "/from/pty", Message: `unknown member "pty"`, Allowed: []string{"stderr", "stdout"}}}},
	{"job/wait", `{"handle":1,"until":[],"from":-5}`, []FieldError{{Pointer: "/from", Message: "expected at least 0, got -5", Expected: "at least 0", Got: "-5"}}},
	{"job/wait", `{"handle":1,"until":[],"from":null}`, []FieldError{{Pointer: "/from",
		Message:  `expected an offset, an object with an offset for each stream, or "start", "now" or "unread", got null`,
		Expected: `an offset, an object with an offset for each stream, or "start", "now" or "unread"`, Got: "null"}}},
}

func TestBadParams(t *testing.T) {
	for _, test := range badParams {
		err := ValidateParams(test.method, []byte(test.params))
		var bad *InvalidError
		if !errors.As(err, &bad) {
			t.Errorf("%s %s: got %v, want an InvalidError", test.method, test.params, err)
			continue
		}
		if !reflect.DeepEqual(bad.Fields, test.want) {
			t.Errorf("%s %s:\ngot  %s\nwant %s", test.method, test.params, fields(bad.Fields), fields(test.want))
		}
	}
}

func fields(list []FieldError) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "\n\t%+v", f)
	}
	return b.String()
}

func TestNearest(t *testing.T) {
	names := []string{"job/start", "job/started", "job/read", "shutdown", "timeoutMs", "onTimeout"}
	for wrong, want := range map[string]string{
		"job/strat": "job/start", // letters swapped
		"job/rea":   "job/read",  // one omitted
		"JOB/READ":  "job/read",  // in capitals
		"timeout":   "timeoutMs", // not onTimeout, which is as near in letters
		"shutdwon":  "shutdown",
		"start":     "",
		"x":         "",
		"":          "",
	} {
		if got := Nearest(wrong, names); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", wrong, got, want)
		}
	}
}

// TestConditionKinds checks, for every set of a condition's members, that it is accepted if and only if it has one
// kind, with flags, on and stream only for a pattern.
func TestConditionKinds(t *testing.T) {
	members := []string{`"exit":true`, `"closed":true`, `"pattern":"x"`, `"input":true`, `"quietMs":1`, `"bytes":1`, `"port":1`, `"command":1`,
		`"flags":"i"`, `"on":"raw"`, `"stream":"pty"`}
	const pattern = 2
	for set := range 1 << len(members) {
		var parts []string
		for i, member := range members {
			if set&(1<<i) != 0 {
				parts = append(parts, member)
			}
		}
		kinds, extras := set&(1<<8-1), set>>8
		want := kinds != 0 && kinds&(kinds-1) == 0 && (extras == 0 || kinds == 1<<pattern)
		params := `{"handle":1,"until":[{` + strings.Join(parts, ",") + `}]}`
		if err := ValidateParams("job/wait", []byte(params)); (err == nil) != want {
			t.Errorf("%s: got error %v, want it taken: %t", params, err, want)
		}
	}
}

func TestUnknownMethods(t *testing.T) {
	var bad *InvalidError
	for _, method := range []string{"", "job/nothing", "common", "../errors", "job-start"} {
		if err := ValidateParams(method, nil); err == nil || errors.As(err, &bad) {
			t.Errorf("ValidateParams(%q): got %v, want an error that is no InvalidError", method, err)
		}
		if err := ValidateResult(method, []byte(`{}`)); err == nil || errors.As(err, &bad) {
			t.Errorf("ValidateResult(%q): got %v, want an error that is no InvalidError", method, err)
		}
	}
	if err := ValidateResult("job/output", []byte(`{}`)); err == nil || errors.As(err, &bad) {
		t.Errorf("the result of a notification: got %v, want an error that is no InvalidError", err)
	}
}

func TestBadResults(t *testing.T) {
	const state = `{"handle":1,"status":"closed","streams":{"stdout":{"nextOffset":0}}}`
	for _, test := range [][3]string{
		{"shutdown", ``, "not JSON"},
		{"shutdown", `null`, "expected object, got null"},
		{"job/run", `{"exit":5,"timedOut":false,"outputComplete":true,"durationMs":1,"job":` + state + `}`, "/exit: expected object or null, got number"},
		{"job/wait", `{"outcome":{"reason":"exit","index":null,"job":` + state + `,"output":{"stdout":{"base64":"","offset":0,"nextOffset":0}}}}`,
			`/outcome/output/stdout/base64: "base64" is only allowed with "text"`},
		{"job/run", `{"exit":{"code":0,"signal":"TERM","coreDumped":false,"reason":"exited"},"timedOut":false,"outputComplete":true,"durationMs":1,"job":` + state + `}`,
			`/exit/signal: expected a signal's name with SIG, such as SIGTERM, got "TERM"`},
		{"job/run", `{"exit":null,"timedOut":false,"outputComplete":true,"durationMs":1,"job":` + state + `,"truncated":{"tty":{"headBytes":0,"tailBytes":0,"omittedBytes":0,"omittedLines":0}}}`,
			`/truncated/tty: the name "tty" is not "pty", "stdout" or "stderr"; did you mean "pty"?`},
		{"job/kill", `{"jobs":[],"signals":[],"killed":[],"survivors":[],"alreadyClosed":false,"job":` + state + `}`,
			"needs exactly one of signals, killed, survivors, alreadyClosed and job and jobs, has"},
		{"job/list", `{"jobs":null}`, "/jobs: expected array, got null"},
		{"job/write", `{"bytesWritten":-1}`, "/bytesWritten: expected at least 0, got -1"},
	} {
		var bad *InvalidError
		err := ValidateResult(test[0], []byte(test[1]))
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), test[2]) {
			t.Errorf("%s %s:\ngot error %v\nwant      %s", test[0], test[1], err, test[2])
		}
	}
}

func TestDecodeParams(t *testing.T) {
	var start JobStartParams
	if err := DecodeParams("job/start", []byte(`{"command":"ls","cols":80.0,"rows":2.4e1,"env":{"A":null}}`), &start); err != nil {
		t.Fatal(err)
	}
	if *start.Command != "ls" || *start.Cols != 80 || *start.Rows != 24 || len(start.Env) != 1 || start.Env["A"] != nil {
		t.Errorf("decoded %+v", start)
	}
	// The spelling of an id is kept, since answers echo it.
	var cancel CancelRequestParams
	if err := DecodeParams("$/cancelRequest", []byte(`{"id":1.0}`), &cancel); err != nil || string(cancel.ID) != "1.0" {
		t.Errorf("decoded the id %s, error %v; want 1.0", cancel.ID, err)
	}
	for _, empty := range []string{``, `null`, `[]`, `{}`} {
		list := JobListParams{}
		if err := DecodeParams("job/list", []byte(empty), &list); err != nil || !reflect.DeepEqual(list, JobListParams{}) {
			t.Errorf("%q was decoded as %+v, error %v", empty, list, err)
		}
	}
	// A name that is nearly that of a member is not a member. If two members have one name, the schema checks the last,
	// so only that counts, as a whole.
	for _, params := range []string{
		`{"protocolVersion":"1","options":{"limits":{"maxjobs":-3,"MAXJOBS":1},"Env":{},"persist":{"MODE":"memory"}},"OPTIONS":{"limits":{"maxJobs":-1}}}`,
		`{"protocolVersion":"1","options":{"limits":{"maxJobs":-3},"limits":{}}}`,
		`{"protocolVersion":"1","options":{"limits":{"maxJobs":-3}},"options":{"persist":{}}}`,
	} {
		var p InitializeParams
		if err := DecodeParams("initialize", []byte(params), &p); err != nil {
			t.Errorf("%s: %v", params, err)
		} else if o := p.Options; o == nil || o.Limits != nil && o.Limits.MaxJobs != nil || o.Persist != nil && o.Persist.Mode != nil || o.Env != nil {
			t.Errorf("%s: decoded %+v", params, o)
		}
	}
	list := JobStartParams{}
	if err := DecodeParams("job/start", []byte(`{"command":"ls","limits":{"processes":-1},"limits":{"openFiles":9}}`), &list); err != nil || list.Limits.Processes != nil || *list.Limits.OpenFiles != 9 {
		t.Errorf("decoded %+v, %v", list.Limits, err)
	}
	var bad *InvalidError
	if err := DecodeParams("job/get", []byte(`{}`), &JobGetParams{}); !errors.As(err, &bad) {
		t.Errorf("got error %v, want an InvalidError", err)
	}
	if err := DecodeParams("job/start", []byte(`{"command":"ls"}`), &struct {
		Command int `json:"command"`
	}{}); err == nil || errors.As(err, &bad) {
		t.Errorf("a string was decoded into an int; error %v", err)
	}
}

// TestHostileParams checks that malicious params cause an error.
func TestHostileParams(t *testing.T) {
	repeat := strings.Repeat
	long := repeat("x", 1<<20)
	for name, test := range map[string]struct{ method, params, want string }{
		"deep arrays":      {"job/start", `{"_meta":{"a":` + repeat("[", 9000) + repeat("]", 9000) + `}}`, ""},
		"deeper arrays":    {"job/start", `{"_meta":{"a":` + repeat("[", 1<<20) + repeat("]", 1<<20) + `}}`, "exceeded max depth"},
		"deep objects":     {"job/start", `{"argv":` + repeat(`{"a":`, 9000) + "1" + repeat("}", 9000) + `}`, "/argv: expected array, got object"},
		"open brackets":    {"job/start", repeat("[", 1<<20), "exceeded max depth"},
		"huge exponent":    {"job/start", `{"cols":1e999999999}`, "/cols: expected 1 to 65535, got more than 9007199254740991"},
		"large exponent":   {"job/start", `{"cols":1e999999}`, "/cols: expected 1 to 65535, got more than 9007199254740991"},
		"tiny exponent":    {"job/start", `{"cols":1e-999999999}`, "/cols: expected 1 to 65535, got 0"},
		"many digits":      {"job/start", `{"cols":` + repeat("9", 1<<20) + `}`, "/cols: expected 1 to 65535, got more than 9007199254740991"},
		"long fraction":    {"job/start", `{"cols":1.` + repeat("3", 1<<20) + `}`, "/cols: expected integer, got the number 1.3333333333333333"},
		"negative":         {"job/start", `{"cols":-1e400}`, "/cols: expected 1 to 65535, got less than -9007199254740991"},
		"many bad items":   {"job/start", `{"argv":["a"` + repeat(",1", 1<<20) + `]}`, "/argv: has 1048577 items, at most 65536 are allowed"},
		"some bad items":   {"job/start", `{"argv":["a"` + repeat(",1", 60000) + `]}`, "/argv/1: expected string, got number"},
		"long member":      {"job/start", `{"` + long + `":1}`, "unknown member \"xxx"},
		"long value":       {"job/start", `{"mode":"` + long + `"}`, `/mode: "xxx`},
		"long name in env": {"job/start", `{"env":{"` + long + `":1}}`, "/env: expected string or null, got number"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ValidateParams(test.method, []byte(test.params))
			if test.want == "" {
				if err != nil {
					t.Errorf("got error %.300v", err)
				}
				return
			}
			var bad *InvalidError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got error %.300v, want %s", err, test.want)
			}
			if data, _ := json.Marshal(bad.Fields); len(bad.Fields) > maxFields || len(data) > 16<<10 {
				t.Errorf("the error has %d fields and %d bytes", len(bad.Fields), len(data))
			}
		})
	}
	var members strings.Builder
	for i := range 70000 {
		fmt.Fprintf(&members, `,"k%d":1`, i)
	}
	err := ValidateParams("job/start", []byte(`{"env":{"A":1`+members.String()+`}}`))
	if err == nil || err.Error() != "/env: has 70001 members, at most 65536 are allowed" {
		t.Errorf("too many members: got error %.300v", err)
	}
}

// FuzzParams checks that no params break validation, and that its errors can be sent.
func FuzzParams(f *testing.F) {
	for _, test := range badParams {
		f.Add(test.method, []byte(test.params))
	}
	for _, m := range Methods() {
		for _, params := range samples(fileName(m.Name)+"#/$defs/params", true) {
			data, err := json.Marshal(params)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(m.Name, data)
		}
	}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		var bad *InvalidError
		if !errors.As(ValidateParams(method, params), &bad) {
			return
		}
		if len(bad.Fields) == 0 {
			t.Fatal("an InvalidError without a field")
		}
		data, err := json.Marshal(map[string]any{"kind": "invalidParams", "errors": bad.Fields})
		if err != nil {
			t.Fatal(err)
		}
		if err := ValidateErrorObject(fmt.Appendf(nil, `{"code":-32602,"message":"x","data":%s}`, data)); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
	})
}

// TestConcurrentUse compiles and uses every method's schema in many goroutines at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, m := range Methods() {
				err := ValidateParams(m.Name, []byte(`{"nothing":1,"handle":"x y","wait":{"until":[{}]}}`))
				if (err == nil) != (m.Name == "initialize") {
					t.Errorf("%s: got error %v", m.Name, err)
				}
			}
		})
	}
	group.Wait()
}

func BenchmarkValidateParams(b *testing.B) {
	for name, params := range map[string]string{
		"small": `{"command":"npm run dev","cwd":"/home/user/project","name":"dev","cols":120,"rows":40}`,
		"rich": `{"command":"npm run dev","cwd":"/home/user/project","env":{"CI":"1","FORCE_COLOR":null},"name":"dev","cols":120,"rows":40,` +
			`"watch":[{"pattern":"listening on (\\d+)"}],"wait":{"until":[{"pattern":"ready in \\d+ ms"},{"exit":true}],"timeoutMs":10000}}`,
		"bad": `{"comand":"npm run dev","cwd":"/home/user/project","mode":"tty"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := ValidateParams("job/start", []byte(params)); (err != nil) != (name == "bad") {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := newCompiler().Compile(base + "job-start" + suffix + "#/$defs/params"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExplain(b *testing.B) {
	params := []byte(`{"handle":1,"until":[{"patern":"x"}]}`)
	for b.Loop() {
		if err := ValidateParams("job/wait", params); err == nil {
			b.Fatal("a bad condition was taken")
		}
	}
}
