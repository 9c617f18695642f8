package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/jobs/stored"
)

// errNothing means that no line has matched; nothing is printed for it.
var errNothing = errors.New("no line matches")

// maxLiteral is the maximum length, in characters, of a text in job/search, and in this command.
const maxLiteral = 2048

func searchFlags(fs *flag.FlagSet) jobsRun {
	literal := fs.Bool("F", false, "the pattern is plain text, not a regular expression")
	anyCase := fs.Bool("i", false, "ignore upper and lower case")
	multiline := fs.Bool("multiline", false, "a match may span several lines")
	return func(ctx context.Context, p *pastJobs, args []string) error {
		if len(args) == 0 {
			return errUsage{errors.New("there is no pattern to search for")}
		}
		if *literal && *multiline {
			return errUsage{errors.New("-multiline does not go with -F, which finds text over line ends anyway: leave out one of them")}
		}
		spec, err := searchSpec(args[0], *literal, *anyCase, *multiline)
		if err != nil {
			return errUsage{err}
		}
		which, missing, err := p.chosen(ctx, args[1:])
		if err != nil {
			return err
		}
		for _, err := range missing {
			fmt.Fprintln(os.Stderr, printable(err.Error()))
		}
		found, err := p.searchAll(ctx, which, spec)
		switch {
		case err != nil:
			return err
		case len(missing) > 0:
			return fmt.Errorf("%d of the named jobs could not be searched; see the errors above", len(missing))
		case !found:
			return errNothing
		}
		return nil
	}
}

// searchSpec returns the compiled search.
func searchSpec(expr string, literal, anyCase, multiline bool) (*jobs.SearchSpec, error) {
	switch {
	case expr == "":
		return nil, errors.New("the pattern is empty and matches every line; \"shelld jobs tail -all JOB\" prints all")
	case !utf8.ValidString(expr):
		return nil, errors.New("the pattern is not UTF-8, but output is searched as UTF-8; write . for each other byte")
	case literal && utf8.RuneCountInString(expr) > maxLiteral:
		return nil, fmt.Errorf("the text has more than %d characters; give a distinctive part of it", maxLiteral)
	}
	spec := &jobs.SearchSpec{Pattern: expr, Flags: "m", Lines: !multiline}
	if literal {
		spec = &jobs.SearchSpec{Literal: expr}
	}
	if anyCase {
		spec.Flags += "i"
	}
	switch err := spec.Compile(); {
	case err == nil:
		return spec, nil
	case literal:
		return nil, err
	case spec.Lines && holdsOverLines(*spec):
		return nil, errors.New("the pattern has a line break, but each line is searched separately: give -multiline, or write $ for the end of a line")
	default:
		return nil, fmt.Errorf("%w; correct it, or search for plain text with -F", err)
	}
}

// holdsOverLines reports whether a spec would be valid if matches could span line ends.
func holdsOverLines(spec jobs.SearchSpec) bool {
	spec.Lines = false
	return spec.Compile() == nil
}

// chosen returns the named jobs, or all jobs without names. missing has an error for each name without a job: if one
// job was deleted meanwhile, the others are still searched.
func (p *pastJobs) chosen(ctx context.Context, names []string) (which []storedJob, missing []error, err error) {
	all, err := p.stored(ctx)
	if err != nil || len(names) == 0 {
		return all, nil, err
	}
	for _, name := range names {
		if j, err := p.findIn(all, name); err != nil {
			missing = append(missing, err)
		} else {
			which = append(which, j)
		}
	}
	if len(which) == 0 && len(missing) == 1 {
		return nil, nil, missing[0]
	}
	return which, missing, nil
}

// searchAll prints the matching lines of jobs. If the output of a job cannot be searched, or the pattern fails there,
// it prints the error among the lines, and goes on with the next output.
func (p *pastJobs) searchAll(ctx context.Context, which []storedJob, spec *jobs.SearchSpec) (found bool, err error) {
	out := bufio.NewWriterSize(p.out, 64<<10)
	defer func() { err = errors.Join(err, out.Flush()) }()
	failed := 0
	for _, j := range which {
		for _, name := range j.Files {
			s := fileSearch{out: out, at: j.short + " " + strings.TrimSuffix(name, ".txt"), told: map[string]bool{}, now: p.terminal}
			err := s.search(ctx, p, j, name, spec)
			found = found || s.found
			switch {
			case err == nil:
			case ctx.Err() != nil || s.unwritten:
				return found, err
			default:
				failed++
				s.note(printable(strings.ReplaceAll(fmt.Sprintf("%s: %v", s.at, err), "\n", "; ")))
			}
		}
	}
	if failed > 0 {
		return found, fmt.Errorf("%d of the outputs could not be searched, or not to the end; see the errors above", failed)
	}
	return found, nil
}

// A fileSearch prints the matching lines of a stream. If output is missing, or is not searched or printed in full, it
// prints a note on stderr, because a match may be missing.
type fileSearch struct {
	out       *bufio.Writer
	at        string // the job and the stream
	now       bool   // print each line at once, to a terminal
	found     bool
	told      map[string]bool // notes already printed
	unwritten bool            // the output cannot be written
}

func (s *fileSearch) search(ctx context.Context, p *pastJobs, j storedJob, name string, spec *jobs.SearchSpec) error {
	out, err := p.Output(j.past, name)
	if errors.Is(err, os.ErrNotExist) {
		return nil // It was deleted meanwhile.
	}
	if err != nil {
		return err
	}
	defer out.Close()
	return out.Search(ctx, spec.Query(), s.line, func(r jobs.Range) {
		s.note(fmt.Sprintf("%s: %d bytes are no longer stored and were not searched, offsets %d to %d", s.at, r.To-r.From, r.From, r.To))
	})
}

// note prints a text on stderr, in its place among the lines.
func (s *fileSearch) note(text string) {
	_ = s.out.Flush() // The writer keeps its error for later.
	fmt.Fprintln(os.Stderr, text)
}

func (s *fileSearch) line(l stored.Line) error {
	s.found = true
	place := fmt.Sprintf("%s:%d", s.at, l.Number)
	if l.Number == 0 {
		place = fmt.Sprintf("%s@%d", s.at, l.At)
	}
	s.noteOnce(l.Cut, place, "a line has more than 1 MiB, so only the text around the match is printed")
	s.noteOnce(l.Limited, place, "a match is limited to about 64 KiB and may be cut off here; try a pattern with shorter matches")
	_, err := io.WriteString(s.out, place+": "+base.Visible(l.Text, "\t")+"\n")
	if err == nil && s.now {
		err = s.out.Flush()
	}
	s.unwritten = err != nil
	return err
}

// noteOnce prints a note only for the first line of a stream to which it applies; it may apply to many.
func (s *fileSearch) noteOnce(holds bool, place, text string) {
	if holds && !s.told[text] {
		s.told[text] = true
		s.note(place + ": " + text)
	}
}
