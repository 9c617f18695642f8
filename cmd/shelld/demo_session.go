package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/schema"
)

// A demoSession contains a server process, the events that it has sent, and the data that steps pass to later steps.
//
// Goroutines: the client's reader calls notice; everything else belongs to the goroutine that runs the steps.
type demoSession struct {
	// Immutable:
	print  *demoPrinter
	server *exec.Cmd
	stdin  io.Closer
	client *client.Conn

	// Owned by the steps:
	detects bool // the server knows exactly when a job waits for input
	handle  int64
	leader  int64 // PID
	worker  int64 // PID
	killed  []schema.KilledProcess

	mu      sync.Mutex // guards the following fields
	seen    demoRecord
	fault   error         // for the first event that broke a guarantee
	changed chan struct{} // closed and replaced at every event
}

// startDemoSession starts the server with pipes, as an editor or an agent does.
func startDemoSession(cmd *exec.Cmd, p *demoPrinter) (*demoSession, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe to the server: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe from the server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	s := &demoSession{print: p, server: cmd, stdin: stdin, changed: make(chan struct{})}
	s.client = client.NewConn(stdout, stdin, s.notice, p.message)
	return s, nil
}

// notice adds an event. It runs on the client's reading goroutine.
func (s *demoSession) notice(n client.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.seen.add(n); err != nil && s.fault == nil {
		s.fault = err
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// call sends a request to the server and waits for its answer.
func (s *demoSession) call(ctx context.Context, method string, params, result any) error {
	if err := s.client.Call(ctx, method, params, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// await returns when holds is true for the events so far; what describes that condition in errors. An answer may arrive
// before earlier events, so a step may have to wait for an event after the answer.
func (s *demoSession) await(ctx context.Context, what string, holds func(*demoRecord) bool) error {
	gone := s.client.Done()
	for {
		s.mu.Lock()
		ok, fault, changed := holds(&s.seen), s.fault, s.changed
		s.mu.Unlock()
		switch {
		case fault != nil:
			return fault
		case ok:
			return nil
		case gone == nil:
			return fmt.Errorf("the server ended before %s", what)
		}
		select {
		case <-changed:
		case <-gone:
			gone = nil // All of its events have been added by now, so holds is checked once more.
		case <-ctx.Done():
			return fmt.Errorf("%s was not seen", what)
		}
	}
}

// record returns a copy of the events so far.
func (s *demoSession) record() demoRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.seen
	r.pushed = slices.Clone(r.pushed)
	return r
}

// serverEnded waits for the end of the server, and returns an error unless its status is 0.
func (s *demoSession) serverEnded() error {
	<-s.client.Done() // The pipe must be read to its end first; see exec.Cmd.StdoutPipe.
	if err := s.server.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w", err)
	}
	return nil
}

// end ends the server in any case. The end of its input ends it and its jobs; if that takes too long, the context kills
// it.
func (s *demoSession) end() {
	_ = s.stdin.Close() // It may be closed already.
	<-s.client.Done()
	_ = s.server.Wait() // Its status was returned by serverEnded, or there is a worse error.
}

// alive reports whether a process with this PID exists.
func alive(pid int64) bool {
	p, err := os.FindProcess(int(pid))
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }() // There is nothing to clean up if it fails.
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
