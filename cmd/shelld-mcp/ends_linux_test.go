package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"shelld.dev/shelld/schema"
)

// TestEnds ends the server in each possible way, with jobs and a call in flight: nothing remains.
func TestEnds(t *testing.T) {
	ways := map[string]func(*wire){
		"stdin ends":  func(w *wire) { _ = w.in.Close() },
		"SIGTERM":     func(w *wire) { w.stop() },
		"stdout ends": func(w *wire) { _ = w.outR.CloseWithError(errors.New("no reader")) },
		"the host is gone": func(w *wire) {
			_ = w.outR.CloseWithError(errors.New("no reader"))
			_ = w.in.Close()
		},
		"no reader": func(w *wire) { _ = w.in.Close() }, // The test reads only half a line.
	}
	for name, end := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWire(t)
			w.initialize()
			w.send(callLine(1, "run_shell_command", `{"command":"trap '' HUP; sleep 1000 & (setsid sleep 1000 &) ; exec cat","is_background":true}`))
			if a := w.receive(); a.Error != nil {
				t.Fatalf("%+v", a)
			}
			up := gate(t)
			w.send(callLine(2, "run_shell_command", `{"command":"echo >`+up+`; exec cat","ai_callback_delay":3600}`))
			passed(t, up, 1)
			w.send(callLine(3, "CliRun", `{"command":"echo >`+up+`; sleep 1000","timeout":3600}`))
			passed(t, up, 1)
			if name == "stdout ends" || name == "the host is gone" {
				w.send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`) // The server notices it when it writes the answer.
			}
			end(w)
			if name == "stdin ends" || name == "SIGTERM" {
				go func() { _, _ = io.Copy(io.Discard, w.outR) }()
			}
			w.ended()
		})
	}
}

// gate makes a FIFO that a command writes to when it runs.
func gate(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// passed waits until n commands have written to a gate.
func passed(t *testing.T, gate string, n int) {
	t.Helper()
	for range n {
		if _, err := os.ReadFile(gate); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCancel cancels a call: its command is ended, and the call gets no answer.
func TestCancel(t *testing.T) {
	for name, args := range map[string]string{
		"run_shell_command":    `,"ai_callback_delay":3600}`,
		"CliRun":               `,"timeout":3600}`,
		"execute_bash_command": `}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWire(t, "-confirm", "none")
			w.initialize()
			up := gate(t)
			w.send(callLine(1, name, `{"command":"echo >`+up+`; sleep 1000"`+args))
			passed(t, up, 1)
			w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`)
			var r schema.JobWaitResult
			err := w.front.ask(context.Background(), "job/wait", schema.JobWaitParams{Handle: handleID(1), Until: []schema.Condition{{Closed: new(true)}}, TimeoutMs: schema.NullOf[int64]()}, &r)
			if err != nil || r.Outcome.Reason != schema.OutcomeReasonClosed {
				t.Errorf("%+v, %v", r, err)
			}
			w.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
			if a := w.receive(); string(a.ID) != "2" {
				t.Errorf("the cancelled call was answered: %+v", a)
			}
			_ = w.in.Close()
			w.ended()
		})
	}
}

// TestEngineEnds ends the server in the process by itself: the connection ends, too.
func TestEngineEnds(t *testing.T) {
	w := startWire(t)
	w.initialize()
	if err := w.front.engine.end(); err != nil {
		t.Error(err)
	}
	w.ended()
}

// TestEndWithQuestion ends the server while a person is being asked: the call that waits for the decision is answered
// like all others, and the end does not wait for the decision.
func TestEndWithQuestion(t *testing.T) {
	for name, end := range map[string]func(*wire){
		"stdin ends": func(w *wire) { _ = w.in.Close() },
		"SIGTERM":    func(w *wire) { w.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startWire(t)
			w.initializeWith(`{"elicitation":{}}`)
			w.send(callLine(1, "execute_bash_command", `{"command":"touch there"}`))
			if a := w.receive(); a.Method != "elicitation/create" {
				t.Fatalf("%+v", a)
			}
			end(w)
			a := w.receive()
			var r struct{ IsError bool }
			if string(a.ID) != "1" || a.Error != nil || json.Unmarshal(a.Result, &r) != nil || !r.IsError {
				t.Errorf("%s: %+v, %s", a.ID, a.Error, a.Result)
			}
			w.ended()
			if _, err := os.Stat(filepath.Join(w.front.root(), "there")); err == nil {
				t.Error("it was run all the same")
			}
		})
	}
}

// TestQuestionAfterTheEnd makes a call that needs a question after the host can send nothing more.
func TestQuestionAfterTheEnd(t *testing.T) {
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	defer func() { _, _ = out.Close(), theirIn.Close() }()
	ended := make(chan struct{})
	c := newConn(theirIn, theirOut, func() error { close(ended); return nil }, slog.New(slog.DiscardHandler))
	defer func() { _ = c.Close() }()
	go func() {
		_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`+"\n")
		_ = in.Close()
	}()
	msg, err := c.Read(t.Context())
	call, ok := msg.(*jsonrpc.Request)
	if !ok {
		t.Fatalf("%v, %v", msg, err)
	}
	go func() {
		<-ended
		id, _ := jsonrpc.MakeID("q")
		_ = c.Write(t.Context(), &jsonrpc.Request{ID: id, Method: "elicitation/create", Params: json.RawMessage(`{}`)})
	}()
	msg, err = c.Read(t.Context())
	if answer, ok := msg.(*jsonrpc.Response); !ok || answer.ID.Raw() != "q" || string(answer.Result) != `{"action":"cancel"}` {
		t.Fatalf("%v, %v", msg, err)
	}
	go func() { _ = c.Write(t.Context(), &jsonrpc.Response{ID: call.ID, Result: json.RawMessage(`{}`)}) }()
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.Contains(line, `"id":1`) {
		t.Errorf("%q, %v: the question is not for the host any more", line, err)
	}
	if msg, err := c.Read(t.Context()); err != io.EOF {
		t.Errorf("%v, %v", msg, err)
	}
}
