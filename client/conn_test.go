package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A peer is the other end of a Conn, for a test that plays the server.
type peer struct {
	t    *testing.T
	conn *client.Conn
	out  *io.PipeWriter // to the client
	in   *bufio.Reader  // from the client
	end  *io.PipeWriter // the client's own
}

func newPeer(t *testing.T, event func(client.Event)) *peer {
	in, out := io.Pipe()
	theirs, end := io.Pipe()
	p := &peer{t: t, out: out, in: bufio.NewReader(theirs), end: end}
	p.conn = client.NewConn(in, end, event, nil)
	t.Cleanup(func() { _, _ = out.Close(), end.Close(); <-p.conn.Done() })
	return p
}

func (p *peer) says(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.out, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *peer) hears(want string) {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	equal(p.t, "the client says", line, want+"\n")
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func noEvent(t *testing.T) func(client.Event) {
	return func(e client.Event) { t.Errorf("event %s", e.Method) }
}

// TestServerAsks: the client answers through its Answerer, whose context ends when the answer is no longer wanted.
// Without an Answerer it refuses.
func TestServerAsks(t *testing.T) {
	p := newPeer(t, noEvent(t))
	p.says(`{"jsonrpc":"2.0","id":"s1","method":"client/secret","params":{}}`)
	p.hears(`{"id":"s1","error":{"code":-32601,"message":"this client does not answer client/secret","data":{"kind":"methodNotFound","method":"client/secret"}},"jsonrpc":"2.0"}`)
	ended := make(chan string, 4)
	p.conn.Answer(func(ctx context.Context, method string, params json.RawMessage) (any, error) {
		var ask struct{ Prompt string }
		_ = json.Unmarshal(params, &ask)
		switch ask.Prompt {
		case "wait":
			<-ctx.Done()
			ended <- method
			return map[string]string{"value": "late"}, nil
		case "fail":
			return nil, io.ErrUnexpectedEOF
		}
		return map[string]string{"value": ask.Prompt}, nil
	})
	p.says(`{"jsonrpc":"2.0","id":"s2","method":"client/secret","params":{"prompt":"one"}}`)
	p.hears(`{"id":"s2","result":{"value":"one"},"jsonrpc":"2.0"}`)
	p.says(`{"jsonrpc":"2.0","id":3,"method":"client/secret","params":{"prompt":"wait"}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}`)
	equal(t, "withdrawn", <-ended, "client/secret")
	p.says(`{"jsonrpc":"2.0","id":"s4","method":"client/secret","params":{"prompt":"fail"}}`)
	p.hears(`{"id":"s4","error":{"code":-32603,"message":"unexpected EOF","data":{"kind":"internalError"}},"jsonrpc":"2.0"}`)
	p.says(`{"jsonrpc":"2.0","id":"s5","method":"client/secret","params":{"prompt":"wait"}}`)
	_ = p.out.Close()
	equal(t, "ended", <-ended, "client/secret")
	<-p.conn.Done()
	_ = p.end.Close()
	if more, err := p.in.ReadString('\n'); err != io.EOF {
		t.Errorf("the client says %s", more)
	}
}

// TestLongAnswer: an answer that the server would skip is an error answer instead.
func TestLongAnswer(t *testing.T) {
	p := newPeer(t, noEvent(t))
	p.conn.Limit(300)
	p.conn.Answer(func(context.Context, string, json.RawMessage) (any, error) {
		return schema.ClientSecretResult{Value: new(strings.Repeat("x", 300))}, nil
	})
	p.says(`{"jsonrpc":"2.0","id":"s1","method":"client/secret","params":{}}`)
	p.hears(`{"id":"s1","error":{"code":-32603,"message":"the message has 349 bytes, and the server takes at most 300: send it in parts or by a file, or raise limits.maxMessageBytes of initialize","data":{"kind":"internalError"}},"jsonrpc":"2.0"}`)
}

// TestEventsInOrder: events, unknown ones too, come in order, and as they were spelled; an answer comes after those
// before it.
func TestEventsInOrder(t *testing.T) {
	var got []string
	p := newPeer(t, func(e client.Event) { got = append(got, e.Method+" "+string(e.Params)) })
	answered := make(chan error)
	go func() { answered <- p.conn.Call(t.Context(), "job/get", struct{}{}, nil) }()
	p.hears(`{"id":1,"jsonrpc":"2.0","method":"job/get","params":{}}`)
	var want []string
	for i := range 100 {
		params := `{ "b":` + strconv.Itoa(i) + `, "a":"<é\u00e9>", "n":1e400 }`
		p.says(`{"jsonrpc":"2.0","method":"new/thing","params":`+params+`}`, "", `  {"jsonrpc":"2.0","method":"empty"}`)
		want = append(want, "new/thing "+params, "empty ")
	}
	p.says(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?","data":{}}}`, // to no request
		`{"jsonrpc":"2.0","id":77,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d events, the first %q, want %d, the first %q", len(got), got[0], len(want), want[0])
	}
}

// TestCancel: when its context is done, Call withdraws its request, and waits for the answer.
func TestCancel(t *testing.T) {
	p := newPeer(t, noEvent(t))
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error)
	var result struct{ A int }
	go func() { answered <- p.conn.Call(ctx, "job/wait", struct{}{}, &result) }()
	p.hears(`{"id":1,"jsonrpc":"2.0","method":"job/wait","params":{}}`)
	cancel()
	p.hears(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
	p.says(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"cancelled","data":{"kind":"canceled","handle":7}}}`)
	err := <-answered
	var e *client.Error
	if !errors.As(err, &e) || string(e.Data) != `{"kind":"canceled","handle":7}` {
		t.Errorf("%v", err)
	}
	equal(t, "kind", client.KindOf(err), schema.KindCanceled)

	go func() { answered <- p.conn.Call(ctx, "job/wait", struct{}{}, &result) }()
	p.hears(`{"id":2,"jsonrpc":"2.0","method":"job/wait","params":{}}`)
	p.hears(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}`)
	p.says(`{"jsonrpc":"2.0","id":2,"result":{"A":5}}`) // It was faster.
	if err := <-answered; err != nil || result.A != 5 {
		t.Error(err, result)
	}
}

// TestLongMessage: a message may be longer than any buffer.
func TestLongMessage(t *testing.T) {
	length := make(chan int, 1)
	p := newPeer(t, func(e client.Event) { length <- len(e.Params) })
	long := make([]byte, 5<<20)
	for i := range long {
		long[i] = 'x'
	}
	p.says(`{"jsonrpc":"2.0","method":"m","params":["` + string(long) + `"]}`)
	equal(t, "bytes", <-length, len(long)+4)
}

// TestTooLong: a message that the server would skip is an error instead of a call without an end, and the connection
// goes on. <, > and & count as one byte.
func TestTooLong(t *testing.T) {
	p := newPeer(t, noEvent(t))
	p.conn.Limit(100)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	long := strings.Repeat("x", 100)
	var e *client.TooLongError
	if err := p.conn.Call(ctx, "job/write", long, nil); !errors.As(err, &e) || e.Limit != 100 || e.Bytes <= 100 {
		t.Error(err)
	}
	if err := p.conn.Notify("job/write", long); !errors.As(err, &e) {
		t.Error(err)
	}
	answered := make(chan error)
	text := `<a> && \u003c \\` + "\x01\u2028"
	go func() { answered <- p.conn.Call(ctx, "m", []string{text}, nil) }()
	p.hears(`{"id":2,"jsonrpc":"2.0","method":"m","params":["<a> && \\u003c \\\\\u0001\u2028"]}`)
	p.says(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestConnectUnread: a failed Connect closes its streams, and leaves no goroutine, also if the other side reads nothing.
func TestConnectUnread(t *testing.T) {
	before := runtime.NumGoroutine()
	in, _ := io.Pipe()
	_, end := io.Pipe()
	_, err := client.Connect(t.Context(), in, end, client.Options{StartTimeout: 50 * time.Millisecond})
	if !errors.Is(err, client.ErrNotShelld) {
		t.Error(err)
	}
	for late := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("%d goroutines, before it were %d", runtime.NumGoroutine(), before)
		}
	}
}

// TestConnectRefused: a failed Connect closes its streams.
func TestConnectRefused(t *testing.T) {
	in, out := io.Pipe()
	theirs, end := io.Pipe()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	_, err := client.Connect(t.Context(), in, end, client.Options{StartTimeout: 50 * time.Millisecond})
	if !errors.Is(err, client.ErrNotShelld) {
		t.Error(err)
	}
	if _, err := out.Write([]byte("{}\n")); err == nil {
		t.Error("the input is still being read")
	}
}
