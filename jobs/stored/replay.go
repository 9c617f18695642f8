package stored

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"shelld.dev/shelld/jobs/internal/cast"
	"shelld.dev/shelld/screen"
)

// A Replay plays a recording on a virtual terminal, event by event. The caller closes it.
type Replay struct {
	Cols, Rows int // the current size
	events     *cast.Reader
	path       string
	opened     []io.Closer
	term       *screen.Terminal
}

// Replay opens the recording of a job. If there is no recording, the error is fs.ErrNotExist.
func (d *Directory) Replay(j Job) (*Replay, error) {
	s, f, err := d.folder(j)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	file, _, err := f.Open(RecordingFile)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &Replay{path: filepath.Join(f.Path(), RecordingFile), opened: []io.Closer{file, f}}
	if r.events, err = cast.NewReader(file); err != nil {
		return nil, errors.Join(r.wrong(err), r.Close())
	}
	r.term = screen.NewTerminal(r.events.Cols, r.events.Rows, 0)
	r.Cols, r.Rows = screen.FitSize(r.events.Cols, r.events.Rows)
	return r, nil
}

// Close closes the recording.
func (r *Replay) Close() (err error) {
	for _, c := range r.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

func (r *Replay) wrong(err error) error { return &fs.PathError{Op: "play", Path: r.path, Err: err} }

// An Act is a recorded event. The caller passes it to Do when After has elapsed.
type Act struct {
	After time.Duration // time since the previous event
	event cast.Event
}

// Next returns the next event, or io.EOF at the end of the recording.
func (r *Replay) Next() (Act, error) {
	e, err := r.events.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.wrong(err)
	}
	return Act{e.After, e}, err
}

// Do applies an event to the terminal.
func (r *Replay) Do(a Act) {
	switch a.event.Code {
	case cast.Output:
		r.term.WriteSome([]byte(a.event.Data), math.MaxInt64)
		r.term.Replies() // The replies are discarded.
	case cast.Resize:
		var cols, rows int
		if n, _ := fmt.Sscanf(a.event.Data, "%dx%d", &cols, &rows); n == 2 && cols > 0 && rows > 0 {
			r.term.Resize(cols, rows)
			r.Cols, r.Rows = screen.FitSize(cols, rows)
		}
	}
}

// Screen returns the present screen.
func (r *Replay) Screen() *screen.Snapshot { return r.term.Snapshot(0) }
