package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// errNothing is that no line has matched; there is no more to say.
var errNothing = errors.New("no line matches")

func searchFlags(fs *flag.FlagSet) func(context.Context, *pastJobs, []string) error {
	literal := fs.Bool("F", false, "the pattern is a text, and no regular expression")
	anyCase := fs.Bool("i", false, "upper and lower case are the same")
	return func(ctx context.Context, p *pastJobs, args []string) error {
		if len(args) == 0 {
			return errUsage{errors.New("there is no pattern to search for")}
		}
		expr := args[0]
		if *literal {
			expr = regexp.QuoteMeta(expr)
		}
		if *anyCase {
			expr = "(?i)" + expr
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return errUsage{err}
		}
		which, err := p.chosen(ctx, args[1:])
		if err != nil {
			return err
		}
		found := false
		for _, j := range which {
			for _, name := range j.Files {
				hit, err := p.searchFile(j, name, re)
				if found = found || hit; err != nil {
					return err
				}
			}
		}
		if !found {
			return errNothing
		}
		return nil
	}
}

// chosen returns the jobs that are named, or all.
func (p *pastJobs) chosen(ctx context.Context, names []string) ([]storedJob, error) {
	if len(names) == 0 {
		return p.stored(ctx)
	}
	var which []storedJob
	for _, name := range names {
		j, err := p.find(ctx, []string{name})
		if err != nil {
			return nil, err
		}
		which = append(which, j)
	}
	return which, nil
}

// searchFile prints the lines of a stream that match, as a person reads them.
func (p *pastJobs) searchFile(j storedJob, name string, re *regexp.Regexp) (found bool, err error) {
	out, err := p.Output(j.past, name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // deleted meanwhile
	}
	if err != nil {
		return false, err
	}
	defer out.Close()
	stream, number, begins := strings.TrimSuffix(name, ".txt"), 0, true
	err = pieces(out, func(b []byte) error {
		for line := range bytes.Lines(b) {
			if begins { // and is not the next piece of a long one
				number++
			}
			begins = line[len(line)-1] == '\n'
			text := strings.TrimSuffix(plainText(line), "\n")
			if !re.MatchString(text) {
				continue
			}
			found = true
			if _, err := io.WriteString(p.out, fmt.Sprintf("%s %s:%d: %s\n", j.short, stream, number, text)); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}
