package rpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// ids are spelled in every way that JSON allows.
var ids = []string{`1`, `"a"`, `-7`, `1.5`, `1e3`, `18446744073709551616`, `"\u0061b"`, `0`, `-0`, `1.0`, `""`, `"\ud83d\ude00 \" / \/"`, `"1"`}

func TestFramings(t *testing.T) {
	for _, f := range []rpc.Framing{rpc.FramingHeader, rpc.FramingLine} {
		t.Run(f.String(), func(t *testing.T) {
			s := open(t, func(set *settings) { set.framing = f })
			s.initialize()
			for _, id := range ids {
				// The answer's id is compared byte by byte: it is looked up by its spelling.
				h := result[schema.JobStartResult](s.beginID(id, "job/start", obj{"argv": []string{"true"}, "mode": "pipe"})).Job.Handle
				equal(t, "requestId", string(s.event(h, "job/started").RequestID), id)
				a := s.beginBadID(id, "no/such", nil).answer()
				a.Error.is(t, schema.KindMethodNotFound)
			}
		})
	}
}

func (s *session) beginBadID(id, method string, params any) *call {
	c, body := s.request(id, method, params)
	s.sendBad(body)
	return c
}

func TestHeaderFreedoms(t *testing.T) {
	s := open(t)
	body := `{"jsonrpc":"2.0","id":"x","method":"initialize"}`
	s.track(body)
	s.sendBytes(fmt.Sprintf("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:%d\r\nX-Other: 1\r\n\r\n%s", len(body), body))
	result[schema.InitializeResult](&call{s, `"x"`, "initialize", 0})
	s.setUp = true
}

func TestLineFreedoms(t *testing.T) {
	s := open(t, lineFraming)
	body := `{"jsonrpc":"2.0","id":"x","method":"initialize"}`
	s.track(body)
	s.sendBytes("\ufeff\r\n\n  " + body + "  \r\n\r\n")
	result[schema.InitializeResult](&call{s, `"x"`, "initialize", 0})
	s.setUp = true
}

// track passes a message that the test frames itself to the checker.
func (s *session) track(body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.check.sent([]byte(body), false)
}

