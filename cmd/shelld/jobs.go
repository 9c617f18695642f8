package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"shelld/jobs"
	"shelld/rpc"
)

// A jobsCommand is one of what "shelld jobs" can do.
type jobsCommand struct {
	name, args, summary string
	flags               func(*flag.FlagSet) func(context.Context, *pastJobs, []string) error
}

func jobsCommands() []jobsCommand {
	return []jobsCommand{
		{"list", "", "list the jobs (the default)", listFlags},
		{"show", "JOB", "tell all that is stored of a job", showFlags},
		{"tail", "JOB", "print the end of a job's output", tailFlags},
		{"search", "PATTERN [JOB...]", "print the lines of stored output that match", searchFlags},
		{"prune", "", "delete what ended servers have left, beyond what is to be kept", pruneFlags},
	}
}

// pastJobs is the state directory that a command works on.
type pastJobs struct {
	*jobs.Past // nil: there is none
	dir        string
	out        io.Writer
	terminal   bool   // out is one: no control character of a job's may reach it
	release    func() // has signals end the command at once, since it changes nothing more
}

// storedJobs shows what is stored of jobs. It exits with 0, with 1 if something did not
// work, and with 2 if it was called wrongly.
func storedJobs(args []string) int {
	name := "list"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	} else if len(args) > 0 && slices.Contains([]string{"-h", "-help", "--help"}, args[0]) {
		jobsUsage(os.Stdout)
		return 0
	}
	all := jobsCommands()
	i := slices.IndexFunc(all, func(c jobsCommand) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintf(os.Stderr, "shelld jobs: there is no command %q\n\n", name)
		jobsUsage(os.Stderr)
		return 2
	}
	return runJobs(all[i], args)
}

func jobsUsage(w io.Writer) {
	fmt.Fprint(w, `Usage: shelld jobs [COMMAND] [FLAGS]

looks at the output that servers have stored, those that have ended too.

`)
	for _, c := range jobsCommands() {
		fmt.Fprintf(w, "  %-24s %s\n", strings.TrimSpace(c.name+" "+c.args), c.summary)
	}
	fmt.Fprint(w, `
A JOB is what "shelld jobs" shows: SESSION/HANDLE, where so much of the session's name
is enough as no other has; or "last", the one that was started last.
"shelld jobs COMMAND -h" shows the flags of a command.
`)
}

// errUsage is of a command line that is wrong: what there is to say comes with it.
type errUsage struct{ error }

func runJobs(c jobsCommand, args []string) int {
	fs := flag.NewFlagSet("shelld jobs "+c.name, flag.ContinueOnError)
	dir := fs.String("dir", "", "the `directory` that servers store in; else $XDG_STATE_HOME/shelld/io, or the platform's own place")
	run := c.flags(fs)
	rest, status := parseMixed(fs, args)
	if status >= 0 {
		return status
	}
	all, end := context.WithCancel(context.Background())
	defer end()
	ctx, release := heedSignals(all)
	p, err := openPast(*dir)
	if err == nil {
		p.release = release
		err = run(ctx, p, rest)
		if p.Past != nil {
			err = errors.Join(err, p.Close())
		}
	}
	if err == nil {
		return 0
	}
	if errors.Is(err, errNothing) {
		return 1
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", fs.Name(), printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
	if by, ok := errors.AsType[errInterrupted](err); ok {
		return statusSignal + int(by.Signal)
	}
	if bad := (errUsage{}); errors.As(err, &bad) {
		return 2
	}
	return 1
}

// errInterrupted is the cause of what was ended by a signal.
type errInterrupted struct{ syscall.Signal }

func (errInterrupted) Error() string { return "interrupted" }

// heedSignals returns a context that the first signal ends, and is the cause of. The second does
// what it does to any program, and so does the first after release.
func heedSignals(parent context.Context) (ctx context.Context, release func()) {
	ctx, interrupt := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	release = func() { signal.Stop(signals) }
	go func() {
		select {
		case s := <-signals:
			release()
			interrupt(errInterrupted{s.(syscall.Signal)}) // Those that were asked for are of this type.
		case <-ctx.Done():
			release()
		}
	}()
	return ctx, release
}

// parseMixed reads flags that may stand before and behind what is no flag, and returns that.
func parseMixed(fs *flag.FlagSet, args []string) (rest []string, status int) {
	for {
		switch err := fs.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			return nil, 0
		case err != nil:
			return nil, 2
		case fs.NArg() == 0:
			return rest, -1
		}
		if done := len(args) - fs.NArg(); done > 0 && args[done-1] == "--" {
			return append(rest, fs.Args()...), -1
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
}

// absolute is a path from the root. It is not made shorter: what .. means behind a symlink is for
// the kernel to say.
func absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	wd, err := os.Getwd()
	return wd + string(filepath.Separator) + path, err
}

// openPast opens the directory. That there is none is no error: then there are no jobs.
func openPast(dir string) (*pastJobs, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	p := &pastJobs{out: os.Stdout, terminal: term.IsTerminal(int(os.Stdout.Fd()))}
	var err error
	if dir != "" {
		if dir, err = absolute(dir); err != nil {
			return nil, err
		}
	}
	p.Past, err = jobs.OpenPast(dir, rpc.StoredInfo{}, log)
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && dir == "") {
		return nil, err
	}
	if err == nil {
		p.dir = p.Directory()
	}
	return p, nil
}

// all returns the jobs that are there, after those of servers that have died were finished.
func (p *pastJobs) all(ctx context.Context) ([]jobs.PastJob, error) {
	if p.Past == nil {
		return nil, nil
	}
	_, err := p.Tidy(ctx, nil, false)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.release() // What follows only looks, and would not notice.
	// Where nothing can be changed, or somebody else is at it, it can be looked at.
	return p.Jobs(ctx)
}
