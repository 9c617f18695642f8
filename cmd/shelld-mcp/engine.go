package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/client/inprocess"
	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// An engine is the server of the Shell Server Protocol that runs the jobs: one in this process, or the host of a session.
type engine struct {
	// Immutable:
	server *inprocess.Server // nil: the host of a session
	member *member           // nil: no session
	info   schema.InitializeResult
	notice func(*link, client.Event)
	over   <-chan struct{} // closed when the engine serves no more calls
	end    func() error    // ends the server in this process with all jobs, or leaves the session; may be called several times
	lists  sync.Mutex      // held by the one job/list in flight

	link       atomic.Pointer[link] // stored by the holder of connecting
	connecting chan struct{}        // full while a lost connection to a session is made anew, or the session is left
}

// An errFlags is the server's error about an option that a flag has set.
type errFlags struct{ error }

// startEngine starts a server in this process and initializes it. notice is called for its notifications, on the
// client's reading goroutine.
func startEngine(p schema.InitializeParams, log *slog.Logger, notice func(*link, client.Event)) (*engine, error) {
	server, err := inprocess.Serve(rpc.Options{Version: base.Version(), Log: log})
	if err != nil {
		return nil, err
	}
	e := &engine{server: server, notice: notice, over: server.Over()}
	l := e.newLink(server.Out, server.In)
	e.link.Store(l)
	e.end = sync.OnceValue(func() error { return server.End(l.client) })
	if err := initialize(l.client, p, &e.info); err != nil {
		return nil, errors.Join(err, e.end())
	}
	return e, nil
}

// initialize initializes a connection.
func initialize(conn *client.Conn, p schema.InitializeParams, info *schema.InitializeResult) error {
	if err := conn.Call(context.Background(), "initialize", p, info); err != nil {
		refusal, ok := errors.AsType[*client.Error](err)
		if ok && (refusal.Kind != schema.KindOutputFileError || p.Options.Persist != nil) {
			return errFlags{explained("", err)}
		}
		return explained("", err)
	}
	conn.Limit(info.Limits.MaxMessageBytes)
	return conn.Notify("initialized", struct{}{})
}

// newLink returns a connection on these streams.
func (e *engine) newLink(in io.Reader, out io.Writer) *link {
	l := &link{calls: map[string]*call{}}
	l.client = client.NewConn(in, out, func(n client.Event) { e.notice(l, n) }, nil)
	l.client.Answer(l.answer)
	return l
}

// connected returns the connection to the server. With a session, it makes a new one if the last is lost, until ctx is
// done or the engine ends: a stopped host would never answer.
func (e *engine) connected(ctx context.Context) (*link, error) {
	if l := e.link.Load(); e.member == nil || !l.isLost() {
		return l, nil
	}
	select {
	case e.connecting <- struct{}{}:
		defer func() { <-e.connecting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.over:
		return nil, e.member.lost(true)
	}
	if e.isOver() {
		return nil, e.member.lost(true)
	}
	if l := e.link.Load(); !l.isLost() {
		return l, nil // Another call has made it meanwhile.
	}
	l, err := e.member.returned(ctx, e)
	if err != nil {
		return nil, err
	}
	e.link.Store(l)
	return l, nil
}

// initializeParams converts the flags to the parameters of initialize. ask has the actions that need confirmation.
func (c *config) initializeParams(ask schema.ConfirmOptions) schema.InitializeParams {
	o := &schema.Options{
		// Started identifies the job while the call that starts it still waits; exited is logged to the host, and says
		// why a command could not be run; closed allows the ledger to forget the job.
		Events:        []string{string(schema.EventNameStarted), string(schema.EventNameExited), string(schema.EventNameClosed)},
		Env:           &schema.EnvOptions{Inherit: new(c.env)},
		AllowCommands: c.allowCommands,
		DenyCommands:  c.denyCommands,
		Confirm:       &ask,
	}
	if c.memory {
		o.Persist = &schema.PersistOptions{Mode: new(schema.PersistModeMemory)}
	} else if c.stateDir != "" {
		o.Persist = &schema.PersistOptions{Directory: new(c.stateDir)}
	}
	if c.maxJobs > 0 {
		o.Limits = &schema.LimitOptions{MaxJobs: new(c.maxJobs)}
	}
	p := schema.InitializeParams{
		ClientInfo:         &schema.ClientInfo{Name: new("shelld-mcp"), Version: new(base.Version())},
		ProcessID:          schema.ValueOf(int64(os.Getpid())),
		AllowedDirectories: c.allowDirs,
		Capabilities:       &schema.ClientCapabilities{Confirm: new(true)},
		Options:            o,
	}
	if c.root != "" {
		p.RootDirectory = new(c.root)
	}
	return p
}

// ask sends a request for c and waits for its answer. If ctx is done, it cancels the request. All requests of a call go
// over one connection: behind another one, a handle may mean another job.
func (e *engine) ask(ctx context.Context, c *call, method string, params, result any) error {
	l, err := c.over(ctx, e)
	if err != nil {
		return err
	}
	if method == "job/list" { // A job/list never waits, and several long answers could exceed the outbox.
		e.lists.Lock()
		defer e.lists.Unlock()
	}
	sent, err := l.send(c, method, params)
	if err == nil {
		defer l.forget(sent)
		err = sent.Await(ctx, result)
	}
	if e.member != nil && errors.Is(err, client.ErrServerGone) {
		return e.member.lost(e.isOver())
	}
	return err
}

// isOver reports whether the engine serves no more calls.
func (e *engine) isOver() bool {
	select {
	case <-e.over:
		return true
	default:
		return false
	}
}

// answer answers the server's requests.
func (l *link) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if method != "client/confirm" {
		return nil, errors.New("shelld-mcp does not answer " + method)
	}
	var p schema.ClientConfirmParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	c := l.callOf(p.RequestID)
	if c == nil {
		return schema.ClientConfirmResult{Outcome: schema.ConfirmOutcomeDeny}, nil // The call is over.
	}
	return schema.ClientConfirmResult{Outcome: c.confirm(ctx, questionOf(&p))}, nil
}
