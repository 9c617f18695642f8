package rpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEnvelope(t *testing.T) {
	cases := []struct {
		in   string
		want envelope
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"job/list"}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "job/list"}},
		{" \t\r\n{ \"jsonrpc\" : \"2.0\" ,\n\"id\" : 1 , \"method\" : \"m\" , \"params\" : { \"a\" : 1 } } ", envelope{Kind: kindRequest, ID: raw(`1`), Method: "m", Params: raw(`{ "a" : 1 }`)}},
		{`{"params":{"z":1,"a":[2,{}],"z":3},"method":"m","id":"x","jsonrpc":"2.0"}`, envelope{Kind: kindRequest, ID: raw(`"x"`), Method: "m", Params: raw(`{"z":1,"a":[2,{}],"z":3}`)}},
		{`{"jsonrpc":"2.0","method":"exit"}`, envelope{Kind: kindNotification, Method: "exit"}},
		{`{"jsonrpc":"2.0","method":""}`, envelope{Kind: kindNotification}},
		{`{"jsonrpc":"2.0","method":"m","extra":{"id":5},"_meta":null,"extra":0}`, envelope{Kind: kindNotification, Method: "m"}},
		{`{"jsonrpc":"2.0","id":1,"method":"m","result":1,"error":2}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m"}},

		// Ids are echoed as spelled.
		{`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, envelope{Kind: kindRequest, ID: raw(`1.0`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":1e3,"method":"m"}`, envelope{Kind: kindRequest, ID: raw(`1e3`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":-7,"method":"m"}`, envelope{Kind: kindRequest, ID: raw(`-7`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":-0,"method":"m"}`, envelope{Kind: kindRequest, ID: raw(`-0`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":18446744073709551616,"method":"m"}`, envelope{Kind: kindRequest, ID: raw(`18446744073709551616`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":1e999,"method":"m"}`, envelope{Kind: kindRequest, ID: raw(`1e999`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":"","method":"m"}`, envelope{Kind: kindRequest, ID: raw(`""`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":"\u0041\/\ud800","method":"m"}`, envelope{Kind: kindRequest, ID: raw(`"\u0041\/\ud800"`), Method: "m"}},

		// Escapes are decoded, in names and values.
		{`{"\u006asonrpc":"2\u002e0","\u0069d":1,"method":"job\/\u0072ead"}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "job/read"}},
		{`{"jsonrpc":"2.0","method":"é\u00e9"}`, envelope{Kind: kindNotification, Method: "éé"}},

		// Names are case-sensitive.
		{`{"jsonrpc":"2.0","method":"m","ID":1,"Params":[1]}`, envelope{Kind: kindNotification, Method: "m"}},

		// Objects and arrays, one after the other at the same depth.
		{`{"jsonrpc":"2.0","method":"m","params":{"a":{"b":1},"c":[1,2],"d":{"e":[3,4],"f":5}}}`, envelope{Kind: kindNotification, Method: "m", Params: raw(`{"a":{"b":1},"c":[1,2],"d":{"e":[3,4],"f":5}}`)}},

		// No params.
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[ ` + "\n" + ` ]}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m", Params: raw(`{}`)}},

		// Params that no method accepts.
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[ null ]}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m"}},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[null,null]}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m", Params: raw(`[null,null]`), PositionalParams: true}},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[[]]}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m", Params: raw(`[[]]`), PositionalParams: true}},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":5}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m", Params: raw(`5`), PositionalParams: true}},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":"null"}`, envelope{Kind: kindRequest, ID: raw(`1`), Method: "m", Params: raw(`"null"`), PositionalParams: true}},
		{`{"jsonrpc":"2.0","method":"m","params":false}`, envelope{Kind: kindNotification, Method: "m", Params: raw(`false`), PositionalParams: true}},

		// Responses.
		{`{"jsonrpc":"2.0","id":1,"result":{"a":[]}}`, envelope{Kind: kindResponse, ID: raw(`1`), Result: raw(`{"a":[]}`)}},
		{`{"jsonrpc":"2.0","id":"1","result":null}`, envelope{Kind: kindResponse, ID: raw(`"1"`), Result: raw(`null`)}},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, envelope{Kind: kindResponse, ID: raw(`1`), Error: raw(`{"code":1}`)}},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`, envelope{Kind: kindResponse, ID: raw(`null`), Error: raw(`{"code":1}`)}},
	}
	for _, c := range cases {
		got, bad := parseEnvelope([]byte(c.in))
		if bad != nil {
			t.Errorf("%s: refused: %d %s", c.in, bad.Code, bad.Message)
			continue
		}
		if !sameEnvelope(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.in, got, c.want)
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// sameRaw distinguishes nil from empty, as the fields of an envelope do.
func sameRaw(a, b json.RawMessage) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func sameEnvelope(a, b envelope) bool {
	return a.Kind == b.Kind && a.Method == b.Method && a.PositionalParams == b.PositionalParams &&
		sameRaw(a.ID, b.ID) && sameRaw(a.Params, b.Params) && sameRaw(a.Result, b.Result) && sameRaw(a.Error, b.Error)
}

// nested returns n nested arrays.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestEnvelopeRefuses(t *testing.T) {
	const request = `{"jsonrpc":"2.0","id":1,"method":"m","params":`
	cases := []struct {
		in      string
		code    int
		id      string // empty for null
		message string // a part of it
	}{
		// Not JSON.
		{``, -32700, ``, "ends too early"},
		{" \n", -32700, ``, "ends too early"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"`, -32700, ``, "ends too early"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"}}`, -32700, ``, "unexpected data after the value at byte 37"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"}{"jsonrpc":"2.0","id":2,"method":"m"}`, -32700, ``, "unexpected data after the value"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"} x`, -32700, ``, "at byte 38"},
		{`{"jsonrpc":"2.0","id":1,"method":"m",}`, -32700, ``, "expected a member name at byte 37"},
		{`{"jsonrpc" "2.0"}`, -32700, ``, "expected a colon"},
		{`{"jsonrpc":"2.0" "id":1}`, -32700, ``, "expected a comma"},
		{request + `{"a":1 "b":2}}`, -32700, ``, "expected a comma or the end of the object"},
		{request + `[1 2]}`, -32700, ``, "expected a comma or the end of the array"},
		{request + `[1}}`, -32700, ``, "expected a comma or the end of the array"},
		{request + `{"a":1]}`, -32700, ``, "expected a comma or the end of the object"},
		{request + `[1,]}`, -32700, ``, "expected a value"},
		{request + `{a:1}}`, -32700, ``, "expected a member name"},
		{request + `nul}`, -32700, ``, "expected a value"},
		{request + `NaN}`, -32700, ``, "expected a value"},
		{request + `01}`, -32700, ``, "expected a comma"},
		{request + `-}`, -32700, ``, "expected a digit"},
		{request + `1.}`, -32700, ``, "expected a digit"},
		{request + `1e+}`, -32700, ``, "expected a digit"},
		{request + `"a` + "\n" + `"}`, -32700, ``, "control character"},
		{request + `"\x"}`, -32700, ``, "invalid escape"},
		{request + `"\u12g4"}`, -32700, ``, "hexadecimal"},
		{request + `"\`, -32700, ``, "ends too early"},
		{request + `"\u12`, -32700, ``, "ends too early"},
		{request + "\"a\xff\"}", -32700, ``, "invalid UTF-8 at byte 48"},
		{request + "\"\xed\xa0\x80\"}", -32700, ``, "invalid UTF-8"},
		{request + "\"\xc0\xaf\"}", -32700, ``, "invalid UTF-8"},
		{request + "\"\xe2\x82\"}", -32700, ``, "invalid UTF-8"},
		{"{\"a\xff\":1}", -32700, ``, "invalid UTF-8"},
		{byteOrderMark + `{}`, -32700, ``, "expected a value at byte 0"},
		{"\x00{}", -32700, ``, "expected a value at byte 0"},
		{"{}\x00", -32700, ``, "unexpected data after"},
		{`[` + request + `{}}`, -32700, ``, "ends too early"},
		{strings.Repeat("[", 100_000), -32700, ``, "ends too early"},
		{strings.Repeat(`[{"":`, 50_000), -32700, ``, "ends too early"},
		{request + nested(100_000) + `]`, -32700, ``, "expected a comma"},
		{request + strings.Repeat(`[{"a":`, 1000) + strings.Repeat(`}]`, 1000) + `}`, -32700, ``, "expected a value"},
		{request + strings.Repeat(`[{"a":`, 1000) + "1" + strings.Repeat(`]}`, 1000) + `}`, -32700, ``, "expected a comma or the end of the object"},

		// Not an object.
		{`[]`, -32600, ``, "batches are not supported"},
		{`[` + request + `{}}]`, -32600, ``, "batches are not supported"},
		{nested(5000), -32600, ``, "batches are not supported"},
		{`1`, -32600, ``, "a message is a JSON object"},
		{`"jsonrpc"`, -32600, ``, "a message is a JSON object"},
		{`null`, -32600, ``, "a message is a JSON object"},

		// Too deep.
		{request + nested(maxNesting) + `}`, -32600, `1`, "nested deeper than 200 levels"},
		{request + nested(100_000) + `}`, -32600, `1`, "nested deeper"},
		{request + strings.Repeat(`[{"a":`, 1000) + "1" + strings.Repeat(`}]`, 1000) + `}`, -32600, `1`, "nested deeper"},
		{`{"deep":` + nested(maxNesting) + `,"jsonrpc":"2.0","method":"m","id":"late"}`, -32600, `"late"`, "nested deeper"},
		{`{"jsonrpc":"2.0","id":1,"result":` + nested(maxNesting) + `}`, -32600, ``, "nested deeper"},

		// A wrong envelope.
		{`{}`, -32600, ``, `"jsonrpc"`},
		{`{"id":1,"method":"m"}`, -32600, `1`, `"jsonrpc"`},
		{`{"jsonrpc":"1.0","id":1,"method":"m"}`, -32600, `1`, `"jsonrpc"`},
		{`{"jsonrpc":2.0,"id":1,"method":"m"}`, -32600, `1`, `"jsonrpc"`},
		{`{"jsonrpc":2,"method":"m"}`, -32600, ``, `"jsonrpc"`},
		{`{"jsonrpc":"2.00","id":"a","method":"m"}`, -32600, `"a"`, `"jsonrpc"`},
		{`{"JSONRPC":"2.0","id":1,"method":"m"}`, -32600, `1`, `"jsonrpc"`},
		{`{"jsonrpc":"2.0","id":1}`, -32600, `1`, `"method"`},
		{`{"jsonrpc":"2.0"}`, -32600, ``, `"method"`},
		{`{"jsonrpc":"2.0","id":1,"Method":"m"}`, -32600, `1`, `"method"`},
		{`{"jsonrpc":"2.0","id":1,"method":1}`, -32600, `1`, "must be a string"},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, -32600, `1`, "must be a string"},
		{`{"jsonrpc":"2.0","id":1,"method":null,"result":1}`, -32600, `1`, "must be a string"},
		{`{"jsonrpc":"2.0","method":["m"]}`, -32600, ``, "must be a string"},
		{`{"jsonrpc":"2.0","id":null,"method":"m"}`, -32600, ``, "a string or a number"},
		{`{"jsonrpc":"2.0","id":true,"method":"m"}`, -32600, ``, "a string or a number"},
		{`{"jsonrpc":"2.0","id":{},"method":"m"}`, -32600, ``, "a string or a number"},
		{`{"jsonrpc":"2.0","id":[1],"method":"m"}`, -32600, ``, "a string or a number"},
		{`{"jsonrpc":"2.0","id":null}`, -32600, ``, "a string or a number"},

		// The same member twice.
		{`{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"m"}`, -32600, `1`, `"jsonrpc" appears twice`},
		{`{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}`, -32600, ``, `"id" appears twice`},
		{`{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"}`, -32600, ``, `"id" appears twice`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}`, -32600, `1`, `"method" appears twice`},
		{request + `{},"params":{}}`, -32600, `1`, `"params" appears twice`},
		{`{"jsonrpc":"2.0","id":1,"result":1,"result":2}`, -32600, ``, `"result" appears twice`},
		{`{"jsonrpc":"2.0","id":1,"error":{},"error":{}}`, -32600, ``, `"error" appears twice`},

		// Wrong responses: their ids are ours, so they are not echoed.
		{`{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, -32600, ``, "not both"},
		{`{"jsonrpc":"2.0","id":1,"result":1,"error":null}`, -32600, ``, "not both"},
		{`{"id":1,"result":1}`, -32600, ``, `"jsonrpc"`},
		{`{"jsonrpc":"2.0","result":1}`, -32600, ``, "the id of a response"},
		{`{"jsonrpc":"2.0","error":{}}`, -32600, ``, "the id of a response"},
		{`{"jsonrpc":"2.0","id":null,"result":1}`, -32600, ``, "the id of a response"},
		{`{"jsonrpc":"2.0","id":[],"error":{}}`, -32600, ``, "the id of a response"},
	}
	for _, c := range cases {
		got, bad := parseEnvelope([]byte(c.in))
		if bad == nil {
			t.Errorf("%.150s: taken as %+v", c.in, got)
			continue
		}
		if bad.Code != c.code || string(bad.ID) != c.id || !strings.Contains(bad.Message, c.message) || bad.Error() != bad.Message {
			t.Errorf("%.150s:\n got %d id %q %q\nwant %d id %q ...%s", c.in, bad.Code, bad.ID, bad.Message, c.code, c.id, c.message)
		}
	}
}

