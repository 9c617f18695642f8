//go:build linux

package conformance

import (
	"shelld.dev/shelld/conformance/internal/wire"
)

// answerFaults are faults in answers, and in the form of messages.
var answerFaults = []fault{
	{name: "answers with a number id as a string", says: notSent + "no request has the id .*as they were spelled", hooks: edit(answer().where(idIs(isNumber)), func(v map[string]any) { v["id"] = wire.Show(v["id"]) })},
	{name: "answers with a string id as a number", says: notSent + "no request has the id .*as they were spelled", hooks: edit(answer().where(idIs(isDigits)), func(v map[string]any) { v["id"] = wire.Number(v["id"].(string)) })},
	{name: "answers with the id in another spelling", says: notSent + "no request has the id .*as they were spelled", hooks: edit(answer().where(idIs(isNumber)), func(v map[string]any) { v["id"] = v["id"].(wire.Number) + ".0" })},
	{name: "answers with the id of another request", says: notSent + "the request 1 was answered before", hooks: edit(answer().where(func(m *packet) bool { return m.v["id"] != wire.Number("1") }), set("id", wire.Number("1")))},
	{name: "answers with id null", says: notSent + "the message itself: /id", hooks: edit(result(), set("id", nil))},
	{name: "answers twice", says: notSent + "the request .* was answered before", hooks: repeat(answer())},
	{name: "answers initialize twice", says: notSent + "the request .* was answered before", hooks: repeat(result("initialize"))},
	{name: "never answers", says: "expected an answer to .* (did not|cannot) come|was never answered", slow: true, hooks: drop(answer())},
	{name: "never answers initialize", says: "expected an answer to initialize", slow: true, hooks: drop(result("initialize"))},
	{name: "answers with result and error", says: noMessage + ".*either result or error", hooks: edit(result(), set("error", map[string]any{"code": wire.Number("-32603"), "message": "x", "data": map[string]any{"kind": "internalError"}}))},
	{name: "answers with neither result nor error", says: noMessage + ".*either result or error", hooks: edit(result(), unset("result"))},
	{name: "answers with result null", says: notSent + "the message itself: /result", hooks: edit(result(), set("result", nil))},
	{name: "answers a success with an error", says: "expected a result for .*, got the error|answer .*internalError", hooks: edit(result("job/start", "job/run", "job/write", "job/read", "job/wait", "job/get", "job/list", "job/kill"), fails("internalError", "-32603"))},
	{name: "answers a failure with a result", says: "expected an error for .*, got the result|" + notSent + ".*lacks the member", hooks: edit(refusal(), func(v map[string]any) { delete(v, "error"); v["result"] = map[string]any{} })},
	{name: "answers a notification", says: "complains of a message, and no step expects it", hooks: also(result("initialize"), false, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method","data":{"kind":"methodNotFound","method":"initialized"}}}`)},
	{name: "ignores a malformed message", says: "expected an error with id null|expected an answer", slow: true, hooks: drop(func(m *packet) bool { return m.v["error"] != nil && m.v["id"] == nil })},
	{name: "adds an unknown member to a result", says: notSent + ".*has a member that the schema does not know: 'colour'", hooks: inside("result", result(), set("colour", "red"))},
	{name: "adds a member beside the result", says: notSent + "the message itself: .*has a member that the schema does not know: 'colour'", hooks: edit(result(), set("colour", "red"))},
	{name: "adds an unknown member to a job's state", says: notSent + ".*has a member that the schema does not know: 'colour'", hooks: inside("result", result().has("job"), in("job", set("colour", "red")))},
	{name: "adds an unknown member to an event", says: notSent + ".*has a member that the schema does not know: 'colour'", hooks: inside("params", event(), set("colour", "red"))},
	{name: "omits a member of a result", says: notSent + ".*lacks the members? 'job'", hooks: inside("result", result("job/start", "job/run", "job/get"), unset("job"))},
	{name: "omits a member of a job's state", says: notSent + ".*lacks the members? 'status'", hooks: inside("result", result().has("job"), in("job", unset("status")))},
	{name: "omits a member of an event", says: notSent + ".*lacks the members? 'durationMs'", hooks: inside("params", event("exited"), unset("durationMs"))},
	{name: "sends a number as a string", says: notSent + ".*expected integer, but got string", hooks: inside("result", result().has("job"), in("job", set("handle", "1")))},
	{name: "sends a fraction as an integer", says: notSent + ".*expected integer, but got number", hooks: inside("params", event("exited"), set("durationMs", wire.Number("1.5")))},
	{name: "sends null as a list", says: notSent + ".*expected array, but got null", hooks: inside("params", event("exited"), set("background", nil))},
	{name: "sends a negative offset", says: notSent + ".*must be >= 0", hooks: inside("params", event("output"), set("offset", wire.Number("-1")))},
	{name: "sends an unknown enumeration value", says: notSent + ".*value must be one of", hooks: inside("result", result().has("job"), in("job", set("status", "sleeping")))},
	{name: "sends an invalid date", says: notSent + ".*: /job/startedAt: .*date-time", hooks: inside("params", event("started"), in("job", set("startedAt", "today")))},
	{name: "answers with the wrong error code", says: notSent + "the kind .* has the code", hooks: inside("error", refusal(), set("code", wire.Number("-32000")))},
	{name: "answers with the wrong error kind", says: "/kind: expected", hooks: edit(refusal("jobNotFound", "invalidParams", "jobExited", "commandNotFound", "invalidRequest", "notInitialized", "jobRunning", "nameInUse", "notInteractive"), fails("internalError", "-32603"))},
	{name: "answers with an error kind that the method does not have", says: notSent + ".* cannot fail with ptyUnavailable", hooks: edit(refusal().where(methodIs("job/get", "job/read", "job/write", "job/kill", "job/wait", "job/list", "job/signal")), func(v map[string]any) {
		fails("ptyUnavailable", "-32027")(v)
		v["error"].(map[string]any)["data"].(map[string]any)["reason"] = "x"
	})},
	{name: "answers with an unknown error kind", says: notSent + "an error has data.kind", hooks: inside("error", refusal(), in("data", set("kind", "oops")))},
	{name: "answers with an error without data", says: notSent + "an error has data.kind", hooks: inside("error", refusal(), unset("data"))},
	{name: "answers with an error without a message", says: notSent + "an error has a code and a message", hooks: inside("error", refusal(), set("message", ""))},
	{name: "omits a member of an error's data", says: notSent + "data of the error .*: .*lacks the member", hooks: inside("error", refusal("jobNotFound"), in("data", unset("jobs")))},
	{name: "adds an unknown member to an error's data", says: notSent + "data of the error .*: .*has a member that the schema does not know: 'colour'", hooks: inside("error", refusal(), in("data", set("colour", "red")))},
	{name: "returns one row of the screen too few", says: "/lines: expected|/lines/|/scrollbackLines", hooks: inside("result", result("job/screen").has("lines"), func(o map[string]any) {
		lines, _ := o["lines"].([]any)
		o["lines"] = lines[:len(lines)-1]
	})},
	{name: "returns the cursor one column too far", says: "/cursor/col: expected", hooks: inside("result", result("job/screen"), in("cursor", add("col", 1)))},
	{name: "returns an empty row of the screen", says: "/lines/", hooks: inside("result", result("job/screen").has("lines"), func(o map[string]any) {
		lines, _ := o["lines"].([]any)
		for i, l := range lines {
			if l != "" {
				lines[i] = ""
				break
			}
		}
	})},
	{name: "changes the revision of an unchanged screen", says: "/revision: expected", hooks: inside("result", result("job/screen").has("unchanged"), add("revision", 1))},
	{name: "reports the wrong place of an error in params", says: "/pointer: expected", hooks: inside("error", refusal("invalidParams"), in("data", func(o map[string]any) {
		each(o["errors"], func(e map[string]any) { e["pointer"] = "/elsewhere" })
	}))},
}

// fails turns an answer into an error.
func fails(kind, code string) func(map[string]any) {
	return func(v map[string]any) {
		delete(v, "result")
		v["error"] = map[string]any{"code": wire.Number(code), "message": "x", "data": map[string]any{"kind": kind}}
	}
}

func methodIs(methods ...string) which {
	return func(m *packet) bool { return m.askedFor != nil && answers(m, methods) }
}

func idIs(kind func(any) bool) which { return func(m *packet) bool { return kind(m.v["id"]) } }

func isNumber(v any) bool { _, ok := v.(wire.Number); return ok }

func isDigits(v any) bool {
	s, ok := v.(string)
	if !ok {
		return false
	}
	n, err := wire.Decode([]byte(s))
	return err == nil && isInteger(n)
}
