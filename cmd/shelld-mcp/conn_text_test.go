package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInvalidUTF8 sends messages that are not UTF-8, and escapes that encode no character: each is refused, with an answer
// that is valid JSON, and nothing in them is run.
func TestInvalidUTF8(t *testing.T) {
	w := startWire(t, "-confirm", "none")
	w.initialize()
	run := func(id, command string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"execute_bash_command","arguments":{"command":"` + command + `"}}}`
	}
	for _, test := range []struct {
		line, id string
		code     int
	}{
		{run("1", "touch a\xffb"), "1", -32700},
		{run(`"one"`, "touch a\xed\xa0\x80b"), `"one"`, -32700},
		{run("\"a\xffb\"", "touch c"), "null", -32700},
		{run("2", `touch a\ud800b`), "2", -32602},
		{run("3", `touch a\udc00\ud800b`), "3", -32602},
		{run("4", `touch a\ud83d\\u`), "4", -32602},
		{run(`"\udfff"`, "touch c"), `"\udfff"`, -32602},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":5}", "null", -32700},
	} {
		w.send(test.line)
		a := w.receive()
		if a.Error == nil || a.Error.Code != test.code || string(a.ID) != test.id || a.Error.Message == "" {
			t.Errorf("%q: %s %+v", test.line, a.ID, a.Error)
		}
	}
	for i, text := range []string{"\U0001f600", `\ud83d\ude00`, `\\\\ud800`} {
		w.send(run(fmt.Sprint(10+i), "echo "+text))
		if a := w.receive(); a.Error != nil {
			t.Errorf("%s: %+v", text, a.Error)
		}
	}
	if made, err := os.ReadDir(w.front.cfg.root); err != nil || len(made) > 0 {
		t.Errorf("%v was made, %v", made, err)
	}
	_ = w.in.Close()
	w.ended()
}

// TestAnswerIDs answers a question of the server with IDs that are almost right: they are ignored. An answer with
// invalid text counts as an answer, and allows nothing.
func TestAnswerIDs(t *testing.T) {
	for _, test := range []struct{ content, want string }{
		{`{"decision":"deny"}`, "did not allow this"},
		{"{\"decision\":\"once\xff\"}", "the host failed to ask one"},
	} {
		w := startWire(t)
		w.initializeWith(`{"elicitation":{}}`)
		w.send(callLine(7, "execute_bash_command", `{"command":"touch there"}`))
		question := w.receive()
		if question.Method != "elicitation/create" {
			t.Fatalf("%+v", question)
		}
		id := string(question.ID)
		for _, near := range []string{id + ".5", id + ".25e0"} {
			w.send(`{"jsonrpc":"2.0","id":` + near + `,"result":{"action":"accept","content":{"decision":"once"}}}`)
		}
		w.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":` + test.content + `}}`)
		a := w.receive()
		if string(a.ID) != "7" || !strings.Contains(string(a.Result), test.want) {
			t.Errorf("%s %+v %s", a.ID, a.Error, a.Result)
		}
		if _, err := os.Stat(filepath.Join(w.front.cfg.root, "there")); err == nil {
			t.Error("it was run all the same")
		}
		_ = w.in.Close()
		w.ended()
	}
}
