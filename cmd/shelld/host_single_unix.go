//go:build linux || darwin

package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
)

// A singleServer is a session with one connection, which ends with it.
type singleServer struct {
	mgr  *jobs.Manager
	opts rpc.Options
	done chan struct{}

	mu     sync.Mutex
	taken  bool
	ctx    context.Context
	cancel context.CancelFunc
}

func newSessionServer(m *jobs.Manager, o rpc.Options) sessionServer {
	s := &singleServer{mgr: m, opts: o, done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

func (s *singleServer) Serve(ctx context.Context, in io.Reader, out io.Writer) (bool, error) {
	s.mu.Lock()
	taken := s.taken
	s.taken = true
	s.mu.Unlock()
	if taken {
		return false, errors.New("the session has a client")
	}
	defer close(s.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	return rpc.Serve(ctx, in, out, s.mgr, s.opts)
}

func (s *singleServer) Done() <-chan struct{} { return s.done }

func (s *singleServer) End() { s.cancel() }
