package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/term"

	"shelld.dev/shelld/jobs/stored"
)

func playFlags(fs *flag.FlagSet) jobsRun {
	speed := fs.Float64("speed", 1, "play the recording this many `times` as fast")
	var idle time.Duration
	fs.Func("idle", "shorten pauses to at most this `time`: 2, 1.5, 500ms; 0: leave them as they were (the default)", func(s string) (err error) {
		idle, err = readTime(s, 0)
		return err
	})
	return func(ctx context.Context, p *pastJobs, args []string) error {
		if !(*speed > 0) {
			return errUsage{errors.New("-speed must be greater than 0")}
		}
		j, err := p.find(ctx, args)
		if err != nil {
			return err
		}
		return p.play(ctx, j, pace{*speed, idle})
	}
}

// play draws a recording on our terminal. No byte of the job's output reaches it directly: an emulated terminal
// interprets the output, and play sends the resulting screen.
func (p *pastJobs) play(ctx context.Context, j storedJob, at pace) error {
	r, err := p.Replay(j.past)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was not recorded, and its stored output has no times: start it with record; \"shelld jobs screen %[1]s\" and \"shelld jobs tail %[1]s\" show its output", j.short)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if !p.terminal {
		return errors.New("a recording can only be played on a terminal, and stdout is not one; \"shelld jobs show\" prints its file name")
	}
	ctx, release := heedSignals(ctx) // The terminal is restored even after an interrupt.
	defer release()
	stage := &stage{out: p.out, size: terminalSize}
	if _, err := io.WriteString(p.out, "\x1b[?1049h\x1b[?25l"); err != nil {
		return err
	}
	err = perform(ctx, r, stage, at)
	_, leaveErr := io.WriteString(p.out, "\x1b[m\x1b[?25h\x1b[?1049l")
	if err == nil && leaveErr == nil {
		return stage.last(r) // The last screen stays visible.
	}
	if errors.Is(err, context.Canceled) {
		return context.Cause(ctx)
	}
	return errors.Join(err, leaveErr)
}

// terminalSize returns the size of the terminal on stdout.
func terminalSize() (cols, rows int) {
	cols, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || cols < 1 || rows < 1 {
		return 80, 24
	}
	return cols, rows
}

// A pace determines the times between events.
type pace struct {
	speed float64
	idle  time.Duration // maximum pause; 0: no limit
}

func (p pace) wait(d time.Duration) time.Duration {
	if p.idle > 0 {
		d = min(d, p.idle)
	}
	return time.Duration(float64(d) / p.speed)
}

// frameTime is the minimum time that a state must last to be drawn.
const frameTime = 15 * time.Millisecond

// perform draws the recording at its times.
func perform(ctx context.Context, r *stored.Replay, s *stage, p pace) error {
	due := time.Now()
	for {
		act, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s.draw(r)
		}
		if err != nil {
			return err
		}
		if due = due.Add(p.wait(act.After)); time.Until(due) > frameTime {
			if err := s.draw(r); err != nil {
				return err
			}
			if err := sleepUntil(ctx, due); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.Do(act)
	}
}

func sleepUntil(ctx context.Context, at time.Time) error {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A stage draws a screen on our terminal. A screen that does not fit is cut, but the row with the cursor is always
// shown.
type stage struct {
	out        io.Writer
	size       func() (cols, rows int)
	cols, rows int
	shown      [][]byte // rows on our terminal
}

// draw sends the rows that have changed.
func (s *stage) draw(r *stored.Replay) error {
	var b []byte
	if cols, rows := s.size(); cols != s.cols || rows != s.rows {
		s.cols, s.rows, s.shown = cols, rows, make([][]byte, rows)
		b = append(b, "\x1b[2J"...)
	}
	shown := r.Screen()
	top := max(0, shown.Cursor.Row-s.rows+1)
	b = append(b, "\x1b[?25l"...)
	for i := range s.shown {
		var row []byte
		if top+i < len(shown.Lines) {
			row = shown.AppendRow(nil, top+i, s.cols)
		}
		if !bytes.Equal(row, s.shown[i]) {
			b = append(fmt.Appendf(b, "\x1b[%d;1H\x1b[2K", i+1), row...)
			s.shown[i] = row
		}
	}
	if c := shown.Cursor; c.Visible && c.Col < s.cols {
		b = fmt.Appendf(b, "\x1b[%d;%dH\x1b[?25h", c.Row-top+1, c.Col+1)
	}
	_, err := s.out.Write(b)
	return err
}

// last prints the last screen, without the empty rows at its end.
func (s *stage) last(r *stored.Replay) error {
	shown := r.Screen()
	var b []byte
	end := 0
	for i := range shown.Lines {
		b = append(shown.AppendRow(b, i, s.cols), "\n"...)
		if shown.Lines[i].Text() != "" {
			end = len(b)
		}
	}
	_, err := s.out.Write(b[:end])
	return err
}
