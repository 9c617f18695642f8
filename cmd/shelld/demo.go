package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"golang.org/x/term"

	"shelld/cmd/internal/base"
)

// demoTimeout bounds the whole demo. It takes about a second.
const demoTimeout = 30 * time.Second

// A demoStep is one thing that is shown: a name for when it fails, a line that says
// beforehand what is to be seen and why it matters, and what is done and checked.
type demoStep struct {
	name  string
	story string
	run   func(context.Context, *demoSession) error
}

func demoCommand() *base.Command {
	return &base.Command{
		Name:    "demo",
		Summary: "start a server, drive a real program through it, and show every message",
		Notes:   "Exit status: 0 if every step was seen to happen, 1 if not, 2 if the command line is wrong.",
		Flags: func(fs *flag.FlagSet) func(*base.Call) int {
			all := fs.Bool("all", false, "show all members of every message, not only those that matter here")
			return func(*base.Call) int { return demo(*all) }
		},
	}
}

// demo starts a server and drives a program through it in front of a person. It
// exits with 0 only if every step was seen to happen.
func demo(all bool) int {
	p := newDemoPrinter(os.Stdout, demoWidth(os.Stdout), demoColour(os.Stdout), all)
	if err := runDemo(demoTimeout, p, demoServer, demoSteps()); err != nil {
		fmt.Fprintf(os.Stderr, "shelld demo: %v\n", err)
		return 1
	}
	return 0
}

// demoServer is this very program as a server, which logs to where we do.
func demoServer(ctx context.Context) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "serve")
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// runDemo plays the steps against a server of its own, which has to end when its
// context is done: neither a step nor the server's end takes longer than timeout.
func runDemo(timeout time.Duration, p *demoPrinter, server func(context.Context) (*exec.Cmd, error), steps []demoStep) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	p.title("shelld demo: a real server and a real sh, and every message between us and it.",
		"→ is what a client sends, ← what the server does; -all shows what … leaves out.")
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

// demoColour says whether f shows colours to somebody who wants them
// (https://no-color.org).
func demoColour(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// demoWidth is how many columns there are to write in: lines longer than a hundred
// are hard to read, and fewer than forty leave no room beside the times.
func demoWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return min(max(width, 40), 100)
}
