// Command shelld-mcp makes shelld usable for models: it is a server of the Model Context Protocol on stdin and stdout,
// whose tools start commands on real terminals, type into them, wait for conditions, and end all processes that were
// started.
//
// It is an ordinary client of the Shell Server Protocol: a server of that protocol runs in the same process, and every
// tool consists of requests to it. The server alone decides about jobs and permissions.
//
//	host → conn → SDK → tool (gemini.go, screen.go, bash.go, cli*.go, compact.go)
//	     → call → client.Conn → pipe → rpc.Serve
//
// With -session it is a client of the session's host instead (member.go): the pipes end in that process, and the jobs live
// on when this one ends.
//
// # Goroutines
//
//  1. conn.readLines reads stdin, conn.writeLines writes stdout; each makes one kind of blocking call, and
//     ends with its stream.
//  2. The SDK has one that takes messages from conn, and one per request.
//  3. The engine has those of package rpc, on both sides of two pipes.
//  4. Each call with progress has one; it ends with the call. One waits for the end of the engine, which comes
//     before that of the connection. At the end, conn has one that ends the engine and waits for the last
//     answers while Read goes on.
//  5. With -session, one waits for the end of a host that this process has started, after its connection was lost.
//     Another one connects, and ends within the limits of package session if its call is canceled.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"shelld.dev/shelld/cmd/internal/base"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run serves one host. It returns 0 if the host has closed stdin or a signal came, and everything was released; 1 after
// an error; 2 if the command line is wrong.
func run(args []string) int {
	cfg, err := parseFlags(args, os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "shelld-mcp: %s (shelld-mcp -h)\n", base.Explain(err))
		return 2
	case cfg.version:
		fmt.Printf("shelld-mcp %s\n", base.Version())
		return 0
	}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprint(os.Stderr, greeting)
		return 2
	}
	if err := base.EnoughDescriptors(base.ServerDescriptors); err != nil {
		fmt.Fprintln(os.Stderr, "shelld-mcp:", err)
		return 1
	}
	out, err := base.TakeStdout()
	if err != nil {
		fmt.Fprintf(os.Stderr, "shelld-mcp: stdout cannot be kept for the protocol: %v\n", err)
		return 1
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.level}))
	// If the host dies, stderr breaks too: a write to it must not end the server before its jobs. The signal is caught,
	// not ignored, because child processes would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer stop()
	if err := serve(ctx, base.Pollable(os.Stdin), out, cfg, log); err != nil {
		if _, ok := errors.AsType[errFlags](err); ok {
			fmt.Fprintf(os.Stderr, "shelld-mcp: %s (shelld-mcp -h)\n", strings.ReplaceAll(err.Error(), "\n", "; "))
			return 2
		}
		log.Error("shelld-mcp ended", "error", err)
		return 1
	}
	return 0
}

// serve serves one host until in ends, ctx is done or out fails, and releases everything.
func serve(ctx context.Context, in io.Reader, out io.Writer, cfg config, log *slog.Logger) error {
	f, err := newFront(ctx, cfg, log)
	if errors.Is(err, context.Canceled) {
		return nil // A signal came before the host of the session had answered.
	}
	if err != nil {
		return err
	}
	err = f.serve(ctx, newConn(in, out, f.engine.end, log))
	return errors.Join(err, f.close())
}

// greeting explains the server to a person who has started it by hand.
const greeting = `shelld-mcp is a server that hosts of the Model Context Protocol (Claude Code, Codex, VS Code,
Gemini CLI, Zed, Cursor and others) start as a child process and drive over stdin and
stdout; on a terminal it has no host to talk to. docs/mcp.md shows the
configuration of each. To look at it by hand:

    npx @modelcontextprotocol/inspector shelld-mcp

"shelld-mcp -h" shows its flags.
`
