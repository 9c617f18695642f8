//go:build linux || darwin

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
	"shelld.dev/shelld/session"
)

// runHost is the process of a host. It returns the exit status.
func runHost(o connectOptions) int {
	// Otherwise the process would be called exe, after the file of its image. It differs from the server's name, so that
	// a pkill by that name does not hit sessions.
	_ = os.WriteFile("/proc/self/comm", []byte("shelld-host"), 0) // Best effort.
	d, err := session.Open(o.dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "shelld host:", err)
		return 1
	}
	clients := &attached{}
	id := rpc.NewSessionID()
	h, err := d.Listen(session.HostOptions{
		Name: o.session, Status: clients.status,
		Info: session.Info{ID: id, Title: o.title, Version: base.Version(), Protocol: "1"},
	}, o.level)
	if err != nil {
		fmt.Fprintln(os.Stderr, "shelld host:", err)
		return 1
	}
	// See serveOn.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer stop()
	opts := rpc.Options{Version: base.Version(), Log: h.Log, SessionID: id, SessionName: o.session}
	m, err := jobs.NewManager(jobs.Options{Log: opts.Log, Version: opts.Version, WithoutKeepers: withoutKeepers})
	if err != nil {
		if err := h.Fail(fmt.Errorf("the server cannot start: %w", err)); err != nil {
			h.Log.Error("the session cannot be closed", "error", err)
		}
		return 1
	}
	s := rpc.NewSession(m, opts)
	clients.session.Store(s)
	h.Ready()
	return clients.run(ctx, h, m, s)
}

// An attached is what a host knows about its clients.
type attached struct {
	session atomic.Pointer[rpc.Session] // nil: it is not there yet

	mu      sync.Mutex
	clients []*session.Arrival
	running sync.WaitGroup
}

// run serves clients until the session ends, and releases everything. It returns the exit status.
func (a *attached) run(ctx context.Context, h *session.Host, m *jobs.Manager, s *rpc.Session) (status int) {
	failed := func(text string, err error) {
		if err != nil {
			h.Log.Error(text, "error", err)
			status = 1
		}
	}
	for !ending(ctx, h, s) {
		select {
		case c := <-h.Arrivals():
			if ending(ctx, h, s) {
				c.Refuse(session.Ending, "the session is about to end")
			} else {
				a.running.Go(func() { a.serve(ctx, c, h, s) })
			}
		case <-s.Done():
		case <-h.EndAsked():
		case <-ctx.Done():
		}
	}
	failed("the socket cannot be closed", h.Stop())
	s.End()
	a.running.Wait()
	failed("something was left behind", m.Close())
	failed("the session cannot be closed", h.Close())
	return status
}

// ending reports whether the session has ended or is to end.
func ending(ctx context.Context, h *session.Host, s *rpc.Session) bool {
	for _, end := range []<-chan struct{}{s.Done(), h.EndAsked(), ctx.Done()} {
		select {
		case <-end:
			return true
		default:
		}
	}
	return false
}

// serve serves a client.
func (a *attached) serve(ctx context.Context, c *session.Arrival, h *session.Host, s *rpc.Session) {
	a.enter(c)
	h.Log.Info("a client is attached", "front", c.Client.PID, "of", c.Client.Name)
	clean, err := s.Serve(c.Context, c.In, c.Out)
	h.Log.Info("a client is detached", "front", c.Client.PID, "clean", clean, "error", err)
	a.leave(c) // before its front knows
	status := 1
	if clean {
		status = 0
	}
	// A client that came just when the session ended was not served. Its front starts another host.
	if ending(ctx, h, s) && c.Refuse(session.Ending, "the session has ended") {
		return
	}
	c.Exit(status)
}

func (a *attached) enter(c *session.Arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients = append(a.clients, c)
}

func (a *attached) leave(c *session.Arrival) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, other := range a.clients {
		if other == c {
			a.clients = append(a.clients[:i:i], a.clients[i+1:]...)
			return
		}
	}
}

func (a *attached) status() any {
	s := hostStatus{Clients: []hostClient{}}
	if ss := a.session.Load(); ss != nil {
		status := ss.Status()
		s.LiveJobs, s.StateDirectory = status.LiveJobs, status.StateDirectory
		if !status.EndsAt.IsZero() {
			at := status.EndsAt.UTC().Truncate(time.Millisecond)
			s.EndsAt = &at
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.clients {
		s.Clients = append(s.Clients, hostClient{c.Client, c.Since.UTC().Truncate(time.Millisecond)})
	}
	return s
}
