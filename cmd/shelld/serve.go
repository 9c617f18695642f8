package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"shelld/cmd/internal/base"
	"shelld/jobs"
	"shelld/rpc"
)

// serve is the server. It exits with 0 if the client had ended it properly, with 1
// if not, with 2 if it was called wrongly.
func serve(args []string) int {
	opts, level, status := serveFlags(args)
	if status >= 0 {
		return status
	}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		greet(os.Stderr)
		return 2
	}
	if err := base.EnoughDescriptors(base.ServerDescriptors); err != nil {
		fmt.Fprintln(os.Stderr, "shelld:", err)
		return 1
	}
	out, err := base.TakeStdout()
	if err != nil {
		fmt.Fprintf(os.Stderr, "shelld: stdout cannot be kept for the protocol: %v\n", err)
		return 1
	}
	opts.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	return serveOn(base.Pollable(os.Stdin), directly(out), opts)
}

// withoutKeepers is set by tests, which hold what macOS runs against the suite on Linux.
var withoutKeepers bool

// serveOn serves one client and lets go of everything.
func serveOn(in io.Reader, out io.Writer, opts rpc.Options) int {
	// A client that died takes stderr along: writing to it must not end the server
	// before its jobs. Caught rather than ignored, since ignoring is inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer stop()
	m, err := jobs.NewManager(jobs.Options{Log: opts.Log, Version: opts.Version, WithoutKeepers: withoutKeepers})
	if err != nil {
		opts.Log.Error("the server cannot start", "error", err)
		return 1
	}
	clean, err := rpc.Serve(ctx, in, out, m, opts)
	if err != nil {
		opts.Log.Warn("the connection ended", "error", err)
	}
	if err := m.Close(); err != nil {
		opts.Log.Error("something was left behind", "error", err)
		clean = false
	}
	if !clean {
		return 1
	}
	return 0
}

// serveFlags returns status < 0 where serving goes on.
func serveFlags(args []string) (opts rpc.Options, level slog.Level, status int) {
	fs := flag.NewFlagSet("shelld serve", flag.ContinueOnError)
	framing := fs.String("framing", "auto", "how messages are framed: `auto` (told by the first byte), header (Content-Length) or line (one JSON text a line)")
	fs.TextVar(&level, "log", slog.LevelWarn, "the least `level` that is logged on stderr: debug, info, warn or error")
	if status, ok := parseFlags(fs, args); !ok {
		return opts, level, status
	}
	switch *framing {
	case "auto":
	case "header":
		opts.Framing = rpc.FramingHeader
	case "line":
		opts.Framing = rpc.FramingLine
	default:
		fmt.Fprintf(os.Stderr, "shelld serve: -framing is auto, header or line, not %q\n", *framing)
		return opts, level, 2
	}
	opts.Version = base.Version()
	return opts, level, -1
}

// greet tells a person who has started the server by hand what it is.
func greet(w io.Writer) {
	fmt.Fprint(w, `shelld is a server that programs drive over stdin and stdout; on a terminal it has
nobody to talk to. To see it at work:

    shelld demo

To use it, start it as a child process with pipes and send JSON-RPC, one message a
line or with Content-Length headers, beginning with "initialize":

    echo '{"jsonrpc":"2.0","id":1,"method":"initialize"}' | shelld

docs/examples has clients in Python and Node to copy from. "shelld help" says more.
`)
}
