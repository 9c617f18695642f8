package rpc

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"shelld.dev/shelld/schema"
)

// TestReadSecret: an answer is read according to its schema, and no error contains a part of the answer.
func TestReadSecret(t *testing.T) {
	for _, c := range []struct {
		result, value string
		good          bool
	}{
		{`{"value":"hunter2"}`, "hunter2", true},
		{`{"value":""}`, "", true},
		{`{ "value" : "a\"b\\c\/d\u00e9\ud83d\ude00ß" , "_meta":{"a":1} }`, "a\"b\\c/dé😀ß", true},
		{`{"v\u0061lue":"a"}`, "a", true},
		{`{"declined":true}`, "", true},
		{`{"value":"hunter2","declined":true}`, "", false},
		{`{"value":"hunter2","declined":false}`, "", false},
		{`{"declined":false}`, "", false},
		{`{}`, "", false},
		{`{"value":"hunter2","Declined":true}`, "", false},
		{`{"VALUE":"hunter2"}`, "", false},
		{`{"value":["hunter2"]}`, "", false},
		{`{"value":null}`, "", false},
		{`{"value":"hunter2\n"}`, "", false},
		{`{"value":"hunter2\u0003"}`, "", false},
		{`{"value":"hunter2\u007f"}`, "", false},
		{`{"value":"hunter2\t"}`, "", false},
		{`"hunter2"`, "", false},
		{`null`, "", false},
	} {
		value, err := readSecret(raw(c.result))
		declined := strings.Contains(c.result, "declined")
		if string(value) != c.value || (err == nil) != c.good || err == nil && (value == nil) != declined {
			t.Errorf("%s: %q, %v", c.result, value, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error tells it: %v", c.result, err)
		}
		if why := schema.ValidateResult("client/secret", []byte(c.result)); (why == nil) != c.good {
			t.Errorf("%s: the schema says %v", c.result, why)
		}
	}
	if _, err := readSecret(raw(`{"value":"\ud800"}`)); err == nil { // the schema check does not notice it
		t.Error("a lone surrogate is taken")
	}
}

// TestAnswerIsWiped: the content of an answer is not in the reader's buffer afterwards, even if its question was over.
func TestAnswerIsWiped(t *testing.T) {
	s := &Server{log: slog.New(slog.DiscardHandler), out: &outbox{}}
	got := ""
	a := &ask{method: "client/secret", answered: func(_ *Server, result, _ json.RawMessage) { got = string(result) }}
	s.out.mu.Lock()
	s.out.askLocked(a)
	s.out.mu.Unlock()
	for _, want := range []string{`{"value":"hunter2"}`, ""} {
		frame := []byte(`{"jsonrpc":"2.0","id":"\u00731","result":{"value":"hunter2"}}`)
		env, bad := parseEnvelope(frame)
		if bad != nil {
			t.Fatal(bad)
		}
		got = ""
		s.takeAnswer(env)
		if got != want || strings.Contains(string(frame), "hunter2") {
			t.Errorf("passed on %q, want %q; left %q", got, want, frame)
		}
	}
}
