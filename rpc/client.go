package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"shelld/schema"
)

// A Notice is a notification from the server.
type Notice struct {
	Method string
	Params json.RawMessage
}

// A Client speaks the protocol over the two ends of a pipe. It is small: it numbers requests, passes notifications to
// one function in order of arrival, passes the server's requests to another one, and leaves everything else to its
// user.
//
// Goroutines: one reads in until that ends, and calls the notice function. Call and Notify may be called from any
// goroutine except from that function. Each request of the server has a goroutine that calls the Answerer and ends with
// it. Done does not wait for these.
type Client struct {
	// Immutable:
	notice func(Notice)
	trace  func(sent bool, body []byte)
	done   chan struct{} // closed when in has ended

	write sync.Mutex // guards out
	out   io.Writer

	mu      sync.Mutex // guards the fields below
	last    int
	pending map[int]chan answer
	answers Answerer
	asked   map[string]context.CancelFunc // the server's requests, by their id as spelled
	err     error                         // why in has ended
}

// An Answerer answers a request of the server, such as client/secret. ctx is done when the server withdraws the request
// or has ended: then the answer is dropped. A *CallError is sent as it is; of another error, its text is sent.
type Answerer func(ctx context.Context, method string, params json.RawMessage) (result any, err error)

type answer struct {
	result json.RawMessage
	err    *CallError
}

// A CallError is an error that the server has answered.
type CallError struct {
	schema.ErrorObject
	Kind schema.Kind
}

func (e *CallError) Error() string { return string(e.Kind) + ": " + e.Message }

// ErrServerGone is the error of a call if the server has ended without an answer.
var ErrServerGone = errors.New("rpc: the server has ended")

// NewClient returns a client that writes requests to out and reads in, in header framing. It calls notice with every
// notification, on the reading goroutine, and trace, which may be nil, with every message in either direction.
func NewClient(in io.Reader, out io.Writer, notice func(Notice), trace func(sent bool, body []byte)) *Client {
	c := &Client{notice: notice, trace: trace, out: out, pending: map[int]chan answer{}, done: make(chan struct{})}
	go c.read(bufio.NewReader(in))
	return c
}

// Answer sets the function that answers the server's requests, each in a goroutine of its own. It must be called before
// initialize is sent with the capabilities that need it. Without one, or with nil, each request is answered with
// methodNotFound.
func (c *Client) Answer(a Answerer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = a
}

// Done returns a channel that is closed when the server's output has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Call sends a request and waits for its answer. result may be nil. If ctx is done first, Call cancels the request and
// still waits for its answer.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	call, err := c.Send(method, params)
	if err != nil {
		return err
	}
	return call.Await(ctx, result)
}

// A SentCall is a request that was sent, before Await.
type SentCall struct {
	client *Client
	id     int
	answer chan answer
}

// ID returns the request's id as spelled on the wire, and as client/confirm quotes it in requestId.
func (s *SentCall) ID() string { return strconv.Itoa(s.id) }

// Send sends a request and returns: messages sent later reach the server after it. The answer is dropped unless Await
// is called.
func (c *Client) Send(method string, params any) (*SentCall, error) {
	id, ch, err := c.begin()
	if err != nil {
		return nil, err
	}
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	return &SentCall{c, id, ch}, nil
}

// Await waits for the answer, as Call does. It may be called once.
func (s *SentCall) Await(ctx context.Context, result any) error {
	var a answer
	select {
	case a = <-s.answer:
	case <-ctx.Done():
		if err := s.client.Notify("$/cancelRequest", map[string]any{"id": s.id}); err != nil {
			return err
		}
		a = <-s.answer
	}
	switch {
	case a.err != nil:
		return a.err
	case a.result == nil:
		return ErrServerGone
	case result == nil:
		return nil
	}
	return json.Unmarshal(a.result, result)
}

func (c *Client) begin() (int, chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, nil, ErrServerGone
	}
	c.last++
	ch := make(chan answer, 1)
	c.pending[c.last] = ch
	return c.last, ch, nil
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	return c.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (c *Client) send(msg any) error {
	body := marshal(msg)
	c.write.Lock()
	defer c.write.Unlock()
	if c.trace != nil {
		c.trace(true, body)
	}
	_, err := c.out.Write(frame(nil, FramingHeader, body))
	return err
}

