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

// A localServer is a server in this process, and its client.
//
// Goroutines: one serves; it ends when the client has said so, when the client's end
// of the pipes is closed, or when stop was called, and lets go of everything. The
// client's reader ends after it.
type localServer struct {
	*rpc.Client
	in   *io.PipeWriter // what the client says
	stop context.CancelFunc
	over chan struct{} // closed when nothing is left of the server
	err  error         // what was left behind; to be read once over is closed
}

// errNoJobs says that there is nothing to serve here.
var errNoJobs = errors.New("this system cannot run jobs: " + strings.Join(jobs.Platform().NotReached, "; "))

// startLocal starts a server. notice gets its notifications, on the client's reader.
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
		_, _ = theirIn.Close(), theirOut.Close() // They return nil; the client sees the end.
		l.err = errors.Join(serveErr, m.Close())
	}()
	l.Client = rpc.NewClient(out, in, notice, nil)
	return l, nil
}

// end ends the server as a client should, and its jobs with it.
func (l *localServer) end() error {
	// What cannot be said any more need not be: the end of its input ends the server too.
	_ = l.Call(context.Background(), "shutdown", struct{}{}, nil)
	_ = l.Notify("exit", struct{}{})
	_ = l.in.Close()
	<-l.over
	<-l.Done()
	return l.err
}

// explainCall is an error without the name of its kind, which is for programs.
func explainCall(err error) string {
	if call, ok := errors.AsType[*rpc.CallError](err); ok {
		return call.Message
	}
	return err.Error()
}
