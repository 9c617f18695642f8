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
	"strings"
	"syscall"

	"golang.org/x/term"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/jobs/stored"
	"shelld.dev/shelld/rpc"
)

// A jobsRun runs a subcommand of "shelld jobs".
type jobsRun func(ctx context.Context, p *pastJobs, args []string) error

// jobsCommand returns the command for stored jobs.
func jobsCommand() *base.Command {
	return &base.Command{
		Name:    "jobs",
		Summary: "list, show, follow and tidy up stored jobs, also those of servers that have ended",
		Default: "list",
		About:   "Shows the output that servers store, of running jobs and of ended ones.",
		Notes: `A JOB is SESSION/HANDLE as "shelld jobs" shows it, where a unique beginning of SESSION is
enough; or the name that the job was started with (of several, a running one, then the
newest one); or "last", the job that was started last.

Exit status: 0 if it worked, 1 if something failed, there is no such job or no line matches,
2 if the command line is wrong.`,
		Commands: []*base.Command{
			jobsRow("list", "", "list the jobs (the default)", listFlags),
			jobsRow("show", "JOB", "print everything stored about a job", showFlags),
			jobsRow("tail", "JOB", "print the end of a job's output, and with -f new output", tailFlags),
			jobsRow("screen", "JOB", "draw what a job's terminal shows, as text or as a picture", screenFlags),
			jobsRow("play", "JOB", "play the recording of a job", playFlags),
			jobsRow("search", "PATTERN [JOB...]", "print the lines of stored output that match", searchFlags),
			jobsRow("prune", "", "delete stored jobs of ended servers, except the ones to keep", pruneFlags),
		},
	}
}

// jobsRow returns one of its subcommands.
func jobsRow(name, operands, summary string, flags func(*flag.FlagSet) jobsRun) *base.Command {
	c := &base.Command{Name: name, Operands: operands, Summary: summary, Mixed: true}
	c.Flags = func(fs *flag.FlagSet) func(*base.Call) int {
		dir := fs.String("dir", "", "the `directory` where servers store jobs; by default $XDG_STATE_HOME/shelld/io, or its counterpart on this platform")
		run := flags(fs)
		return func(c *base.Call) int { return runJobs(c, *dir, run) }
	}
	c.Like = map[string][]string{"list": {"ls", "ps"}, "show": {"inspect"}, "tail": {"log", "logs", "cat"}, "prune": {"rm", "clean"}}[name]
	if name == "list" {
		c.Extra = listArgument
	}
	return c
}

// A pastJobs is the state directory that a command works on.
type pastJobs struct {
	*stored.Directory        // nil: it does not exist
	dir               string // "": it does not exist
	place             string // its path, even if it does not exist
	out               io.Writer
	terminal          bool   // out is a terminal: no control character from a job may reach it
	release           func() // restores the default action of signals, when the command makes no more changes
}

// An errUsage is an error in the command line. Its text is the whole message.
type errUsage struct{ error }

func runJobs(c *base.Call, dir string, run jobsRun) int {
	all, end := context.WithCancel(context.Background())
	defer end()
	ctx, release := heedSignals(all)
	p, err := openPast(dir)
	if err == nil {
		p.release = release
		err = run(ctx, p, c.Args)
		if p.Directory != nil {
			err = errors.Join(err, p.Close())
		}
	}
	if err == nil {
		return 0
	}
	if errors.Is(err, errNothing) {
		return 1
	}
	if bad := (errUsage{}); errors.As(err, &bad) {
		return c.Wrong("%w", bad.error)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", c.Name(), printable(strings.ReplaceAll(base.Explain(err), "\n", "; ")))
	if by, ok := errors.AsType[errInterrupted](err); ok {
		return statusSignal + int(by.Signal)
	}
	return 1
}

// An errInterrupted is the cause of an error after a signal.
type errInterrupted struct{ syscall.Signal }

func (errInterrupted) Error() string { return "interrupted" }

// heedSignals returns a context that the first signal cancels, with the signal as its cause. The second signal has its
// default action, and so has the first after release.
func heedSignals(parent context.Context) (ctx context.Context, release func()) {
	ctx, interrupt := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup makes a program ignore SIGHUP.
			signal.Notify(signals, s)
		}
	}
	release = func() { signal.Stop(signals) }
	go func() {
		select {
		case s := <-signals:
			release()
			interrupt(errInterrupted{s.(syscall.Signal)}) // All signals requested above have this type.
		case <-ctx.Done():
			release()
		}
	}()
	return ctx, release
}

// absolute returns an absolute path. It does not clean the path: the meaning of .. after a symlink is left to the
// kernel.
func absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	wd, err := os.Getwd()
	return wd + string(filepath.Separator) + path, err
}

// openPast opens the directory. A missing default directory is not an error: then there are no jobs.
func openPast(dir string) (*pastJobs, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	p := &pastJobs{out: os.Stdout, terminal: term.IsTerminal(int(os.Stdout.Fd()))}
	var err error
	if dir != "" {
		if dir, err = absolute(dir); err != nil {
			return nil, err
		}
	}
	if p.place = dir; dir == "" {
		p.place, _ = stored.DefaultDirectory() // Open returns the error.
	}
	switch p.Directory, err = stored.Open(dir, rpc.StoredInfo{}, log); {
	case err == nil:
		p.dir = p.Path()
	case errors.Is(err, fs.ErrNotExist) && dir != "":
		return nil, fmt.Errorf("there is no directory %s; give with -dir the one where servers store jobs", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return p, nil
}

// all returns the stored jobs, after finishing those of dead servers.
func (p *pastJobs) all(ctx context.Context) ([]stored.Job, error) {
	if p.Directory == nil {
		return nil, nil
	}
	_, err := p.Tidy(ctx, nil, false)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.release() // The rest only reads, and would not notice a cancelled context.
	// If nothing can be changed, or another process is tidying, the jobs can still be read.
	return p.Jobs(ctx)
}
