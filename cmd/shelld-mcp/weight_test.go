package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shelld.dev/shelld/schema"
)

// mostAhead is the maximum number of resources that may be read ahead of the host: those that have room, one that
// stdout holds, and one that is handed over next.
const mostAhead = lookingRoom/(2*2*maxResource) + 2

// longJob starts a job that writes more than a resource can hold.
func longJob(w *wire) {
	w.t.Helper()
	w.send(callLine(0, "run_shell_command", `{"command":"yes 0123456789012345678901234567890 | head -c 2000000; echo; echo all","is_background":true,"max_output_size":0}`))
	if a := w.receive(); a.Error != nil {
		w.t.Fatalf("%+v", a)
	}
	var r schema.JobWaitResult
	err := w.front.ask(context.Background(), "job/wait", schema.JobWaitParams{Handle: handleID(1), Until: []schema.Condition{{Closed: new(true)}}, TimeoutMs: schema.NullOf[int64]()}, &r)
	if err != nil || r.Outcome.Reason != schema.OutcomeReasonClosed {
		w.t.Fatalf("%+v, %v", r, err)
	}
}

// A counter counts the reads of resources, including those in progress.
type counter struct {
	mu    sync.Mutex
	begun int
	first chan struct{} // closed at the first read
}

// countReads counts the reads in w's server. It must be called before the first message.
func countReads(w *wire) *counter {
	n := &counter{first: make(chan struct{})}
	w.front.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "resources/read" {
				n.mu.Lock()
				if n.begun++; n.begun == 1 {
					close(n.first)
				}
				n.mu.Unlock()
			}
			return next(ctx, method, req)
		}
	})
	return n
}

func (n *counter) sofar() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.begun
}

// inCI is set by go test ./cmd/shelld-mcp -ci, which .ci/run uses.
var inCI = flag.Bool("ci", false, "run as much of the tests as .ci/run does")

// TestManyLargeReads requests far more than the engine's outbox takes, and reads no answer until all requests are sent:
// every request is answered, and only a few answers are prepared ahead of the host's reading.
func TestManyLargeReads(t *testing.T) {
	w := startWire(t)
	n := countReads(w)
	w.initialize()
	longJob(w)
	reads := 12 * mostAhead
	switch {
	case *inCI:
		reads = 256
	case testing.Short():
		reads = 24
	}
	for i := range reads {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"shelld://job/1/stdout"}}`, i+1))
	}
	<-n.first
	seen := map[string]bool{}
	for i := range reads {
		a := w.receive()
		if begun := n.sofar(); begun > i+1+mostAhead {
			t.Fatalf("%d answers were read, and %d are made", i+1, begun)
		}
		if a.Error != nil || len(a.Result) < maxResource || seen[string(a.ID)] {
			t.Fatalf("answer %d, of %s: %d bytes, %+v", i, a.ID, len(a.Result), a.Error)
		}
		seen[string(a.ID)] = true
	}
	// The heavy requests have not blocked light ones, and all room is free again.
	w.send(callLine(1000, "jobs", `{}`))
	if a := w.receive(); a.Error != nil {
		t.Errorf("%+v", a)
	}
	_ = w.in.Close()
	w.ended()
}

// TestUnreadAnswers has a host send requests without reading: the memory of the process stays limited, the host's
// messages are still handled, and its end is noticed.
func TestUnreadAnswers(t *testing.T) {
	w := startWire(t)
	n := countReads(w)
	w.initialize()
	longJob(w)
	before := heap()
	for i := range maxCalls - 10 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"shelld://job/1/stdout"}}`, i+1))
	}
	<-n.first
	for i := range maxCalls / 2 { // Held requests can be cancelled.
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, maxCalls/2-20+i))
	}
	if now := heap(); now > before+96<<20 {
		t.Errorf("%d MiB are held for a host that reads nothing", (now-before)>>20)
	}
	if begun := n.sofar(); begun > mostAhead {
		t.Errorf("%d resources were read for a host that reads nothing", begun)
	}
	_ = w.in.Close()
	w.ended()
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestHeldRequestsAtEndOfInput ends stdin while many requests are held: each is answered, with that as the reason.
func TestHeldRequestsAtEndOfInput(t *testing.T) {
	w := startWire(t)
	n := countReads(w)
	w.initialize()
	longJob(w)
	const reads = 40
	for i := range reads {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"shelld://job/1/stdout"}}`, i+1))
	}
	<-n.first
	_ = w.in.Close()
	answers, ending := 0, 0
	for {
		line, err := w.out.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var a answered
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		answers++
		if a.Error != nil && strings.Contains(a.Error.Message, "nothing was done") {
			ending++
		}
	}
	if answers != reads || ending == 0 {
		t.Errorf("%d answers, %d of them to what was held back, of %d", answers, ending, reads)
	}
	w.ended()
}

// TestTooHeavy starts more calls than there is room for: the excess is refused, and not started; calls that only look
// are still answered.
func TestTooHeavy(t *testing.T) {
	w := startWire(t)
	w.initialize()
	w.send(callLine(0, "run_shell_command", `{"command":"cat","is_background":true}`))
	w.receive()
	const arguments = `{"handle":1,"input":"x","ai_callback_delay":3600}`
	each := weigh(request(t, callLine(1000, "send_input", arguments)), len(callLine(1000, "send_input", arguments))).bytes
	fit := waitingRoom / each
	for i := range fit + 5 {
		w.send(callLine(1000+i, "send_input", arguments))
	}
	for range 5 {
		a := w.receive()
		if a.Error == nil || a.Error.Code != codeBusy || !strings.Contains(a.Error.Message, "there is no room") || !strings.Contains(a.Error.Message, "less output") {
			t.Fatalf("%s %+v", a.ID, a.Error)
		}
	}
	w.send(callLine(1, "jobs", `{}`))
	if a := w.receive(); string(a.ID) != "1" || a.Error != nil {
		t.Errorf("%s %+v", a.ID, a.Error)
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1000}}`)
	for { // There is room again as soon as that call is gone.
		w.send(callLine(2, "run_shell_command", `{"command":"echo room"}`))
		a := w.receive()
		if a.Error == nil {
			break
		}
		if a.Error.Code != codeBusy {
			t.Fatalf("%s %+v", a.ID, a.Error)
		}
	}
	_ = w.in.Close()
	go func() { _, _ = io.Copy(io.Discard, w.out) }()
	w.ended()
}