func (c *Client) read(in io.Reader) {
	defer close(c.done)
	frames := newFrameReader(in, FramingHeader, clientMaxMessage)
	for {
		body, err := frames.Next()
		if err == nil {
			err = c.receive(body)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

// clientMaxMessage is far above the size of any message from a server.
const clientMaxMessage = 1 << 30

func (c *Client) receive(body []byte) error {
	if c.trace != nil {
		c.trace(false, body)
	}
	env, bad := parseEnvelope(body)
	if bad != nil {
		return fmt.Errorf("rpc: the server sent an invalid message: %s", bad.Message)
	}
	switch env.Kind {
	case kindNotification:
		if env.Method == "$/cancelRequest" {
			c.takenBack(env.Params)
			return nil
		}
		c.notice(Notice{env.Method, append(json.RawMessage(nil), env.Params...)})
	case kindResponse:
		c.answered(env)
	case kindRequest:
		return c.ask(env)
	}
	return nil
}

func (c *Client) answered(env envelope) {
	id, err := strconv.Atoi(string(env.ID))
	if err != nil {
		return // null: an answer to a message that was not a request; trace has shown it
	}
	a := answer{result: append(json.RawMessage(nil), env.Result...)}
	if env.Error != nil {
		a.err = &CallError{}
		_ = json.Unmarshal(env.Error, &a.err.ErrorObject) // Members of a wrong type stay empty.
		var data struct{ Kind schema.Kind }
		_ = json.Unmarshal(a.err.Data, &data) // As above.
		a.err.Kind = data.Kind
	}
	c.mu.Lock()
	ch := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if ch != nil {
		ch <- a
	}
}

// ask passes a request of the server to the Answerer, and sends the answer.
func (c *Client) ask(env envelope) error {
	id, params := append(json.RawMessage(nil), env.ID...), append(json.RawMessage(nil), env.Params...)
	c.mu.Lock()
	a := c.answers
	if a == nil {
		c.mu.Unlock()
		refusal := schema.ErrorObject{Code: kindCodes()[schema.KindMethodNotFound], Message: "this client does not answer " + env.Method,
			Data: marshal(schema.MethodNotFoundData{Kind: string(schema.KindMethodNotFound), Method: env.Method})}
		return c.send(schema.ErrorMessage{JSONRPC: "2.0", ID: id, Error: refusal})
	}
	ctx, cancel := context.WithCancel(context.Background())
	if c.asked == nil {
		c.asked = map[string]context.CancelFunc{}
	}
	c.asked[string(id)] = cancel
	c.mu.Unlock()
	go func() {
		result, err := a(ctx, env.Method, params)
		c.mu.Lock()
		_, wanted := c.asked[string(id)]
		delete(c.asked, string(id))
		c.mu.Unlock()
		cancel()
		if !wanted {
			return
		}
		if err == nil {
			_ = c.send(map[string]any{"jsonrpc": "2.0", "id": id, "result": result}) // read notices a lost server.
			return
		}
		refusal := &CallError{ErrorObject: schema.ErrorObject{Code: kindCodes()[schema.KindInternalError], Message: err.Error(), Data: json.RawMessage(`{"kind":"internalError"}`)}}
		_ = errors.As(err, &refusal)
		_ = c.send(schema.ErrorMessage{JSONRPC: "2.0", ID: id, Error: refusal.ErrorObject}) // As above.
	}()
	return nil
}

// takenBack handles the withdrawal of a request by the server.
func (c *Client) takenBack(params json.RawMessage) {
	var p schema.CancelRequestParams
	_ = json.Unmarshal(params, &p) // If it does not parse, it matches no request.
	c.mu.Lock()
	cancel := c.asked[string(p.ID)]
	delete(c.asked, string(p.ID))
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// end completes the pending calls without an answer, and cancels the server's requests.
func (c *Client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for id, cancel := range c.asked {
		cancel()
		delete(c.asked, id)
	}
	for id, ch := range c.pending {
		ch <- answer{}
		delete(c.pending, id)
	}
}