// TestNestingLimit checks the deepest message that is accepted, and all kinds of nesting beyond the first words of
// bits.
func TestNestingLimit(t *testing.T) {
	deep := nested(maxNesting - 1)
	e, bad := parseEnvelope([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":` + deep + `}`))
	if bad != nil || string(e.Params) != deep {
		t.Errorf("%d levels: %v, %.80s", maxNesting, bad, e.Params)
	}
	mixed := strings.Repeat(`{"a":[[`, 60) + strings.Repeat(`]]}`, 60)
	if e, bad = parseEnvelope([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":` + mixed + `}`)); bad != nil || string(e.Params) != mixed {
		t.Errorf("mixed: %v, %.80s", bad, e.Params)
	}
}

func TestEnvelopeKindString(t *testing.T) {
	want := map[envelopeKind]string{0: "envelopeKind(0)", kindRequest: "request", kindNotification: "notification", kindResponse: "response"}
	for k, name := range want {
		if got := k.String(); got != name {
			t.Errorf("kind %d is %q, want %q", int(k), got, name)
		}
	}
}

// TestEveryTruncation: no part of a message is a message, and none makes the scanner read past its end.
func TestEveryTruncation(t *testing.T) {
	const whole = `{"jsonrpc":"2.0","id":-1.5e+3,"method":"m\u00e9","params":{"a":[true,false,null,"é\n",{}],"b":0.1}}`
	if _, bad := parseEnvelope([]byte(whole)); bad != nil {
		t.Fatal(bad)
	}
	for i := range len(whole) {
		part := bytes.Clone([]byte(whole[:i])) // Its own array, so that reading past the end is detected.
		if _, bad := parseEnvelope(part[:i:i]); bad == nil || bad.Code != codeParseError {
			t.Errorf("%s: %v, want a parse error", part, bad)
		}
	}
}

const smallRequest = `{"jsonrpc":"2.0","id":1234,"method":"job/write","params":{"handle":12,"input":"echo hello","appendNewline":true}}`

func TestEnvelopeAllocations(t *testing.T) {
	frame := []byte(smallRequest)
	allocs := testing.AllocsPerRun(100, func() {
		if _, bad := parseEnvelope(frame); bad != nil {
			t.Fatal(bad)
		}
	})
	if allocs > 1 { // The method's name.
		t.Errorf("%v allocations for a small request, want 1", allocs)
	}
}

// FuzzEnvelope compares the parser with encoding/json: both agree on which texts are valid JSON, except for UTF-8,
// which encoding/json does not check, and its own depth limit.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(smallRequest))
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1}}`, `{"jsonrpc":"2.0","id":"a\u0000","result":[1.5e-7,{"a":null}]}`,
		`{"jsonrpc":"2.0","method":"m","params":[ ]}`, `[{"jsonrpc":"2.0"}]`, `{"\u0069d":1,"id":2}`, "\"\xc3\x28\"", nested(210), `-0.0E-0`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Count(in, []byte("["))+bytes.Count(in, []byte("{")) > 9000 {
			t.Skip("may be beyond the depth that encoding/json takes")
		}
		e, bad := parseEnvelope(bytes.Clone(in))
		isJSON := json.Valid(in) && utf8.Valid(in)
		if isJSON != (bad == nil || bad.Code != codeParseError) {
			t.Fatalf("%q: valid is %v, answer %v", in, isJSON, bad)
		}
		if bad != nil {
			if bad.Code != codeParseError && bad.Code != codeInvalidRequest || bad.Message == "" {
				t.Errorf("%q: answer %+v", in, bad)
			}
			return
		}
		checkAgainstDecoder(t, in, e)
	})
}

// checkAgainstDecoder compares an envelope with the members that encoding/json finds in a map, which is case-sensitive.
func checkAgainstDecoder(t *testing.T, in []byte, e envelope) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(in, &m); err != nil {
		t.Fatalf("%q: taken, but %v", in, err)
	}
	if !sameRaw(e.ID, m["id"]) {
		t.Errorf("%q: id %q, want %q", in, e.ID, m["id"])
	}
	if e.Kind == kindResponse {
		if !sameRaw(e.Result, m["result"]) || !sameRaw(e.Error, m["error"]) {
			t.Errorf("%q: response %+v", in, e)
		}
		return
	}
	var method string
	if err := json.Unmarshal(m["method"], &method); err != nil || method != e.Method {
		t.Errorf("%q: method %q, want %q (%v)", in, e.Method, method, err)
	}
	params := m["params"]
	var list []json.RawMessage
	isList := json.Unmarshal(params, &list) == nil // null as well
	switch {
	case params == nil, isList && len(list) == 0:
		params = nil
	case params[0] != '{' && !e.PositionalParams:
		t.Errorf("%q: params %q pass for named ones", in, params)
	}
	if !sameRaw(e.Params, params) {
		t.Errorf("%q: params %q, want %q", in, e.Params, params)
	}
}

func BenchmarkParseEnvelope(b *testing.B) {
	text, err := json.Marshal(strings.Repeat("some text\nof \"many\" lines, é\n", 1<<20/30))
	if err != nil {
		b.Fatal(err)
	}
	frames := map[string][]byte{
		"small":           []byte(smallRequest),
		"1MiB of text":    []byte(`{"jsonrpc":"2.0","id":1,"method":"job/write","params":{"input":` + string(text) + `}}`),
		"1MiB of numbers": []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[0` + strings.Repeat(",12345.5", 1<<20/8) + `]}}`),
	}
	for name, frame := range frames {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, bad := parseEnvelope(frame); bad != nil {
					b.Fatal(bad)
				}
			}
		})
	}
}