func TestIDInFlight(t *testing.T) {
	s := start(t)
	h := s.pipe("sleep 60")
	wait := s.beginID(`"a"`, "job/wait", obj{"handle": h, "until": []obj{}, "timeoutMs": nil})
	refused[none](s.beginBadID(`"a"`, "job/list", nil), schema.KindInvalidRequest)
	refused[none](s.beginBadID(`"\u0061"`, "job/list", nil), schema.KindInvalidRequest)
	number := s.beginID("3.5", "job/wait", obj{"handle": h, "until": []obj{}, "timeoutMs": nil})
	result[schema.JobListResult](s.beginID(`"3.5"`, "job/list", nil))
	s.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"\u0061"}}`)
	wait.taken++ // the refusal of its duplicate came first
	refused[schema.CanceledData](wait, schema.KindCanceled)
	result[schema.JobListResult](s.beginID(`"a"`, "job/list", nil))
	number.withdraw()
	refused[schema.CanceledData](number, schema.KindCanceled)
}

// TestMalformed: each of these is answered with id null, or that of the message, and the next request is answered
// normally.
func TestMalformed(t *testing.T) {
	cases := []struct {
		name, body string
		kind       schema.Kind
		id         string
	}{
		{"no JSON", `{"jsonrpc":"2.0","id":1,`, schema.KindParseError, "null"},
		{"no JSON at all", `hello`, schema.KindParseError, "null"},
		{"no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", schema.KindParseError, "null"},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"job/list"}`, schema.KindInvalidRequest, "null"},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"job/list"}`, schema.KindInvalidRequest, "null"},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"job/list"},{"jsonrpc":"2.0","id":2,"method":"job/list"}]`, schema.KindInvalidRequest, "null"},
		{"empty batch", `[]`, schema.KindInvalidRequest, "null"},
		{"scalar", `5`, schema.KindInvalidRequest, "null"},
		{"no version", `{"id":"m1","method":"job/list"}`, schema.KindInvalidRequest, `"m1"`},
		{"wrong version", `{"jsonrpc":"1.0","id":"m2","method":"job/list"}`, schema.KindInvalidRequest, `"m2"`},
		{"no method", `{"jsonrpc":"2.0","id":"m3"}`, schema.KindInvalidRequest, `"m3"`},
		{"deep", `{"jsonrpc":"2.0","id":"m4","method":"job/list","params":{"_meta":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) + "}}", schema.KindInvalidRequest, `"m4"`},
	}
	for _, f := range []rpc.Framing{rpc.FramingHeader, rpc.FramingLine} {
		s := open(t, func(set *settings) { set.framing = f })
		s.initialize()
		for i, c := range cases {
			s.mu.Lock()
			s.check.open[c.id] = append(s.check.open[c.id], &request{method: "(malformed)"})
			s.mu.Unlock()
			s.sendBytes(framed(f, c.body))
			do[schema.JobListResult](s, "job/list", nil)
			s.checkMalformed(c.name, c.id, c.kind, i)
		}
		delete(s.check.open, "null")
	}
}

// checkMalformed checks the answer, which is there already: answers that need no job keep the order of their requests.
func (s *session) checkMalformed(name, id string, kind schema.Kind, i int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.answers[id]
	if id == "null" {
		all = s.orphans
	}
	if len(all) == 0 || all[len(all)-1].Error == nil || id == "null" && len(all) != i+1 {
		s.t.Fatalf("%s: answers with id %s: %+v", name, id, all)
	}
	all[len(all)-1].Error.is(s.t, kind)
}

func TestLineTooLong(t *testing.T) {
	s := open(t, lineFraming)
	s.initialize("options", obj{"limits": obj{"maxMessageBytes": 1 << 20}})
	s.sendBytes(`{"jsonrpc":"2.0","id":1,"method":"job/list","params":{"_meta":{"a":"` + strings.Repeat("x", 2<<20) + "\"}}}\n")
	s.wait("answer with id null", func() bool { return len(s.orphans) == 1 })
	s.orphans[0].Error.is(t, schema.KindInvalidRequest)
	do[schema.JobListResult](s, "job/list", nil)
}

func TestMessageTooLong(t *testing.T) {
	s := start(t, "options", obj{"limits": obj{"maxMessageBytes": 1 << 20}})
	s.sendBytes("Content-Length: 1048577\r\n\r\n")
	clean, _ := s.end()
	equal(t, "clean", clean, false)
	if len(s.orphans) != 1 {
		t.Fatalf("answers with id null: %+v", s.orphans)
	}
	s.orphans[0].Error.is(t, schema.KindInvalidRequest)
}

func TestParamsShapes(t *testing.T) {
	s := start(t)
	for _, none := range []string{"null", "[]", "[ ]", "{}"} {
		result[schema.JobListResult](s.beginBad("job/list", json.RawMessage(none)))
	}
	for _, bad := range []string{"[1]", "[null,null]", `[{"live":true}]`, "5", `"x"`, "true"} {
		d := refused[schema.InvalidParamsData](s.beginBad("job/list", json.RawMessage(bad)), schema.KindInvalidParams)
		if len(d.Errors) == 0 {
			t.Errorf("params %s: no errors are told", bad)
		}
		// The method is checked before the params.
		refused[none](s.beginBad("no/such", json.RawMessage(bad)), schema.KindMethodNotFound)
	}
}

func TestUnknown(t *testing.T) {
	s := start(t)
	d := refused[schema.MethodNotFoundData](s.beginBad("job/strat", obj{}), schema.KindMethodNotFound)
	equal(t, "method", d.Method, "job/strat")
	equal(t, "didYouMean", str(d.DidYouMean), "job/start")
	d = refused[schema.MethodNotFoundData](s.beginBad("quite/different", obj{}), schema.KindMethodNotFound)
	equal(t, "didYouMean", str(d.DidYouMean), "(absent)")
	for _, meant := range []struct{ method, words string }{
		{"job/kill", "job/stop job/end job/close job/terminate stop end close terminate kill Job/Stop"},
		{"job/write", "job/send job/input job/type send input type write"},
		{"job/run", "run exec job/execute"},
		{"job/start", "job/spawn start"},
		{"job/read", "job/output read"},
		{"job/list", "jobs/list list ps"},
		{"job/get", "job/status"},
	} {
		for word := range strings.FieldsSeq(meant.words) {
			d := refused[schema.MethodNotFoundData](s.beginBad(word, obj{}), schema.KindMethodNotFound)
			equal(t, word, str(d.DidYouMean), meant.method)
		}
	}
	// A notification's method as a request, and the other way round.
	for _, name := range []string{"exit", "initialized", "job/ack", "$/cancelRequest"} {
		a := s.beginBad(name, obj{}).answer()
		if a.Error == nil {
			t.Fatalf("%s as a request: %s", name, a.Result)
		}
		a.Error.is(t, schema.KindMethodNotFound)
		equal(t, "message", a.Error.Message, name+" is a notification: send it without an id")
		if strings.Contains(string(a.Error.Data), "didYouMean") {
			t.Errorf("%s as a request: %s", name, a.Error.Data)
		}
	}
	s.sendBad(`{"jsonrpc":"2.0","method":"shutdown"}`)
	s.sendBad(`{"jsonrpc":"2.0","method":"job/strat","params":[1]}`)
	s.sendBad(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{}}`)
	// Answers to requests that the server never sent.
	s.sendBad(`{"jsonrpc":"2.0","id":77,"result":{}}`)
	s.sendBad(`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"no"}}`)
	s.sendBad(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no"}}`)
	// Invalid cancellations.
	s.sendBad(`{"jsonrpc":"2.0","method":"$/cancelRequest"}`)
	s.sendBad(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":true}}`)
	s.sendBad(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":[1]}`)
	do[schema.JobListResult](s, "job/list", nil)
	if len(s.orphans) > 0 || len(s.events) > 0 {
		t.Errorf("unasked: %+v %+v", s.orphans, s.events)
	}
}
