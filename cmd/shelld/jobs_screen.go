package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"shelld.dev/shelld/cmd/internal/base"
	"shelld.dev/shelld/jobs"
	"shelld.dev/shelld/schema"
)

func screenFlags(fs *flag.FlagSet) jobsRun {
	picture := fs.String("png", "", "write a picture to this `file`, instead of text to stdout")
	return func(ctx context.Context, p *pastJobs, args []string) error {
		j, err := p.find(ctx, args)
		if err != nil {
			return err
		}
		shown, err := p.screen(j)
		if err != nil {
			return err
		}
		if *picture != "" {
			return writePicture(*picture, &shown)
		}
		var lines []string
		for _, l := range shown.Lines {
			lines = append(lines, base.Visible(l.Text(), ""))
		}
		_, err = io.WriteString(p.out, screenText(lines))
		return err
	}
}

// screen draws the screen of a job's terminal, in its last known size.
func (p *pastJobs) screen(j storedJob) (jobs.Screen, error) {
	if j.known.Mode == schema.ModePipe {
		return jobs.Screen{}, fmt.Errorf("%s has no terminal; \"shelld jobs tail %[1]s\" prints its output", j.short)
	}
	// The default size is 80x24.
	shown, err := p.Screen(j.past, cmp.Or(int(j.known.Cols), 80), cmp.Or(int(j.known.Rows), 24))
	if errors.Is(err, fs.ErrNotExist) {
		return jobs.Screen{}, fmt.Errorf("%s has printed nothing so far, or its output is not stored", j.short)
	}
	if err == nil && shown.Approximate {
		fmt.Fprintln(os.Stderr, "some output is missing, or there is too much to draw: the real screen may differ")
	}
	return jobs.Screen{Snapshot: shown}, err
}

// writePicture writes a PNG file. It replaces an existing file only after the picture is complete.
func writePicture(name string, shown *jobs.Screen) error {
	png, err := shown.PNG()
	if err == nil {
		err = replaceFile(name, png)
	}
	if err != nil {
		return fmt.Errorf("the picture cannot be written to %s: %s", name, base.Reason(err))
	}
	return nil
}

// screenText returns the screen as a text file: without the empty lines at its end.
func screenText(lines []string) string {
	if text := strings.TrimRight(strings.Join(lines, "\n"), "\n"); text != "" {
		return text + "\n"
	}
	return ""
}
