package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"shelld/cmd/internal/base"
	"shelld/jobs"
	"shelld/rpc"
)

// A localServer is a server in this process, with its client.
//
// Goroutines: one serves; it ends when the client has sent exit, when the client's ends of the pipes are closed, or
// when stop is called, and releases everything. The client's reader ends after it.
type localServer struct {
	*rpc.Client
	in   *io.PipeWriter // the client's output
	stop context.CancelFunc
	over chan struct{} // closed when the server has ended and released everything
	err  error         // error of the end; read only after over is closed
}

// errNoJobs is the error on a system without any job mode.
var errNoJobs = errors.New("this system cannot run jobs: " + strings.Join(jobs.Platform().NotReached, "; "))

// startLocal starts a server. notice is called for its notifications, on the client's reading goroutine.
func startLocal(opts rpc.Options, notice func(rpc.Notice)) (*localServer, error) {
	if len(jobs.Platform().Modes) == 0 {
		return nil, errNoJobs
	}
	opts.Version = base.Version()
	opts.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	m, err := jobs.NewManager(jobs.Options{Log: opts.Log, Version: opts.Version})
	if err != nil {
		return nil, err
	}
	theirIn, in := io.Pipe()
	out, theirOut := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	l := &localServer{in: in, stop: stop, over: make(chan struct{})}
	go func() {
		defer close(l.over)
		defer stop()
		_, serveErr := rpc.Serve(ctx, theirIn, theirOut, m, opts)
		_, _ = theirIn.Close(), theirOut.Close() // They return nil; the client gets end of file.
		l.err = errors.Join(serveErr, m.Close())
	}()
	l.Client = rpc.NewClient(out, in, notice, nil)
	return l, nil
}

// end shuts down the server, and with it all jobs.
func (l *localServer) end() error {
	// Errors do not matter: the end of its input ends the server too.
	_ = l.Call(context.Background(), "shutdown", struct{}{}, nil)
	_ = l.Notify("exit", struct{}{})
	_ = l.in.Close()
	<-l.over
	<-l.Done()
	return l.err
}

// explainCall returns the text of an error without its kind, which is for programs.
func explainCall(err error) string {
	if call, ok := errors.AsType[*rpc.CallError](err); ok {
		return call.Message
	}
	return err.Error()
}
