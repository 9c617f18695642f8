package main

import (
	"errors"
	"log/slog"
	"os"

	"shelld.dev/shelld/client"
	"shelld.dev/shelld/client/inprocess"
	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/rpc"
)

// A localServer is a server in this process, with its client.
type localServer struct {
	*client.Conn
	*inprocess.Server
}

// startLocal starts a server. event is called for its events, on the client's reading goroutine.
func startLocal(opts rpc.Options, event func(client.Event)) (*localServer, error) {
	s, err := inprocess.Serve(localOptions(opts))
	if err != nil {
		return nil, err
	}
	return &localServer{client.NewConn(s.Out, s.In, event, nil), s}, nil
}

// localOptions returns the options of a server in this process: it logs errors to stderr.
func localOptions(opts rpc.Options) rpc.Options {
	opts.Version = base.Version()
	opts.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	return opts
}

// end shuts down the server, and with it all jobs.
func (l *localServer) end() error { return l.End(l.Conn) }

// explainCall returns the text of an error without its kind, which is for programs.
func explainCall(err error) string {
	if call, ok := errors.AsType[*client.Error](err); ok {
		return call.Message
	}
	return err.Error()
}
