package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"shelld.dev/shelld/schema"
)

// A wire is a server in this process, as seen by a host that writes bytes.
type wire struct {
	t     *testing.T
	front *front
	in    *io.PipeWriter
	out   *bufio.Reader
	outR  *io.PipeReader
	over  chan error
	stop  context.CancelFunc // as SIGTERM does
}

// startWire starts a server; it ends with the test.
func startWire(t *testing.T, flags ...string) *wire {
	t.Helper()
	needJobs(t)
	cfg, err := parseFlags(slices.Concat([]string{"-root", t.TempDir()}, seedFlags, flags), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFront(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	w := &wire{t: t, front: f, in: in, out: bufio.NewReader(out), outR: out, over: make(chan error, 1), stop: stop}
	go func() {
		err := f.serve(ctx, newConn(theirIn, theirOut, f.engine.end, f.log))
		_, _ = theirOut.Close(), theirIn.Close()
		w.over <- err
	}()
	t.Cleanup(func() {
		stop()
		_, _ = in.Close(), out.Close()
		<-f.engine.server.Over()
	})
	return w
}

func (w *wire) send(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

// An answered is the answer to a request, as sent over the connection.
type answered struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

func (w *wire) receive() answered {
	w.t.Helper()
	line, err := w.out.ReadString('\n')
	if err != nil || !utf8.ValidString(line) {
		w.t.Fatalf("%q, %v", line, err)
	}
	var a answered
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		w.t.Fatalf("%q: %v", line, err)
	}
	return a
}

func (w *wire) initialize() {
	w.t.Helper()
	w.initializeWith(`{}`)
}

// initializeWith initializes as a host with capabilities.
func (w *wire) initializeWith(capabilities string) {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` + capabilities + `,"clientInfo":{"name":"t","version":"1"}}}`)
	if a := w.receive(); a.Error != nil {
		w.t.Fatalf("%+v", a)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// ended waits for the end of the server and of its jobs.
func (w *wire) ended() {
	w.t.Helper()
	select {
	case err := <-w.over:
		if err != nil {
			w.t.Errorf("it ended with %v", err)
		}
	case <-time.After(watchdog):
		w.t.Fatal("it does not end")
	}
	if err := w.front.engine.end(); err != nil {
		w.t.Errorf("left behind: %v", err)
	}
}

func callLine(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

// TestMalformed sends invalid messages, and checks that the messages after them are handled.
func TestMalformed(t *testing.T) {
	w := startWire(t)
	w.initialize()
	for _, test := range []struct {
		line, id string
		code     int
	}{
		{`{"jsonrpc":"2.0","id":1,`, "null", -32700},
		{`hello`, "null", -32700},
		{"\x00\xff\xfe", "null", -32700},
		{`{"jsonrpc":"2.0","id":1} {"jsonrpc":"2.0","id":2}`, "null", -32700},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", -32600},
		{`[]`, "null", -32600},
		{`null`, "null", -32600},
		{`5`, "null", -32600},
		{`{}`, "null", -32600},
		{`{"id":7,"method":"ping"}`, "7", -32600},
		{`{"jsonrpc":"1.0","id":"seven","method":"ping"}`, `"seven"`, -32600},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":8,"method":5}`, "8", -32600},
		{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "null", -32700},
		{`{"jsonrpc":"2.0","id":9,"method":"` + strings.Repeat("x", maxLine) + `"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":10,"method":"no/such"}`, "10", -32601},
	} {
		w.send(test.line)
		a := w.receive()
		if a.Error == nil || a.Error.Code != test.code || string(a.ID) != test.id || a.Error.Message == "" {
			t.Errorf("%.60q: %s %+v", test.line, a.ID, a.Error)
		}
		w.send("")
		w.send(`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
		if a := w.receive(); a.Error != nil || string(a.ID) != `"after"` {
			t.Errorf("after %.60q: %s %+v", test.line, a.ID, a.Error)
		}
	}
	// Messages that need no answer get none.
	w.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`)
	w.send(`{"jsonrpc":"2.0","id":{},"result":{}}`)
	w.send(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`)
	w.send(`{"jsonrpc":"2.0","method":"no/such"}`)
	w.send(`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
	if a := w.receive(); a.Error != nil || string(a.ID) != `"after"` {
		t.Errorf("%s %+v", a.ID, a.Error)
	}
	_ = w.in.Close()
	w.ended()
}

// TestUnreadRefusals sends invalid messages and reads no answers: the server still notices the end of stdin.
func TestUnreadRefusals(t *testing.T) {
	t.Parallel()
	w := startWire(t)
	w.initialize()
	for range maxRefusals / 2 {
		w.send("hello")
	}
	_ = w.in.Close()
	w.ended()
}

// TestLastLineWithoutLineEnd sends a message without a line end, followed by the end of input.
func TestLastLineWithoutLineEnd(t *testing.T) {
	w := startWire(t)
	w.initialize()
	go func() {
		_, _ = io.WriteString(w.in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		_ = w.in.Close()
	}()
	if a := w.receive(); string(a.ID) != "1" || a.Error != nil {
		t.Errorf("%+v", a)
	}
	w.ended()
}

// TestIDsInFlight uses one ID for two requests.
func TestIDsInFlight(t *testing.T) {
	w := startWire(t)
	w.initialize()
	w.send(callLine(1, "run_shell_command", `{"command":"cat","ai_callback_delay":3600}`))
	w.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if a := w.receive(); string(a.ID) != "null" || a.Error == nil || a.Error.Code != -32600 {
		t.Errorf("%s %+v", a.ID, a.Error)
	}
	_ = w.in.Close()
	for {
		if a := w.receive(); string(a.ID) == "1" { // It is answered, as all requests in flight are at the end.
			break
		}
	}
	w.ended()
}

// TestExactIDs sends requests whose IDs would be changed in an answer: each is refused with its exact ID, and none is
// taken for another request.
func TestExactIDs(t *testing.T) {
	w := startWire(t)
	w.initialize()
	for _, id := range []string{"9007199254740992", "9007199254740993", "-9007199254740993", "18446744073709551617", "1.5", "1e300", "1e-5"} {
		w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		if a := w.receive(); string(a.ID) != id || a.Error == nil || a.Error.Code != -32600 || !strings.Contains(a.Error.Message, "must be a whole number") {
			t.Errorf("%s: %s %+v", id, a.ID, a.Error)
		}
	}
	// No other request is cancelled, either.
	w.send(callLine(1, "run_shell_command", `{"command":"read x","ai_callback_delay":3600}`))
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`)
	asking := schema.JobWaitParams{Handle: handleID(1), Until: []schema.Condition{onInput}, TimeoutMs: schema.NullOf[int64]()}
	for { // This repeats until the server knows the job.
		if err := w.front.ask(t.Context(), "job/wait", asking, nil); err == nil {
			break
		}
		w.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		w.receive()
	}
	if err := w.front.ask(t.Context(), "job/write", schema.JobWriteParams{Handle: handleID(1), AppendNewline: new(true)}, nil); err != nil {
		t.Error(err)
	}
	if a := w.receive(); string(a.ID) != "1" || a.Error != nil {
		t.Errorf("%s %+v", a.ID, a.Error)
	}
	for _, id := range []string{"9007199254740991", "-9007199254740991", "0", `"9007199254740993"`, `""`, `"1.5"`} {
		w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		if a := w.receive(); string(a.ID) != id || a.Error != nil {
			t.Errorf("%s: %s %+v", id, a.ID, a.Error)
		}
	}
	_ = w.in.Close()
	w.ended()
}

// TestFlood sends more requests than can be in flight, and reads no answer until all are sent.
func TestFlood(t *testing.T) {
	w := startWire(t, "-tools", "all")
	w.initialize()
	w.send(callLine(0, "run_shell_command", `{"command":"cat","is_background":true}`))
	w.receive()
	const n = 3 * maxCalls
	sent := make(chan error, 1)
	go func() {
		var b strings.Builder
		for i := range n {
			b.WriteString(callLine(i+1, "shell", `{"job":"1","input":"x","wait":"exit","timeout_seconds":3600,"max_bytes":0}`) + "\n")
		}
		_, err := io.WriteString(w.in, b.String())
		sent <- err
	}()
	// The excess requests are refused at once.
	busy := 0
	for busy < n-maxCalls {
		a := w.receive()
		if a.Error == nil || a.Error.Code != codeBusy {
			t.Fatalf("%s %+v", a.ID, a.Error)
		}
		busy++
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	// The others are cancelled, and get no answer.
	for i := range n {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i+1))
	}
	// There is room again as soon as they are gone; until then this request is refused, too.
	for {
		w.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		a := w.receive()
		if string(a.ID) != `"p"` {
			t.Fatalf("%s %+v", a.ID, a.Error)
		}
		if a.Error == nil {
			break
		}
	}
	_ = w.in.Close()
	w.ended()
}
