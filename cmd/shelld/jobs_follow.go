package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/jobs/stored"
)

// follow prints the last lines of a job's output and then new output, until the job writes no more.
func (p *pastJobs) follow(ctx context.Context, j storedJob, streams []string, o tailOptions) error {
	f, err := p.Follow(j.past)
	if err != nil {
		return err
	}
	defer f.Close()
	t := follower{p: p, job: j, tailOptions: o, streams: streams, next: map[string]int64{}, lines: map[string]*growingLine{}}
	for over := false; ; {
		// The order matters: the output before the end is read after the end was seen.
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

// A follower prints new output from the files of a job's streams.
type follower struct {
	tailOptions
	p       *pastJobs
	job     storedJob
	streams []string         // file names
	next    map[string]int64 // the offset after the printed output; no entry: nothing printed
	lines   map[string]*growingLine
	last    string // the file printed last
}

func (t *follower) read() error {
	for _, name := range t.streams {
		if err := t.readStream(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // The file may appear later, or was removed.
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

// print prints output of a stream, as far as it can be shown.
func (t *follower) print(name string, b []byte) error {
	line := t.lines[name]
	if line == nil {
		line = &growingLine{}
		if t.p.terminal {
			line.columns = func() int { cols, _ := terminalSize(); return cols }
		}
		t.lines[name] = line
	}
	if t.raw {
		return t.put(name, string(b))
	}
	return t.put(name, line.add(b))
}

// put prints text of a stream, with a title if the text before it belongs to another stream.
func (t *follower) put(name, text string) error {
	if text == "" {
		return nil
	}
	several := t.last != "" || len(t.job.Files) > 1 || len(t.lines) > 1
	if t.last != name && several && len(t.streams) > 1 {
		title := fmt.Sprintf("==> %s <==\n", strings.TrimSuffix(name, ".txt"))
		if before := t.lines[t.last]; before != nil { // nil for the first stream
			title = before.leave() + "\n" + title
		}
		text = title + text
	}
	t.last = name
	_, err := io.WriteString(t.p.out, text)
	return err
}

// end prints the lines that have not ended.
func (t *follower) end() error {
	var errs []error
	for _, name := range t.streams {
		if line := t.lines[name]; line != nil {
			errs = append(errs, t.put(name, line.end()))
		}
	}
	return errors.Join(errs...)
}

// A growingLine converts output to text for people while it arrives. On a terminal it also shows an incomplete line,
// and redraws it if later output changes it, as for a progress bar; otherwise it shows only whole lines. Its methods
// return the text to print.
type growingLine struct {
	columns func() int // width of the terminal; nil: it is not a terminal
	raw     []byte     // output of the line so far
	shown   string     // the shown part of it
	cells   int        // the cells used since the cursor was at the start of a row
	left    bool       // other text was printed after the shown part
}

func (g *growingLine) add(b []byte) string {
	g.raw = append(g.raw, b...)
	cut := bytes.LastIndexByte(g.raw, '\n') + 1
	if cut == 0 && len(g.raw) > maxPiece {
		if drawn := lastState(g.raw); drawn > 0 {
			g.raw = append(g.raw[:0], g.raw[drawn:]...)
		} else {
			cut = wholeText(g.raw)
		}
	}
	text := ""
	if cut > 0 {
		text = g.show(plainText(g.raw[:cut]))
		g.raw, g.shown, g.left = append(g.raw[:0], g.raw[cut:]...), "", false // The next output is another line.
	}
	if g.columns == nil || len(g.raw) == 0 {
		return text
	}
	return text + g.show(plainText(g.raw))
}

// show replaces the shown text of the line. After other text, it prints only the new part.
func (g *growingLine) show(text string) string {
	rest, goesOn := strings.CutPrefix(text, g.shown)
	before := ""
	switch {
	case goesOn && g.left:
		rest = strings.TrimPrefix(rest, "\n") // The line was ended already.
	case goesOn:
	default:
		rest = text
		if g.cells > 0 && g.cells < g.columns() {
			before = "\r\x1b[K"
		} else if g.cells > 0 {
			before = "\n" // It takes several rows.
		}
		g.cells = 0
	}
	g.shown = text
	if rest != "" {
		g.left = false
	}
	if g.columns != nil {
		g.cells = base.CellsBehind(g.cells, rest)
	}
	return before + rest
}

// leave returns the text that ends the shown line, so that other text can be printed.
func (g *growingLine) leave() string {
	if g.cells == 0 {
		return ""
	}
	g.cells, g.left = 0, true
	return "\n"
}

func (g *growingLine) end() string {
	if g.columns != nil || len(g.raw) == 0 {
		return ""
	}
	return g.show(plainText(g.raw))
}

// followed returns the files to follow.
func followed(stream string) ([]string, error) {
	if stream == "" {
		return stored.Files, nil
	}
	name, err := streamFile(stream)
	return []string{name}, err
}
