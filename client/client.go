package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"shelld.dev/shelld/schema"
)

// protocolVersion is the version of the protocol that this package speaks.
const protocolVersion = "1"

// Options are the options of a client. The zero value is a client of the shelld on PATH.
type Options struct {
	Path   string    // the program of the server; "": $SHELLD, or else shelld on PATH
	Args   []string  // its arguments, such as "serve", "-log", "debug"
	Stderr io.Writer // gets the log of the server, its stderr; nil: only errors quote it

	// Initialize are the params of initialize. The client sets the protocol's version and its own capabilities in them.
	Initialize schema.InitializeParams

	// OnSecret returns the password that a program asks for; a person should type it. An error declines, and so does a
	// password that is too long for a message: the server logs it. ctx is done when the answer is no longer wanted.
	//
	// If it is set, Job.Question and Job.Answer wait through passwords, unless a Fact such as Input says otherwise, and
	// Initialize.Options.SecretInput is clientOnly by default: no other input reaches a password prompt.
	OnSecret func(ctx context.Context, ask schema.ClientSecretParams) (string, error)
	// OnConfirm returns whether an action that Initialize.Options.Confirm names may be done. An error denies it.
	OnConfirm func(ctx context.Context, ask schema.ClientConfirmParams) (schema.ConfirmOutcome, error)
	// OnEvent gets the events of Initialize.Options.Events of every job, in order, or by default all but output and
	// screenChanged. Of a job whose start has set Events in its params, it gets those, but output only if it gets that of
	// every job. It is called by a goroutine of its own: events wait in memory meanwhile, and it may make calls, except
	// Close, which waits for it.
	OnEvent func(Event)
	// Trace gets every message in either direction. It must not call the client. It may be called with a sent and with a
	// received message at the same time.
	Trace func(sent bool, body []byte)

	// StartTimeout limits the time until the server has answered initialize. 0: 15 seconds.
	StartTimeout time.Duration
}

// A Client is a server with the one client that speaks to it. Its methods may be called from any goroutine.
//
// Goroutines: those of its [Conn]; one that calls OnEvent, if that is set; of a server that is a process one that reads
// its stderr, and one that waits for its end. All of them end with the server, and Close waits for that. A Start that
// was given up has one that ends with the answer, or with the server.
type Client struct {
	Info schema.InitializeResult // the result of initialize

	conn      *Conn
	transport transport
	events    *queue[Event]      // for OnEvent; nil: it is not set
	told      chan struct{}      // closed after the last call of OnEvent
	base      []schema.EventName // of each job, for OnEvent
	secret    bool               // OnSecret is set
	closeOut  func()             // closes transport.out, once
	closing   sync.Once
	closed    error // the result of Close

	mu    sync.Mutex      // guards the following fields
	stop  func() bool     // detaches the context of Start; nil: there is nothing to detach
	feeds map[int64]*feed // of the jobs whose output is being read, by handle
}

// A transport is the way to a server, and its end.
type transport struct {
	out   io.Closer             // the server's input: its end ends the server
	ended <-chan struct{}       // closed when the server has ended; nil: when its output has
	late  error                 // the error of Close if kill was needed
	kill  func()                // ends a server that does not end by itself; nil: only the connection can be ended
	why   func(bad error) error // the error for calls that were not answered; nil: as the Conn says
}

// Connect initializes a server: in is its output, and out its input. Close closes out, and in if it is an io.Closer.
// The options Path, Args and Stderr are not used.
func Connect(ctx context.Context, in io.Reader, out io.WriteCloser, o Options) (*Client, error) {
	return newClient(in, out, transport{out: out}, o).begin(ctx, "", o)
}

// newClient returns a client of a server that is not initialized yet.
func newClient(in io.Reader, out io.Writer, t transport, o Options) *Client {
	c := &Client{transport: t, feeds: map[int64]*feed{}, base: eventsOf(o), secret: o.OnSecret != nil}
	if o.OnEvent != nil {
		c.events, c.told = newQueue[Event](), make(chan struct{})
	}
	c.conn = newConn(in, out, c.event, o.Trace, t.why)
	if o.OnEvent != nil {
		go c.tell(o.OnEvent)
	}
	if t.ended == nil {
		c.transport.ended = c.conn.Done()
	}
	c.closeOut = sync.OnceFunc(func() { _ = t.out.Close() }) // An error means that the server has ended.
	if t.kill == nil {
		c.transport.late = errNotEnded
		c.transport.kill = func() { _ = c.conn.rpc.Close() } // It fails if the connection has ended already.
	}
	return c
}

