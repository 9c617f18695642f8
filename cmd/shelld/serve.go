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

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/rpc"
)

func serveCommand() *base.Command {
	return &base.Command{
		Name:    "serve",
		Summary: "speak the protocol on stdin and stdout (the default)",
		Flags:   serveFlags,
		Notes:   "Exit status: 0 if the client ended the server properly, 1 if not, 2 if the command line is wrong.",
	}
}

// framings are the values of -framing.
var framings = map[string]rpc.Framing{"auto": 0, "header": rpc.FramingHeader, "line": rpc.FramingLine}

func serveFlags(fs *flag.FlagSet) func(*base.Call) int {
	framing, level := "auto", slog.LevelWarn
	fs.Var(base.Choice{To: &framing, Allowed: []string{"auto", "header", "line"}}, "framing", "how messages are framed: `auto` (detected from the first byte), header (Content-Length) or line (one JSON text per line)")
	fs.Var(base.Level{Level: &level}, "log", "the lowest `level` that is logged on stderr: debug, info, warn or error")
	return func(*base.Call) int {
		return serve(rpc.Options{Version: base.Version(), Framing: framings[framing]}, level)
	}
}

// serve runs the server. It returns 0 if the client has ended it properly, otherwise 1.
func serve(opts rpc.Options, level slog.Level) int {
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

// withoutKeepers is set by tests that run the suite on Linux with the implementation for macOS.
var withoutKeepers bool

// serveOn serves one client and releases everything.
func serveOn(in io.Reader, out io.Writer, opts rpc.Options) int {
	// If the client dies, stderr breaks too: a write to it must not end the server before its jobs. The signal is
	// caught, not ignored, because child processes would inherit an ignored signal.
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

// greet explains the server to a person who has started it by hand.
func greet(w io.Writer) {
	fmt.Fprint(w, `shelld is a server that programs drive over stdin and stdout; on a terminal it has
no client. To see it at work:

    shelld demo

To use it, start it as a child process with pipes and send JSON-RPC, one message per
line or with Content-Length headers, beginning with "initialize":

    echo '{"jsonrpc":"2.0","id":1,"method":"initialize"}' | shelld

docs/examples has clients in Python and Node to copy from. "shelld help" says more.
`)
}
