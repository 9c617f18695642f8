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

	"shelld/rpc"
	"shelld/schema"
)

// A demoSession is a server of our own, what it has told so far, and what the steps
// leave for each other.
//
// Goroutines: the client's reader calls notice; everything else belongs to the one
// that plays the steps.
type demoSession struct {
	// Immutable:
	print  *demoPrinter
	server *exec.Cmd
	stdin  io.Closer
	client *rpc.Client

	// Owned by the steps:
	handle int64
	leader int64 // pid
	worker int64 // pid
	killed []schema.KilledProcess

	mu      sync.Mutex // guards what follows
	seen    demoRecord
	fault   error         // the first event that broke the contract
	changed chan struct{} // closed and replaced at every event
}

// startDemoSession starts the server over pipes, as an editor or an agent does.
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
	s.client = rpc.NewClient(stdout, stdin, s.notice, p.message)
	return s, nil
}

// notice takes an event in. It runs on the client's reader.
func (s *demoSession) notice(n rpc.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.seen.add(n); err != nil && s.fault == nil {
		s.fault = err
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// call asks the server and awaits its answer.
func (s *demoSession) call(ctx context.Context, method string, params, result any) error {
	if err := s.client.Call(ctx, method, params, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// await returns when the events so far make holds true; what says in words what that
// is. Answers overtake events, so a step that has its answer may yet have to await
// what it speaks of.
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
			gone = nil // Every event it has sent was taken in by now: look once more.
		case <-ctx.Done():
			return fmt.Errorf("%s was not seen", what)
		}
	}
}

// record returns a copy of what was seen.
func (s *demoSession) record() demoRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.seen
	r.pushed = slices.Clone(r.pushed)
	return r
}

// serverEnded awaits the server's own end, and fails unless its status is 0.
func (s *demoSession) serverEnded() error {
	<-s.client.Done() // The pipe has to be read to its end first; see exec.Cmd.StdoutPipe.
	if err := s.server.Wait(); err != nil {
		return fmt.Errorf("the server ended with %w", err)
	}
	return nil
}

// end lets the server go, whatever has happened. The end of its input ends it and
// its jobs, and so does being killed where that takes too long.
func (s *demoSession) end() {
	_ = s.stdin.Close() // It may be closed already.
	<-s.client.Done()
	_ = s.server.Wait() // Its status was told by serverEnded, or there is a worse error.
}

// alive says whether there is a process with this pid.
func alive(pid int64) bool {
	p, err := os.FindProcess(int(pid))
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }() // Nothing is held that could be kept.
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
