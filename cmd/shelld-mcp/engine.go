package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/client/inprocess"
	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/schema"
)

// An engine is a server of the Shell Server Protocol in this process, with its one client.
type engine struct {
	// Immutable:
	client *client.Conn
	server *inprocess.Server
	info   schema.InitializeResult
	end    func() error // shuts down the server, and with it all jobs; may be called several times
	lists  sync.Mutex   // held by the one job/list in flight

	mu    sync.Mutex       // guards calls; held over a send, so that a request is in calls before the server asks about it
	calls map[string]*call // the call of each request in flight, by request ID
}

// An errFlags is the server's error about an option that a flag has set.
type errFlags struct{ error }

// startEngine starts a server and initializes it. notice is called for its notifications, on the client's reading
// goroutine.
func startEngine(p schema.InitializeParams, log *slog.Logger, notice func(client.Event)) (*engine, error) {
	server, err := inprocess.Serve(rpc.Options{Version: base.Version(), Log: log})
	if err != nil {
		return nil, err
	}
	conn := client.NewConn(server.Out, server.In, notice, nil)
	e := &engine{client: conn, server: server, calls: map[string]*call{}}
	e.end = sync.OnceValue(func() error { return server.End(conn) })
	e.client.Answer(e.answer)
	if err := e.client.Call(context.Background(), "initialize", p, &e.info); err != nil {
		refusal, ok := errors.AsType[*client.Error](err)
		if ok && (refusal.Kind != schema.KindOutputFileError || p.Options.Persist != nil) {
			return nil, errors.Join(errFlags{explained("", err)}, e.end())
		}
		return nil, errors.Join(explained("", err), e.end())
	}
	conn.Limit(e.info.Limits.MaxMessageBytes)
	return e, e.client.Notify("initialized", struct{}{})
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

// ask sends a request for c and waits for its answer. If ctx is done, it cancels the request.
func (e *engine) ask(ctx context.Context, c *call, method string, params, result any) error {
	if method == "job/list" { // A job/list never waits, and several long answers could exceed the outbox.
		e.lists.Lock()
		defer e.lists.Unlock()
	}
	sent, err := e.send(c, method, params)
	if err != nil {
		return err
	}
	defer e.forget(sent)
	return sent.Await(ctx, result)
}

// send sends a request for c.
func (e *engine) send(c *call, method string, params any) (*client.SentCall, error) {
	// The server's question about the request may come before Send returns: the goroutine that answers it waits for the
	// lock.
	e.mu.Lock()
	defer e.mu.Unlock()
	sent, err := e.client.Send(method, params)
	if err == nil {
		e.calls[sent.ID()] = c
	}
	return sent, err
}

// callOf returns the call of a request in flight; nil: none.
func (e *engine) callOf(requestID json.RawMessage) *call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[string(requestID)]
}

// forget removes a request from those in flight. It must be called when the request is answered.
func (e *engine) forget(sent *client.SentCall) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.calls, sent.ID())
}

// answer answers the server's requests.
func (e *engine) answer(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if method != "client/confirm" {
		return nil, errors.New("shelld-mcp does not answer " + method)
	}
	var p schema.ClientConfirmParams
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	c := e.callOf(p.RequestID)
	if c == nil {
		return schema.ClientConfirmResult{Outcome: schema.ConfirmOutcomeDeny}, nil // The call is over.
	}
	return schema.ClientConfirmResult{Outcome: c.confirm(ctx, questionOf(&p))}, nil
}
