package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/term"

	"shelld.dev/shelld/cmd/internal/base"
)

// demoTimeout limits the whole demo. It takes about a second.
const demoTimeout = 30 * time.Second

// A demoStep is one step of the demo: its name, for errors; the line printed before it, which says what the step shows
// and why that matters; and the function that runs and checks it.
type demoStep struct {
	name  string
	story string
	run   func(context.Context, *demoSession) error
}

func demoCommand() *base.Command {
	return &base.Command{
		Name:    "demo",
		Summary: "start a server, drive a real program through it, and show every message",
		Notes:   "Exit status: 0 if every step succeeded, 1 if not, 2 if the command line is wrong.",
		Flags: func(fs *flag.FlagSet) func(*base.Call) int {
			all := fs.Bool("all", false, "show all members of every message, not only those that matter here")
			return func(*base.Call) int { return demo(*all) }
		},
	}
}

// demo starts a server and drives a program through it, for a person to watch. It returns 0 only if every step has
// succeeded.
func demo(all bool) int {
	p := newDemoPrinter(os.Stdout, demoWidth(os.Stdout), demoColour(os.Stdout), all)
	if err := runDemo(demoTimeout, p, demoServer, demoSteps()); err != nil {
		fmt.Fprintf(os.Stderr, "shelld demo: %v\n", err)
		return 1
	}
	return 0
}

// demoServer returns this program as a server with our stderr.
func demoServer(ctx context.Context) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "serve")
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// runDemo runs the steps against a server of its own, which must end if its context is done: neither the steps nor the
// end of the server take longer than timeout.
func runDemo(timeout time.Duration, p *demoPrinter, server func(context.Context) (*exec.Cmd, error), steps []demoStep) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	p.title("shelld demo: a real server, a real sh, and every message to and from the server.",
		"→ is a message from the client, ← one from the server; … is left out (see -all).")
	cmd, err := server(ctx)
	if err != nil {
		return err
	}
	s, err := startDemoSession(cmd, p)
	if err != nil {
		return err
	}
	defer s.end()
	for i, step := range steps {
		p.story(i+1, step.story)
		err := step.run(ctx, s)
		switch {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("step %d, %s: given up after %v: %w", i+1, step.name, timeout, err)
		case err != nil:
			return fmt.Errorf("step %d, %s: %w", i+1, step.name, err)
		}
	}
	p.finish()
	return nil
}

// demoColour reports whether f is a terminal with colours and the user wants them (https://no-color.org).
func demoColour(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// demoWidth returns the number of columns to use: lines longer than 100 are hard to read, and fewer than 40 leave no
// room beside the times.
func demoWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return min(max(width, 40), 100)
}
