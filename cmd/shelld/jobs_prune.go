package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"shelld.dev/shelld/jobs/stored"
)

func pruneFlags(fs *flag.FlagSet) jobsRun {
	d := stored.DefaultRetention
	keep := fs.Int("jobs", d.Jobs, "how many jobs of ended servers are kept: the `number`")
	days := fs.Int("days", int(d.Age/day), "for how many `days` they are kept")
	most := fs.Int64("bytes", d.Bytes, "how many `bytes` their files may have in total")
	all := fs.Bool("all", false, "keep none of them; jobs of servers that may be alive are never deleted")
	asJSON := fs.Bool("json", false, "print JSON, for programs")
	return func(ctx context.Context, p *pastJobs, _ []string) error {
		switch {
		case *keep < 0 || *days < 0 || *most < 0 || time.Duration(*days) > maxAge/day:
			return errUsage{errors.New("-jobs, -days and -bytes must be 0 or more, and -days at most 100000")}
		}
		r := stored.Retention{Jobs: *keep, Age: time.Duration(*days) * day, Bytes: *most}
		if *all {
			r.Jobs = 0
		}
		var done stored.TidyReport
		if p.Directory != nil {
			var err error
			if done, err = p.prune(ctx, &r); err != nil {
				return err
			}
		}
		if err := p.printPruned(done, *asJSON); err != nil {
			return err
		}
		if done.Failed > 0 {
			return fmt.Errorf("%s could not be deleted; see the errors above", count(done.Failed, "job"))
		}
		return nil
	}
}

func (p *pastJobs) printPruned(done stored.TidyReport, asJSON bool) error {
	if asJSON {
		return p.print(map[string]any{"deleted": done.Deleted, "freedBytes": done.Freed, "kept": done.Kept, "lost": done.Lost})
	}
	_, err := fmt.Fprintf(p.out, "%s deleted, %s; %d of ended servers are kept\n", count(done.Deleted, "job"), size(done.Freed), done.Kept)
	return err
}

// prune deletes jobs. If another process is tidying the directory, it prints that, and waits.
func (p *pastJobs) prune(ctx context.Context, keep *stored.Retention) (stored.TidyReport, error) {
	done, err := p.Tidy(ctx, keep, false)
	if errors.Is(err, stored.ErrBusy) {
		fmt.Fprintf(os.Stderr, "another shelld is tidying up in %s; waiting for it to end\n", printable(p.dir))
		done, err = p.Tidy(ctx, keep, true)
	}
	switch by := context.Cause(ctx); {
	case err == nil:
		return done, nil
	case by == nil || !errors.Is(err, ctx.Err()):
		return done, fmt.Errorf("in %s: %w", p.dir, err)
	case done.Deleted == 0:
		return done, fmt.Errorf("%w; nothing was deleted", by)
	default:
		return done, fmt.Errorf("%w; %s deleted before that, %s", by, count(done.Deleted, "job"), size(done.Freed))
	}
}

const (
	day    = 24 * time.Hour
	maxAge = 100_000 * day
)

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
