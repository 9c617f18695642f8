package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"shelld.dev/shelld/schema"
)

// An Event is a notification of the server.
type Event struct {
	Method string
	Params json.RawMessage
}

// Decode stores the event's params in v, such as a *schema.JobExitedParams.
func (e Event) Decode(v any) error { return json.Unmarshal(e.Params, v) }

// A Conn is a connection to a server, and nothing more: it numbers requests, passes events to one function in order of
// arrival, passes the server's requests to another one, and leaves everything else, such as initialize, to its user. A
// [Client] has one, and most programs need only that.
//
// Request ids, pending calls, dispatch and answers are those of jsonrpc2.Conn. Conn adds the rules of the
// protocol: withdrawn requests in both directions, and errors with a kind.
//
// Goroutines: one reads the input until that ends, and calls the event function. Call, Send and Notify may be called
// from any goroutine except from that function; they wait while the server does not read its input, whatever their
// contexts. Each request of the server has a goroutine that calls the Answerer and ends with it. Done does not wait for
// these.
type Conn struct {
	// Immutable:
	rpc    *jsonrpc2.Conn
	stream *stream
	event  func(Event)
	why    func(bad error) error // the error for calls that were not answered; bad is as of badMessage; nil: just that

	last atomic.Uint64 // the last request's id

	mu      sync.Mutex // guards the fields below
	answers Answerer
	asked   map[jsonrpc2.ID]context.CancelFunc // the server's requests
	marks   map[jsonrpc2.ID]func()             // see send
}

// An Answerer answers a request of the server, such as client/secret. ctx is done when the server withdraws the request
// or has ended: then the answer is dropped. An *Error is sent as it is; of another error, its text is sent.
type Answerer func(ctx context.Context, method string, params json.RawMessage) (result any, err error)

// NewConn returns a connection that writes requests to out and reads in, one JSON object a line. It calls event, on the
// reading goroutine, with every notification, and trace, which may be nil, with every message in either direction.
func NewConn(in io.Reader, out io.Writer, event func(Event), trace func(sent bool, body []byte)) *Conn {
	return newConn(in, out, event, trace, nil)
}

func newConn(in io.Reader, out io.Writer, event func(Event), trace func(sent bool, body []byte), why func(bad error) error) *Conn {
	s := &stream{in: bufio.NewReaderSize(in, 64<<10), out: out, trace: trace}
	s.limit.Store(defaultMaxMessage)
	s.closer, _ = in.(io.Closer)
	c := &Conn{stream: s, event: event, why: why, asked: map[jsonrpc2.ID]context.CancelFunc{}, marks: map[jsonrpc2.ID]func(){}}
	c.rpc = jsonrpc2.NewConn(context.Background(), s, handler{c}, jsonrpc2.OnRecv(c.received), jsonrpc2.SetLogger(silent{}))
	return c
}

// silent is a logger for the library, which logs answers to requests that are unknown.
type silent struct{}

func (silent) Printf(string, ...any) {}

// Answer sets the function that answers the server's requests, each in a goroutine of its own. It must be called before
// initialize is sent with the capabilities that need it. Without one, or with nil, each request is answered with
// methodNotFound.
func (c *Conn) Answer(a Answerer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = a
}

// Limit sets the length above which a message is a *TooLongError instead of being sent: limits.maxMessageBytes of the
// result of initialize. It is 16 MiB by default, as that of a server.
func (c *Conn) Limit(maxMessageBytes int64) { c.stream.limit.Store(maxMessageBytes) }

// Done returns a channel that is closed when the server's output has ended.
func (c *Conn) Done() <-chan struct{} { return c.rpc.DisconnectNotify() }

// Call sends a request and waits for its answer. result may be nil. If ctx is done first, Call cancels the request and
// still waits for its answer.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	sent, err := c.Send(method, params)
	if err != nil {
		return err
	}
	return sent.Await(ctx, result)
}

// A SentCall is a request that was sent, before Await.
type SentCall struct {
	conn *Conn
	id   jsonrpc2.ID
	wait jsonrpc2.Waiter
}

// ID returns the request's id as spelled on the wire, and as client/confirm quotes it in requestId.
func (s *SentCall) ID() string { return strconv.FormatUint(s.id.Num, 10) }

