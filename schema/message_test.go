package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestValidateMessage(t *testing.T) {
	openRequest := func(id string) string {
		return map[string]string{`1`: "job/get", `"a"`: "shutdown", `1e3`: "job/kill"}[id]
	}
	const job = `{"handle":1,"status":"running","streams":{"pty":{"nextOffset":0}}}`
	for _, test := range []struct{ from, message, want string }{
		// Good ones: want is "".
		{"client", `{"jsonrpc":"2.0","id":7,"method":"job/get","params":{"handle":1}}`, ""},
		{"client", `{"jsonrpc":"2.0","id":"x","method":"shutdown"}`, ""},
		{"client", `{"jsonrpc":"2.0","id":-1.5,"method":"shutdown","params":null}`, ""},
		{"client", `{"jsonrpc":"2.0","id":7,"method":"shutdown","params":[]}`, ""},
		{"client", `{"jsonrpc":"2.0","method":"exit"}`, ""},
		{"client", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}`, ""},
		{"server", `{"jsonrpc":"2.0","id":"a","result":{}}`, ""},
		{"server", `{"jsonrpc":"2.0","id":1e3,"result":{"jobs":[]}}`, ""},
		{"server", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x","data":{"kind":"parseError"}}}`, ""},
		{"server", `{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"x","data":{"kind":"jobNotFound","jobs":[` + job + `]}}}`, ""},
		{"server", `{"jsonrpc":"2.0","method":"log/message","params":{"level":"info","text":"x"}}`, ""},
		{"server", `{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":1,"stream":"pty","offset":0,"bytes":1,"text":"x"}}`, ""},

		{"nobody", `{}`, `from client or server, not from "nobody"`},
		{"client", ``, "a message is a JSON object"},
		{"client", `{`, "a message is a JSON object"},
		{"client", `null`, "a message is a JSON object"},
		{"client", ` []`, "batches are not supported"},
		{"client", `{}`, `envelope of a successMessage: member "id" is missing`},
		{"client", `{"jsonrpc":"2","id":1,"method":"shutdown"}`, `envelope of a requestMessage: /jsonrpc: expected "2.0", got string`},
		{"client", `{"jsonrpc":"2.0","id":null,"method":"shutdown"}`, "envelope of a requestMessage: /id: expected string or number, got null"},
		{"client", `{"jsonrpc":"2.0","id":1,"method":5}`, "/method: expected string, got number"},
		{"client", `{"jsonrpc":"2.0","id":1,"method":"shutdown","params":[1]}`, "/params: expected at most 0 items, got 1 item"},
		{"client", `{"jsonrpc":"2.0","id":1,"method":"shutdown","params":"x"}`, "/params: expected object, array or null, got string"},
		{"client", `{"jsonrpc":"2.0","id":1,"method":"job/strat"}`, `/method: "job/strat" is not allowed here; did you mean "job/start"?`},
		{"client", `{"jsonrpc":"2.0","method":"job/get","params":{"handle":1}}`, "/method: job/get is a request, sent as a notification"},
		{"client", `{"jsonrpc":"2.0","id":1,"method":"exit"}`, "/method: exit is a notification, sent as a request"},
		{"server", `{"jsonrpc":"2.0","id":1,"method":"job/get","params":{"handle":1}}`, "/method: job/get must come from the client, was sent by the server"},
		{"client", `{"jsonrpc":"2.0","id":1,"method":"job/get","params":{"handel":1}}`, `/params: member "handle" is missing; /params/handel: unknown member "handel"; did you mean "handle"?`},
		{"server", `{"jsonrpc":"2.0","id":2,"result":{}}`, "/id: answers id 2, but no request with this id is open"},
		{"server", `{"jsonrpc":"2.0","id":1000,"result":{"jobs":[]}}`, "/id: answers id 1000, but no request with this id is open"},
		{"server", `{"jsonrpc":"2.0","id":1,"result":{"job":5}}`, "/result/job: expected object, got number"},
		{"server", `{"jsonrpc":"2.0","id":1,"result":5}`, "envelope of a successMessage: /result: expected object, got number"},
		{"server", `{"jsonrpc":"2.0","id":1,"result":{},"more":1}`, `/more: unknown member "more"`},
		{"server", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, `envelope of a errorMessage: /result: unknown member "result"`},
		{"server", `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"x","data":{"kind":"internalError"}}}`, "/id: answers id 2"},
		{"server", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}`, `/error: member "data" is missing`},
		{"server", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x","data":{"kind":"internalError"}}}`, "/error/code: the code of internalError is -32603, got -32602"},
		{"server", `{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":1,"stream":"pty","offset":0,"bytes":1}}`, "/params: needs exactly one of text and base64, has none"},
		{"server", `{"jsonrpc":"2.0","method":"job/output","params":{"handle":1,"seq":0,"stream":"tty","offset":0,"bytes":1,"text":"x"}}`, `/params/seq: expected at least 1, got 0; /params/stream: "tty" is not "pty", "stdout" or "stderr"; did you mean "pty"?`},
	} {
		err := ValidateMessage(test.from, []byte(test.message), openRequest)
		if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s %s:\ngot error %v\nwant      %s", test.from, test.message, err, test.want)
		}
	}
}

// TestEveryMessage checks that each method's fullest and barest params and results make valid messages.
func TestEveryMessage(t *testing.T) {
	for _, m := range Methods() {
		file := fileName(m.Name)
		for _, full := range []bool{true, false} {
			for _, params := range samples(file+"#/$defs/params", full) {
				message := map[string]any{"jsonrpc": "2.0", "method": m.Name, "params": params}
				if m.Kind == "request" {
					message["id"] = 1
				}
				for _, from := range []string{"client", "server"} {
					if m.From == from || m.From == "both" {
						checkMessage(t, from, message, m.Name)
					}
				}
			}
			if !m.HasResult {
				continue
			}
			for _, result := range samples(file+"#/$defs/result", full) {
				from := map[string]string{"client": "server", "server": "client"}[m.From]
				checkMessage(t, from, map[string]any{"jsonrpc": "2.0", "id": 1, "result": result}, m.Name)
			}
		}
	}
}

func checkMessage(t *testing.T, from string, message map[string]any, method string) {
	t.Helper()
	raw, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	if err := ValidateMessage(from, raw, func(string) string { return method }); err != nil {
		t.Errorf("%s: %v", raw, err)
	}
}