func request(t *testing.T, line string) *jsonrpc.Request {
	t.Helper()
	msg, err := jsonrpc.DecodeMessage([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return msg.(*jsonrpc.Request)
}

// TestWeights compares the weights with the tools, and checks some of them.
func TestWeights(t *testing.T) {
	h := startHost(t, nil, "-tools", "all")
	for _, name := range h.front.tools {
		if _, there := toolWeights[name]; !there {
			t.Errorf("%s has no weight", name)
		}
	}
	if len(toolWeights) != len(h.front.tools) {
		t.Errorf("%d weights for %d tools", len(toolWeights), len(h.front.tools))
	}
	for tool, err := range h.session.Tools(h.ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if w := toolWeights[tool.Name]; w.looks && !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s changes something, and may wait for a person: it does not just look", tool.Name)
		}
		var s struct{ Properties map[string]any }
		if err := json.Unmarshal(encode(tool.InputSchema), &s); err != nil {
			t.Fatal(err)
		}
		if p := toolWeights[tool.Name].param; p != "" && s.Properties[p] == nil {
			t.Errorf("%s has no parameter %s", tool.Name, p)
		}
	}
	for line, want := range map[string]load{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                               {},
		callLine(1, "run_shell_command", `{"command":"x"}`):                                      {waiting, 2 * defaultOutput},
		callLine(1, "run_shell_command", `{"command":"x","max_output_size":1000}`):               {waiting, 2000},
		callLine(1, "run_shell_command", `{"command":"x","max_output_size":1e300}`):              {waiting, 2 << 20},
		callLine(1, "run_shell_command", `{"command":"x","max_output_size":-5}`):                 {waiting, 0},
		callLine(1, "run_shell_command", `{"command":"x","max_output_size":"5"}`):                {waiting, 2 * defaultOutput},
		callLine(1, "no_such", `{}`):                                                             {waiting, 0},
		callLine(1, "jobs", `{}`):                                                                {looking, listWeight},
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}`:                              {waiting, 0},
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"shelld://job/1/x"}}`: {looking, 4 * maxResource},
	} {
		if want.share != unweighed {
			want.bytes += plainWeight + len(line)
		}
		if got := weigh(request(t, line), len(line)); got != want {
			t.Errorf("%s weighs %+v, not %+v", line, got, want)
		}
	}
	// Together the rooms leave a part of the 64 MiB for messages without a weight.
	if waitingRoom+lookingRoom+longestAnswer > 60<<20 {
		t.Error("the rooms are more than the engine's outbox takes")
	}
}

// TestLongDescription checks that a description is rejected if it is too long for people and for lists.
func TestLongDescription(t *testing.T) {
	h := startHost(t, nil, "-confirm", "none")
	long := args{"command": "true", "description": strings.Repeat("é", maxDescription+1)}
	contains(t, h.fail("run_shell_command", long), "description", "description may have at most 4096 characters")
	h.fail("execute_bash_command", long)
	h.call("run_shell_command", args{"command": "true", "description": strings.Repeat("é", maxDescription)}, nil)
}