// Send sends a request and returns: messages sent later reach the server after it. The answer is dropped unless Await
// is called.
func (c *Conn) Send(method string, params any) (*SentCall, error) { return c.send(method, params, nil) }

// send is Send with a function, which may be nil, that is called on the reading goroutine when the answer is read:
// after the events before it, and ahead of those behind it.
func (c *Conn) send(method string, params any, mark func()) (*SentCall, error) {
	id := jsonrpc2.ID{Num: c.last.Add(1)} // Chosen here: a withdrawal has to name it.
	if mark != nil {
		c.mu.Lock()
		c.marks[id] = mark
		c.mu.Unlock()
	}
	wait, err := c.rpc.DispatchCall(context.Background(), method, params, jsonrpc2.PickID(id))
	if err != nil {
		c.marked(id)
		return nil, c.lost(err)
	}
	return &SentCall{c, id, wait}, nil
}

// marked removes and returns the function of a request; nil: it has none.
func (c *Conn) marked(id jsonrpc2.ID) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	mark := c.marks[id]
	delete(c.marks, id)
	return mark
}

// received completes a message that the library is about to dispatch.
func (c *Conn) received(req *jsonrpc2.Request, resp *jsonrpc2.Response) {
	c.stream.restore(req, resp)
	if resp != nil {
		if mark := c.marked(resp.ID); mark != nil {
			mark()
		}
	}
}

// Await waits for the answer, as Call does. It may be called once.
func (s *SentCall) Await(ctx context.Context, result any) error { return s.await(ctx, 0, result) }

// errUnanswered is the error for a server that does not answer a cancelled request.
var errUnanswered = errors.New("the server does not answer, and did not answer the cancellation of the request either")

// await waits for the answer. Once ctx is done it cancels the request, and waits for its answer for at most patience; 0
// is without a limit.
func (s *SentCall) await(ctx context.Context, patience time.Duration, result any) error {
	err := s.wait.Wait(ctx, result)
	if err != nil && err == ctx.Err() {
		limit := context.Background()
		if patience > 0 {
			var stop context.CancelFunc
			limit, stop = context.WithTimeout(limit, patience)
			defer stop()
		}
		if !soon(limit, 0, func() { err = s.withdraw() }) {
			return errUnanswered
		}
		if err != nil {
			return err
		}
		if err = s.wait.Wait(limit, result); err != nil && err == limit.Err() {
			return errUnanswered
		}
	}
	if answer, ok := err.(*jsonrpc2.Error); ok {
		return newError(answer)
	}
	return s.conn.lost(err)
}

// withdraw cancels the request.
func (s *SentCall) withdraw() error {
	return s.conn.Notify("$/cancelRequest", map[string]any{"id": s.id})
}

// Notify sends a notification.
func (c *Conn) Notify(method string, params any) error {
	return c.lost(c.rpc.Notify(context.Background(), method, params))
}

// lost returns a *GoneError in place of the library's error for a connection that has ended, and other errors as they
// are.
func (c *Conn) lost(err error) error {
	if err == nil || !errors.Is(err, jsonrpc2.ErrClosed) && !errors.Is(err, ErrServerGone) {
		return err
	}
	if c.why != nil {
		return c.why(c.badMessage())
	}
	return &GoneError{Cause: c.badMessage()}
}

// badMessage returns the message that has ended the connection, as an error; nil: there was none.
func (c *Conn) badMessage() error {
	if bad := c.stream.bad.Load(); bad != nil {
		return bad
	}
	return nil
}

// A handler passes on the requests and notifications that the library has read. It runs on the reading goroutine.
type handler struct{ *Conn }

func (h handler) Handle(ctx context.Context, rpc *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	switch {
	case !req.Notif:
		h.ask(ctx, rpc, req.ID, req.Method, params)
	case req.Method == "$/cancelRequest":
		h.withdrawn(params)
	default:
		h.event(Event{req.Method, params})
	}
}