// begin initializes the server. If that fails, the server is ended.
func (c *Client) begin(ctx context.Context, path string, o Options) (*Client, error) {
	err := c.initialize(ctx, o)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stop = context.AfterFunc(ctx, func() { _ = c.Close() }) // A later Close returns the error.
		return c, nil
	}
	_, refused := err.(*Error)
	if !refused {
		c.transport.kill() // It may not know how to end, and has no jobs yet.
	}
	_ = c.Close() // The other error is the reason.
	if refused || ctx.Err() != nil {
		return nil, err
	}
	return nil, &StartError{Path: path, Err: err}
}

// initialize sends initialize, and checks its answer.
func (c *Client) initialize(ctx context.Context, o Options) error {
	foreign := make(chan struct{}) // closed when the other side sends a request first, such as an echo of ours
	once := sync.OnceFunc(func() { close(foreign) })
	c.conn.Answer(func(context.Context, string, json.RawMessage) (any, error) {
		once()
		return nil, errors.New("nothing is initialized yet")
	})
	timeout := o.StartTimeout
	if timeout == 0 {
		timeout = 15 * time.Second
	}
	begun, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	var info schema.InitializeResult
	answered := make(chan error, 1)
	go func() { answered <- c.conn.Call(context.Background(), "initialize", c.params(o), &info) }()
	var err error
	select {
	case err = <-answered:
	case <-foreign:
		return ErrNotShelld
	case <-begun.Done():
		if ctx.Err() != nil {
			return fmt.Errorf("the server was not initialized: %w", ended(ctx))
		}
		return fmt.Errorf("%w: it has not answered initialize within %v", ErrNotShelld, timeout)
	}
	c.Info = info
	switch {
	case KindOf(err) == schema.KindUnsupportedVersion:
		return fmt.Errorf("%w: %w", ErrVersion, err)
	case KindOf(err) != "":
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNotShelld, err)
	case c.Info.ProtocolVersion == "":
		return ErrNotShelld
	case c.Info.ProtocolVersion != protocolVersion:
		return fmt.Errorf("%w: %q, and this is %q", ErrVersion, c.Info.ProtocolVersion, protocolVersion)
	case len(c.Info.Capabilities.Modes) == 0:
		return fmt.Errorf("%w: %s", ErrUnsupported, strings.Join(c.Info.Capabilities.TreeControl.NotReached, "; "))
	}
	if limit := info.Limits.MaxMessageBytes; limit > 0 {
		c.conn.Limit(limit)
	}
	c.conn.Answer(answerer(o))
	return c.conn.Notify("initialized", struct{}{})
}

// params returns the params of initialize.
func (c *Client) params(o Options) schema.InitializeParams {
	p := o.Initialize
	p.ProtocolVersion = new(protocolVersion)
	if p.ClientInfo == nil {
		p.ClientInfo = &schema.ClientInfo{Name: new("shelld-go")}
	}
	if !p.ProcessID.Set {
		p.ProcessID = schema.ValueOf(int64(os.Getpid()))
	}
	p.Capabilities = &schema.ClientCapabilities{Ack: new(true), Secret: new(o.OnSecret != nil), Confirm: new(o.OnConfirm != nil)}
	options := schema.Options{}
	if p.Options != nil {
		options = *p.Options
	}
	if c.secret && options.SecretInput == nil {
		options.SecretInput = new(schema.SecretInputClientOnly)
	}
	options.Events = []string{}
	for _, name := range c.base {
		options.Events = append(options.Events, string(name))
	}
	p.Options = &options
	return p
}

// eventsOf returns the events that OnEvent gets of every job: none if nothing would read them.
func eventsOf(o Options) []schema.EventName {
	switch {
	case o.OnEvent == nil:
		return []schema.EventName{}
	case o.Initialize.Options == nil || o.Initialize.Options.Events == nil:
		return []schema.EventName{
			schema.EventNameStarted, schema.EventNamePatternMatched, schema.EventNameWatchRemoved, schema.EventNameStateChanged,
			schema.EventNameWaitingForInput, schema.EventNameCommandFinished, schema.EventNameExited, schema.EventNameClosed,
		}
	}
	names := []schema.EventName{}
	for _, name := range o.Initialize.Options.Events {
		names = append(names, schema.EventName(name))
	}
	return names
}

