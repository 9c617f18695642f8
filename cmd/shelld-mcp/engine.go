package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"shelld/cmd/internal/base"
	"shelld/jobs"
	"shelld/rpc"
	"shelld/schema"
)

// An engine is a server of the Shell Server Protocol in this process, and its one client.
//
// Goroutines: one serves; it ends when the client has said so, and lets go of everything.
// The client's reader ends after it.
type engine struct {
	// Immutable:
	client *rpc.Client
	info   schema.InitializeResult
	in     *io.PipeWriter // what the client says
	over   chan struct{}  // closed when nothing is left of the server
	err    error          // what was left behind; to be read once over is closed
	ended  sync.Once
	lists  sync.Mutex // held by the one job/list that is in flight

	mu    sync.Mutex       // guards what follows, and makes a request known before its questions come
	calls map[string]*call // whose each request in flight is, by its id
}

// errNoJobs says that there is nothing to serve here.
var errNoJobs = errors.New("this system cannot run jobs: " + strings.Join(jobs.Platform().NotReached, "; "))

// errFlags is what the server refuses of what the flags say.
type errFlags struct{ error }

// startEngine starts a server and initializes it. notice gets its notifications, on the
// client's reader.
func startEngine(p schema.InitializeParams, log *slog.Logger, notice func(rpc.Notice)) (*engine, error) {
	if len(jobs.Platform().Modes) == 0 {
		return nil, errNoJobs
	}
	m, err := jobs.NewManager(jobs.Options{Log: log, Version: base.Version()})
	if err != nil {
		return nil, err
	}
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	e := &engine{in: in, over: make(chan struct{}), calls: map[string]*call{}}
	go func() {
		defer close(e.over)
		_, serveErr := rpc.Serve(context.Background(), theirIn, theirOut, m, rpc.Options{Version: base.Version(), Log: log})
		_, _ = theirIn.Close(), theirOut.Close() // They return nil; the client sees the end.
		e.err = errors.Join(serveErr, m.Close())
	}()
	e.client = rpc.NewClient(out, in, notice, nil)
	e.client.Answer(e.answer)
	if err := e.client.Call(context.Background(), "initialize", p, &e.info); err != nil {
		refusal, ok := errors.AsType[*rpc.CallError](err)
		if ok && (refusal.Kind != schema.KindOutputFileError || p.Options.Persist != nil) {
			return nil, errors.Join(errFlags{explained("", err)}, e.end())
		}
		return nil, errors.Join(explained("", err), e.end())
	}
	return e, e.client.Notify("initialized", struct{}{})
}

// initializeParams are what the flags say, for the server. ask has what a person is to be
// asked about.
func (c *config) initializeParams(ask schema.ConfirmOptions) schema.InitializeParams {
	o := &schema.Options{
		// The start names the job while the call that has started it waits; the exit goes to the
		// host's log, and tells why a command could not be run; the end lets a job be forgotten.
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

// end ends the server as a client should, and its jobs with it; it may be called again, and
// returns when nothing is left.
func (e *engine) end() error {
	e.ended.Do(func() {
		// What cannot be said any more need not be: the end of its input ends the server too.
		_ = e.client.Call(context.Background(), "shutdown", struct{}{}, nil)
		_ = e.client.Notify("exit", struct{}{})
		_ = e.in.Close()
	})
	<-e.over
	<-e.client.Done()
	return e.err
}

// ask makes a request of c's, and awaits its answer. When ctx is done the request is
// cancelled.
func (e *engine) ask(ctx context.Context, c *call, method string, params, result any) error {
	if method == "job/list" { // It waits for nothing, and several long answers could be more than the outbox takes.
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

// send sends a request of c's.
func (e *engine) send(c *call, method string, params any) (*rpc.SentCall, error) {
	// The server's question about it may come before Send returns: whoever answers that
	// waits for the lock.
	e.mu.Lock()
	defer e.mu.Unlock()
	sent, err := e.client.Send(method, params)
	if err == nil {
		e.calls[sent.ID()] = c
	}
	return sent, err
}

// callOf is the call that a request in flight was made for; nil where there is none.
func (e *engine) callOf(requestID json.RawMessage) *call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[string(requestID)]
}

// forget is to be called when a request is answered.
func (e *engine) forget(sent *rpc.SentCall) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.calls, sent.ID())
}

// answer answers what the server asks.
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
		return schema.ClientConfirmResult{Outcome: schema.ConfirmOutcomeDeny}, nil // Its call is over.
	}
	return schema.ClientConfirmResult{Outcome: c.confirm(ctx, questionOf(&p))}, nil
}