// ask passes a request of the server to the Answerer, and sends the answer. Errors of sending do not matter: reading
// notices a lost server.
func (c *Conn) ask(ctx context.Context, rpc *jsonrpc2.Conn, id jsonrpc2.ID, method string, params json.RawMessage) {
	c.mu.Lock()
	answer := c.answers
	if answer == nil {
		c.mu.Unlock()
		go func() { _ = rpc.ReplyWithError(ctx, id, unknownMethod(method).answer()) }() // Reading never waits for a write.
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	c.asked[id] = cancel
	c.mu.Unlock()
	go func() {
		result, err := answer(ctx, method, params)
		c.mu.Lock()
		_, wanted := c.asked[id]
		delete(c.asked, id)
		c.mu.Unlock()
		gone := ctx.Err() != nil
		cancel()
		if !wanted || gone {
			return
		}
		if err == nil {
			err = rpc.Reply(ctx, id, result)
			if _, long := errors.AsType[*TooLongError](err); !long {
				return
			}
		}
		refusal, ok := errors.AsType[*Error](err)
		if !ok {
			refusal = refuse(schema.KindInternalError, jsonrpc2.CodeInternalError, err.Error(), struct {
				Kind schema.Kind `json:"kind"`
			}{schema.KindInternalError})
		}
		_ = rpc.ReplyWithError(ctx, id, refusal.answer())
	}()
}

// withdrawn handles the withdrawal of a request by the server.
func (c *Conn) withdrawn(params json.RawMessage) {
	var p struct {
		ID jsonrpc2.ID `json:"id"`
	}
	if json.Unmarshal(params, &p) != nil {
		return // It matches no request.
	}
	c.mu.Lock()
	cancel := c.asked[p.ID]
	delete(c.asked, p.ID)
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// cancelTime is how long a call waits for its answer after its context is done: a server answers at once.
const cancelTime = 5 * time.Second

// callHooks are functions that call calls. Each may be nil.
type callHooks struct {
	mark func()          // see send
	late func(*SentCall) // called, in a goroutine of its own, with a request that is given up and may still be answered
}

// call is Call for a server that may no longer answer: after its context is done, it waits for cancelTime. The error of
// a cancelled request is then that of ctx too.
func (c *Conn) call(ctx context.Context, method string, params, result any, hooks callHooks) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s was not sent: %w", method, ended(ctx))
	}
	type dispatch struct {
		*SentCall
		err error
	}
	written, unread := make(chan dispatch), make(chan struct{})
	go func() {
		sent, err := c.send(method, params, hooks.mark)
		select {
		case written <- dispatch{sent, err}:
		case <-unread:
			if err != nil {
				return
			}
			_ = sent.withdraw() // An error means that the server has ended.
			if hooks.late != nil {
				hooks.late(sent)
			}
		}
	}()
	var sent dispatch
	select {
	case sent = <-written:
	case <-ctx.Done():
		limit := time.NewTimer(cancelTime)
		defer limit.Stop()
		select {
		case sent = <-written:
		case <-limit.C:
			close(unread)
			return fmt.Errorf("%s: %w: %w", method, ended(ctx), errUnread)
		}
	}
	if sent.err != nil {
		return sent.err
	}
	err := sent.await(ctx, cancelTime, result)
	if err == errUnanswered && hooks.late != nil {
		go hooks.late(sent.SentCall)
	}
	if ctx.Err() != nil && (KindOf(err) == schema.KindCanceled || err == errUnanswered) {
		return fmt.Errorf("%s: %w: %w", method, ended(ctx), err)
	}
	return err
}

// errUnread is the error for a server that does not read a request.
var errUnread = errors.New("the server does not read its input, and has not got all of the request")

// notify is Notify with a context: it ends at most cancelTime after it, and the notification is sent later, or never.
func (c *Conn) notify(ctx context.Context, method string, params any) error {
	var err error
	if !soon(ctx, cancelTime, func() { err = c.Notify(method, params) }) {
		return fmt.Errorf("%s: %w: %w", method, ended(ctx), errUnread)
	}
	return err
}

// soon calls f, which may wait for a write, in a goroutine. It returns false if f has not returned within patience after
// the end of ctx: f then returns at the latest when the server's input is closed.
func soon(ctx context.Context, patience time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
		return false
	}
}

// ended returns the error of a context that is done, with its cause if that is another one.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
