package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/jobs/stored"
)

func tailFlags(fs *flag.FlagSet) jobsRun {
	lines := fs.Int("n", 10, "how many `lines`, counted from the end")
	all := fs.Bool("all", false, "print all stored output")
	raw := fs.Bool("raw", false, "print the raw bytes that the job wrote; they may do anything to your terminal")
	follow := fs.Bool("f", false, "follow: print new output until the job has ended")
	stream := fs.String("stream", "", "`which` stream: stdout or stderr; by default both, each with a title")
	return func(ctx context.Context, p *pastJobs, args []string) error {
		if *lines < 0 {
			return errUsage{errors.New("-n is a number of lines, 0 or more, counted from the end")}
		}
		if *all && given(fs, "n") {
			return errUsage{errors.New("-all prints everything, and -n a number of lines: give only one of them")}
		}
		files, err := followed(*stream)
		if err != nil {
			return err
		}
		j, err := p.find(ctx, args)
		if err != nil {
			return err
		}
		o := tailOptions{*lines, *all, *raw}
		if *follow {
			return p.follow(ctx, j, files, o)
		}
		if files, err = j.streamFiles(*stream); err != nil {
			return err
		}
		for i, name := range files {
			if len(files) > 1 {
				fmt.Fprintf(p.out, "%s==> %s <==\n", []string{"", "\n"}[min(i, 1)], strings.TrimSuffix(name, ".txt"))
			}
			if err := p.tail(j, name, o); err != nil {
				return err
			}
		}
		return nil
	}
}

// given reports whether a flag is on the command line.
func given(fs *flag.FlagSet, name string) (is bool) {
	fs.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// streamFiles returns the files of a stream; "": of all streams.
func (j *storedJob) streamFiles(stream string) ([]string, error) {
	if stream == "" {
		return j.Files, nil
	}
	name, err := streamFile(stream)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(j.Files, name) {
		return nil, fmt.Errorf("no %s of %s is stored", stream, j.Job)
	}
	return []string{name}, nil
}

// streamFile returns the name of a stream's file.
func streamFile(stream string) (string, error) {
	if stream == "pty" {
		stream = "stdout"
	}
	name := stream + ".txt"
	if !slices.Contains(stored.Files, name) {
		return "", errUsage{fmt.Errorf("-stream is stdout or stderr, not %q", stream)}
	}
	return name, nil
}

type tailOptions struct {
	lines    int
	all, raw bool
}

func (p *pastJobs) tail(j storedJob, name string, o tailOptions) error {
	out, err := p.Output(j.past, name)
	if err != nil {
		return err
	}
	defer out.Close()
	part := out.All()
	if !o.all {
		if part, err = out.Last(o.lines); err != nil {
			return err
		}
	}
	if o.raw {
		_, err = io.Copy(p.out, part)
		return err
	}
	return pieces(part, func(b []byte) error {
		_, err := io.WriteString(p.out, plainText(b))
		return err
	})
}

// plainText returns output for people, without anything that a terminal would interpret.
func plainText(b []byte) string { return base.Visible(jobs.Plain(b), "\n\t") }

// maxPiece is the maximum output held at a time. A longer line is passed on in pieces.
const maxPiece = 1 << 20

// pieces passes the contents of r to use, in pieces of whole lines or, for a line that is too long, in parts that do
// not split a character or an escape sequence. Of a long line that is redrawn, such as a progress bar, it passes only
// the last state.
func pieces(r io.Reader, use func([]byte) error) error {
	buf := make([]byte, maxPiece)
	for have := 0; ; {
		n, err := io.ReadFull(r, buf[have:])
		have += n
		over := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !over {
			return err
		}
		cut := bytes.LastIndexByte(buf[:have], '\n') + 1
		switch {
		case over:
			cut = have
		case cut == 0 && have > 0:
			if drawn := lastState(buf[:have]); drawn > 0 {
				have = copy(buf, buf[drawn:have])
				continue
			}
			cut = wholeText(buf[:have])
		}
		if cut > 0 {
			if err := use(buf[:cut]); err != nil {
				return err
			}
		}
		have = copy(buf, buf[cut:have])
		if over {
			return nil
		}
	}
}

// lastState returns the start of the last state of a redrawn line; 0: the line is not redrawn. A carriage return at its
// end is ignored, because it may belong to a line end.
func lastState(line []byte) int { return max(0, bytes.LastIndexByte(line[:len(line)-1], '\r')) }

// longestSequence is the maximum length of an escape sequence that is kept whole.
const longestSequence = 4 << 10

// wholeText returns the length of the part of a line that can be passed on without the rest: it does not end within a
// character, it stops before the last escape sequence, which may be incomplete, and it does not end in a carriage
// return.
func wholeText(b []byte) int {
	cut := len(b)
	for i := 1; i < utf8.UTFMax && i < len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				cut = len(b) - i
			}
			break
		}
	}
	near := max(len(b)-longestSequence, 1)
	for at := cut; ; {
		at = bytes.LastIndexByte(b[near:at], '\x1b')
		if at < 0 {
			break
		}
		at += near
		if at+1 == len(b) || b[at+1] != '\\' { // ESC \ is the end of a sequence.
			return at
		}
	}
	if b[cut-1] == '\r' && cut > 1 {
		cut--
	}
	return cut
}
