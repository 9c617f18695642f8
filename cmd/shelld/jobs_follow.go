package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"shelld/jobs"
)

// follow prints the output of a job from the last lines on, until nothing more is written.
func (p *pastJobs) follow(ctx context.Context, j storedJob, streams []string, o tailOptions) error {
	f, err := p.Follow(j.past)
	if err != nil {
		return err
	}
	defer f.Close()
	t := follower{p: p, job: j, tailOptions: o, streams: streams, next: map[string]int64{}, lines: map[string]*growingLine{}}
	for over := false; ; {
		// In this order: what was written before the end is read after it was seen.
		if over, err = f.Over(); err != nil {
			return err
		}
		if err := t.read(); err != nil {
			return err
		}
		if over {
			return t.end()
		}
		if err := f.Wait(ctx); err != nil {
			return err
		}
	}
}

// A follower prints what is new in the files of a job's streams.
type follower struct {
	tailOptions
	p       *pastJobs
	job     storedJob
	streams []string         // names of files
	next    map[string]int64 // the offset behind what was printed; not there: nothing was
	lines   map[string]*growingLine
	last    string // the file that was printed last
}

func (t *follower) read() error {
	for _, name := range t.streams {
		if err := t.readStream(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // It may come, or was removed.
			return err
		}
	}
	return nil
}

func (t *follower) readStream(name string) error {
	out, err := t.p.Output(t.job.past, name)
	if err != nil {
		return err
	}
	defer out.Close()
	off, begun := t.next[name]
	if begun && out.NextOffset <= off {
		return nil
	}
	part := out.From(off)
	if !begun && !t.all {
		if part, err = out.Last(t.tailOptions.lines); err != nil {
			return err
		}
	}
	t.next[name] = out.NextOffset
	b := make([]byte, 64<<10)
	for {
		n, err := part.Read(b)
		if n > 0 {
			if err := t.print(name, b[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// print prints output of a stream, under a title where another one was printed before.
func (t *follower) print(name string, b []byte) error {
	line := t.lines[name]
	if line == nil {
		line = &growingLine{out: t.p.out, redraws: t.p.width()}
		t.lines[name] = line
	}
	if t.last != name && (t.last != "" || len(t.job.Files) > 1) && len(t.streams) > 1 {
		title := fmt.Sprintf("==> %s <==\n", strings.TrimSuffix(name, ".txt"))
		if before := t.lines[t.last]; before != nil { // else it is the first one
			title = before.leave() + "\n" + title
		}
		if _, err := io.WriteString(t.p.out, title); err != nil {
			return err
		}
	}
	t.last = name
	if t.raw {
		_, err := t.p.out.Write(b)
		return err
	}
	return line.add(b)
}

// end prints lines that never came to their end.
func (t *follower) end() error {
	var errs []error
	for _, name := range t.streams {
		if line := t.lines[name]; line != nil {
			errs = append(errs, line.end())
		}
	}
	return errors.Join(errs...)
}

// A growingLine prints output as a person reads it while it comes. On a terminal the line that is not
// at its end is shown as well, and drawn anew if what follows changes it, as a progress bar does;
// elsewhere only whole lines are printed.
type growingLine struct {
	out     io.Writer
	redraws int    // the columns of a terminal; 0: it is none
	raw     []byte // the line as it was written so far
	shown   string // of it
}

func (g *growingLine) add(b []byte) error {
	g.raw = append(g.raw, b...)
	cut := bytes.LastIndexByte(g.raw, '\n') + 1
	if cut == 0 && len(g.raw) > maxPiece {
		cut = wholeText(g.raw)
	}
	if cut > 0 {
		if err := g.show(plainText(g.raw[:cut])); err != nil {
			return err
		}
		g.raw, g.shown = append(g.raw[:0], g.raw[cut:]...), ""
	}
	if g.redraws == 0 || len(g.raw) == 0 {
		return nil
	}
	return g.show(plainText(g.raw))
}

// show prints text in place of what is shown of the line.
func (g *growingLine) show(text string) error {
	rest, goesOn := strings.CutPrefix(text, g.shown)
	switch {
	case goesOn:
	case utf8.RuneCountInString(g.shown) < g.redraws:
		rest = "\r\x1b[K" + text
	default:
		rest = "\n" + text // It takes several rows.
	}
	g.shown = text
	_, err := io.WriteString(g.out, rest)
	return err
}

// leave is what ends the line that is shown, for something else to be printed. It is shown anew then.
func (g *growingLine) leave() string {
	if g.shown == "" {
		return ""
	}
	g.shown = ""
	return "\n"
}

func (g *growingLine) end() error {
	if g.redraws > 0 || len(g.raw) == 0 {
		return nil
	}
	return g.show(plainText(g.raw))
}

// followed are the files to be followed.
func followed(stream string) ([]string, error) {
	if stream == "" {
		return jobs.StoredFiles, nil
	}
	name, err := streamFile(stream)
	return []string{name}, err
}