// answerer returns the function that answers the server's requests by the callbacks.
func answerer(o Options) Answerer {
	return func(ctx context.Context, method string, params json.RawMessage) (any, error) {
		switch {
		case method == "client/secret" && o.OnSecret != nil:
			var ask schema.ClientSecretParams
			if err := json.Unmarshal(params, &ask); err != nil {
				return nil, err
			}
			value, err := o.OnSecret(ctx, ask)
			if err != nil {
				return schema.ClientSecretResult{Declined: new(true)}, nil
			}
			return schema.ClientSecretResult{Value: &value}, nil
		case method == "client/confirm" && o.OnConfirm != nil:
			var ask schema.ClientConfirmParams
			if err := json.Unmarshal(params, &ask); err != nil {
				return nil, err
			}
			outcome, err := o.OnConfirm(ctx, ask)
			if err != nil {
				outcome = schema.ConfirmOutcomeDeny
			}
			return schema.ClientConfirmResult{Outcome: outcome}, nil
		}
		return nil, unknownMethod(method)
	}
}

// event passes an event to the feed of its job and to OnEvent. It runs on the reading goroutine, and never waits.
func (c *Client) event(e Event) {
	switch name := schema.EventName(strings.TrimPrefix(e.Method, "job/")); name {
	case schema.EventNameOutput:
		if taken, _ := c.feed(e, false); taken || !c.wants(name) {
			return // Output in a feed is acknowledged by its reader alone.
		}
	case schema.EventNameExited, schema.EventNameClosed:
		if _, f := c.feed(e, true); f != nil && !slices.Contains(f.events, name) {
			return // Only the loop over the job's output has asked for it.
		}
	}
	if c.events != nil {
		c.events.put(e)
	}
}

// tell calls OnEvent until the server has ended and every event was passed on. Output is acknowledged: nothing else
// does for output that is asked for in this way.
func (c *Client) tell(onEvent func(Event)) {
	defer close(c.told)
	for e := range c.events.all(context.Background(), c.conn.Done()) {
		onEvent(e)
		if e.Method == "job/output" {
			var p schema.JobOutputParams
			if e.Decode(&p) == nil {
				_ = c.conn.Notify("job/ack", ack(p.Handle, p.Stream, p.Offset+p.Bytes)) // The next call notices a lost server.
			}
		}
	}
}

// wants reports whether OnEvent gets this event of every job.
func (c *Client) wants(name schema.EventName) bool { return slices.Contains(c.base, name) }

// Call sends a request and waits for its answer. result may be nil. If ctx is done first, the request is withdrawn with
// $/cancelRequest; the error is then that of ctx, and an *Error of the kind canceled. A request that was answered all
// the same has its result. A server that neither reads nor answers is given up after a few seconds.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.conn.call(ctx, method, params, result, callHooks{})
}

// Notify sends a notification. It waits while the server does not read its input.
func (c *Client) Notify(method string, params any) error { return c.conn.Notify(method, params) }

// Done returns a channel that is closed when the server has ended its output.
func (c *Client) Done() <-chan struct{} { return c.conn.Done() }

// A Caller makes calls: a *Client or a *Conn.
type Caller interface {
	Call(ctx context.Context, method string, params, result any) error
}

// Call makes a call of any method of the protocol, with the types of package schema:
//
//	found, err := client.Call[schema.JobSearchResult](ctx, c, "job/search", schema.JobSearchParams{Literal: new("FAIL")})
func Call[R, P any](ctx context.Context, c Caller, method string, params P) (*R, error) {
	result := new(R)
	if err := c.Call(ctx, method, params, result); err != nil {
		return nil, err
	}
	return result, nil
}

// closeSlack is how long a server may take to end, besides the grace that its jobs get.
const closeSlack = 15 * time.Second

// The errors of Close for a server that does not end by itself: a process was killed, and of any other only the
// connection could be ended.
var (
	errKilled   = errors.New("the server did not end, and was killed; its jobs have ended with it")
	errNotEnded = errors.New("the server did not end, and its connection was closed; it may still run, and its jobs too")
)

// Close ends all jobs, and the server. It returns when nothing is left of them, and an error if the server did not end
// in time: a process is killed then, and of any other server, only the connection is closed. It may be called several
// times, and from several goroutines.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.mu.Lock()
		stop := c.stop
		c.mu.Unlock()
		if stop != nil {
			stop()
		}
		go func() {
			// Errors do not matter: the end of its input ends the server too, and frees this goroutine.
			_, _ = c.conn.Send("shutdown", struct{}{})
			_ = c.conn.Notify("exit", struct{}{})
			c.closeOut()
		}()
		defer c.closeOut() // It frees the goroutine, and any call, that waits for a write.
		limit := time.NewTimer(closeSlack + time.Duration(c.Info.Limits.ShutdownGraceMs)*time.Millisecond)
		defer limit.Stop()
		select {
		case <-c.transport.ended:
		case <-limit.C:
			c.closed = c.transport.late
			c.closeOut()
			c.transport.kill()
			<-c.transport.ended
		}
		<-c.conn.Done()
		if c.told != nil {
			<-c.told
		}
	})
	return c.closed
}
