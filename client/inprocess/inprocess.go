// Package inprocess has a server of the Shell Server Protocol in this process, for a program that cannot ship another
// one, or is shelld itself. It is a package of its own so that other programs do not contain a server.
package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
)

// A Server is a server with pipes between it and a client.
//
// Goroutines: one serves. It ends when the client has sent exit or has closed In, or when Stop is called, and releases
// everything.
type Server struct {
	Out io.ReadCloser  // the output of the server; it ends with the server
	In  io.WriteCloser // the input of the server: its end ends the server

	manager *jobs.Manager
	stop    context.CancelFunc
	over    chan struct{} // closed when the server has ended and released everything
	err     error         // error of the end; read only after over is closed
}

// ErrNoJobs is the error on a system without any job mode.
var ErrNoJobs = fmt.Errorf("%w: %s", client.ErrUnsupported, strings.Join(jobs.Platform().NotReached, "; "))

// Serve starts a server. Its log and version are those of the options.
func Serve(o rpc.Options) (*Server, error) {
	if len(jobs.Platform().Modes) == 0 {
		return nil, ErrNoJobs
	}
	m, err := jobs.NewManager(jobs.Options{Log: o.Log, Version: o.Version})
	if err != nil {
		return nil, err
	}
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{Out: out, In: in, manager: m, stop: stop, over: make(chan struct{})}
	go func() {
		defer close(s.over)
		defer stop()
		_, serveErr := rpc.Serve(ctx, theirIn, theirOut, m, o)
		_, _ = theirIn.Close(), theirOut.Close() // They return nil; the client gets end of file.
		s.err = errors.Join(serveErr, m.Close())
	}()
	return s, nil
}

// Stop ends the server, without waiting for the ends of its jobs.
func (s *Server) Stop() { s.stop() }

// Over returns a channel that is closed when the server has ended and released everything.
func (s *Server) Over() <-chan struct{} { return s.over }

// endSlack is how long the server and the connection may take to end, besides the grace that the jobs get.
const endSlack = 15 * time.Second

// End shuts down the server, and with it all jobs, by a connection that uses its pipes. It returns when everything is
// released, and the error of that. A server that does not end in time is stopped, which is an error, and so is a
// connection that does not read on. No request may be in flight that initializes the server.
func (s *Server) End(c *client.Conn) error {
	go func() {
		// Errors do not matter: the end of its input ends the server too, and frees this goroutine.
		_, _ = c.Send("shutdown", struct{}{})
		_ = c.Notify("exit", struct{}{})
		_ = s.In.Close()
	}()
	limit := endSlack + max(s.manager.Limits().ShutdownGrace, 0)
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-s.over:
	case <-late.C:
		s.Stop()
		_ = s.In.Close() // It returns nil.
		return errors.Join(fmt.Errorf("the server did not end within %v, and was stopped", limit), s.wait())
	}
	select {
	case <-c.Done():
		return s.err
	case <-late.C:
		return errors.Join(s.err, fmt.Errorf("the server has ended, and its last messages were not read within %v: the connection's event function has to return", limit))
	}
}

// stopTime is how long a server that was stopped may take to release everything.
const stopTime = 30 * time.Second

// wait waits for the end of a server that was stopped, and returns the error of that.
func (s *Server) wait() error {
	late := time.NewTimer(stopTime)
	defer late.Stop()
	select {
	case <-s.over:
		return s.err
	case <-late.C:
		return fmt.Errorf("the server has not ended within %v; its jobs may still run", stopTime)
	}
}

// A Client is a client with a server of its own in this process.
type Client struct {
	*client.Client
	server *Server
}

// Start starts a server and initializes it, as client.Start does with a child process. Path, Args and Stderr of the
// client's options are not used.
func Start(ctx context.Context, o client.Options, server rpc.Options) (*Client, error) {
	s, err := Serve(server)
	if err != nil {
		return nil, err
	}
	c, err := client.Connect(ctx, s.Out, s.In, o)
	if err != nil {
		s.Stop()
		_ = s.wait() // The other error is the reason.
		return nil, err
	}
	return &Client{c, s}, nil
}

// Close ends all jobs and the server. It returns when everything is released, and an error if that takes too long.
func (c *Client) Close() error {
	err := c.Client.Close()
	c.server.Stop() // It has ended already, unless err says otherwise.
	return errors.Join(err, c.server.wait())
}
