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
		if expr == "" {
			return errUsage{errors.New("the pattern is empty, which every line has; \"shelld jobs tail -all JOB\" prints all")}
		}
		if *literal {
			expr = regexp.QuoteMeta(expr)
		}
		if *anyCase {
			expr = "(?i)" + expr
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return errUsage{fmt.Errorf("%w; patterns are in the syntax of Go here, without look-around, back references and (?<=…); -F looks for a text as it stands", err)}
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

// searchFile prints the lines of a stream that match, as a person reads them. What is not kept is
// told where errors are: it may be what was looked for.
func (p *pastJobs) searchFile(j storedJob, name string, re *regexp.Regexp) (found bool, err error) {
	out, err := p.Output(j.past, name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // deleted meanwhile
	}
	if err != nil {
		return false, err
	}
	defer out.Close()
	s := lineSearch{re: re, out: p.out, where: j.short + " " + strings.TrimSuffix(name, ".txt"), number: 1}
	for _, part := range out.Parts() {
		if part.Omitted {
			fmt.Fprintf(os.Stderr, "%s: %d bytes are not kept and were not searched, offsets %d to %d\n", s.where, part.To-part.From, part.From, part.To)
			s.number = 0
			continue
		}
		s.offset, s.begins = part.From, true
		if err := pieces(io.NewSectionReader(out, part.At, part.Size), s.piece); err != nil {
			return s.found, err
		}
	}
	return s.found, nil
}

// A lineSearch goes along a stream.
type lineSearch struct {
	re    *regexp.Regexp
	out   io.Writer
	where string

	number int   // of the present line; 0 where nobody knows, since something before it is not kept
	offset int64 // of what comes next
	begins bool  // a line does, and no further piece of a long one
	at     int64 // where the present line begins
	found  bool
}

func (s *lineSearch) piece(b []byte) error {
	for line := range bytes.Lines(b) {
		if s.begins {
			s.at = s.offset
		}
		if err := s.line(strings.TrimSuffix(plainText(line), "\n")); err != nil {
			return err
		}
		s.offset += int64(len(line))
		if s.begins = line[len(line)-1] == '\n'; s.begins && s.number > 0 {
			s.number++
		}
	}
	return nil
}

func (s *lineSearch) line(text string) error {
	if !s.re.MatchString(text) {
		return nil
	}
	s.found = true
	place := fmt.Sprintf(":%d", s.number)
	if s.number == 0 {
		place = fmt.Sprintf("@%d", s.at)
	}
	_, err := io.WriteString(s.out, s.where+place+": "+text+"\n")
	return err
}
